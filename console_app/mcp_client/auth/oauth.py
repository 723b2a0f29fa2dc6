"""OAuth for HTTP servers (MCP authorization): the SDK's flow, with tokens kept between runs and the browser asked for
only when the user wants it.

The SDK does discovery, registration, PKCE, the exchange and the checks. What it leaves to a client is here: tokens
survive a restart together with their expiry and the endpoint to refresh them at, the browser comes back to a port on
loopback, and a connection that is made in the background never opens a page by itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from console_app.mcp_client.auth import callback
from console_app.mcp_client.auth.callback import SignInRefused
from console_app.mcp_client.auth.oauth_steps import GuardedSteps, dump, model_of, port_of, refusal_of
from console_app.mcp_client.auth.sign_in import AuthPlan, StoredSignIn, expires_at
from console_app.mcp_client.connecting.running_calls import current_call

SIGN_IN = "to sign in"  # what a call asks for meanwhile
OpenPage = Callable[[str, str], Awaitable[None]]
"""Takes the address, and the id of the call that needs it or "". Raises SignInNeeded where this is no moment for it."""


class BearerAuth(httpx2.Auth):
    """A token from mcp.json, sent with every request to the server."""

    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx2.Request) -> Any:
        """Adds the header."""
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


class StoredTokens:
    """The SDK's TokenStorage over what is kept of one server."""

    def __init__(self, stored: StoredSignIn, plan: AuthPlan, redirect_uri: str = "") -> None:
        self._stored = stored
        self._plan = plan
        self._redirect_uri = redirect_uri

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens of the last sign-in or refresh."""
        return model_of(OAuthToken, (await self._stored.read()).get("tokens"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keeps them, with the time they expire at."""
        await self._stored.update(tokens=dump(tokens), expires_at=expires_at(tokens.expires_in))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client of mcp.json, else the one registered before for the same place to come back to."""
        plan = self._plan
        if plan.client_id:
            method = plan.token_endpoint_auth_method or ("client_secret_basic" if plan.client_secret else "none")
            return OAuthClientInformationFull(
                client_id=plan.client_id,
                client_secret=plan.client_secret or None,
                redirect_uris=[AnyUrl(self._redirect_uri)] if self._redirect_uri else None,
                token_endpoint_auth_method=method,
            )
        client = model_of(OAuthClientInformationFull, (await self._stored.read()).get("client"))
        known = [str(uri) for uri in client.redirect_uris or ()] if client is not None else []
        return client if not known or self._redirect_uri in known else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keeps a registration. Raises SignInRefused for one that would lead the code elsewhere."""
        if client_info.redirect_uris and self._redirect_uri not in map(str, client_info.redirect_uris):
            raise SignInRefused("the authorization server registered another place to come back to")
        await self._stored.update(client=dump(client_info))


class SignIn(GuardedSteps):
    """The SDK's provider, with its memory between runs. `open_page` gets the address for the user's browser."""

    def __init__(
        self, url: str, plan: AuthPlan, stored: StoredSignIn, open_page: OpenPage, back: callback.Callback
    ) -> None:
        self._callback = back
        redirect_uri = f"http://127.0.0.1:{back.port}{callback.PATH}"
        client = OAuthClientMetadata(
            client_name="Fanout",
            redirect_uris=[AnyUrl(redirect_uri)],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
        )
        super().__init__(url, plan, stored, client, StoredTokens(stored, plan, redirect_uri))
        self.context.redirect_handler = self._to_browser
        self.context.callback_handler = self._from_browser
        self._open_page = open_page

    def close(self) -> None:
        """Gives back the port that a sign-in would have come back to."""
        self._callback.release()

    def _check_flow(self) -> None:
        metadata = self.context.oauth_metadata
        methods = metadata.code_challenge_methods_supported if metadata is not None else None
        if methods is not None and "S256" not in methods:
            raise SignInRefused("the authorization server takes no PKCE with S256, without which a code can be stolen")

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        call = current_call.get()  # set where a call's request was refused: its deadline isn't the user's
        if call is None:
            return await super()._perform_authorization_code_grant()
        how = "given up"
        with call.reporter.held():
            call.reporter.asked(SIGN_IN)
            try:
                granted = await super()._perform_authorization_code_grant()
                how = "signed in"
                return granted
            finally:
                call.reporter.answered(SIGN_IN, how)

    async def _exchange_token_authorization_code(self, auth_code: str, code_verifier: str) -> httpx2.Request:
        self._fit_client_authentication()
        return await super()._exchange_token_authorization_code(auth_code, code_verifier)

    async def _to_browser(self, url: str) -> None:
        if why := refusal_of(url, self.context.server_url):
            raise SignInRefused(why)
        self._check_flow()
        await self._callback.open()
        try:
            call = current_call.get()
            await self._open_page(url, call.call_id if call is not None else "")
        except BaseException:
            await self._callback.close()
            raise

    async def _from_browser(self) -> AuthorizationCodeResult:
        try:
            returned = await self._callback.returned()
        finally:
            await self._callback.close()
        return AuthorizationCodeResult(code=returned.code, state=returned.state, iss=returned.iss)


async def sign_in(url: str, plan: AuthPlan, stored: StoredSignIn, open_page: OpenPage) -> SignIn:
    """A provider that comes back to the port of the last sign-in where it can: that one is registered."""
    client = (await stored.read()).get("client")
    registered = client.get("redirect_uris") if isinstance(client, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    before = port_of(registered[0]) if isinstance(registered, list) and registered else None  # pyright: ignore[reportUnknownArgumentType]
    back = callback.Callback(plan.redirect_port or before)
    try:
        return SignIn(url, plan, stored, open_page, back)
    except ValueError:
        back.release()
        raise


def has_tokens(stored: dict[str, Any]) -> bool:
    """Whether there is something to try before anybody has to sign in."""
    return isinstance(stored.get("tokens"), dict)

"""The steps of a sign-in to an HTTP server (MCP authorization), each judged before it is sent.

The SDK does discovery, the exchange and the checks; where its steps lead is said by servers. Tokens are kept with their
expiry and the endpoint to refresh them at, and a client's secret goes to nobody but the issuer that mcp.json names.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import AsyncGenerator
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthRegistrationError, OAuthTokenError, TokenStorage
from mcp.client.auth.utils import extract_resource_metadata_from_www_auth, issuers_match
from mcp.shared.auth import OAuthClientMetadata, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, ValidationError

from console_app.domain.settings import is_loopback
from console_app.mcp_client.auth.callback import SignInRefused
from console_app.mcp_client.auth.sign_in import AuthPlan, StoredSignIn
from console_app.mcp_client.connecting import faults
from console_app.mcp_client.transport import SENT_BY, Send

log = logging.getLogger(__name__)
M = TypeVar("M", bound=BaseModel)
LONGEST_TOKEN = 65_536  # characters; more fits into no header
LONGEST_LIFE = 10**10  # seconds, some three hundred years; what has no end in numbers can't be counted with
LONGEST_ADDRESS = 16_000  # characters; a browser is started with it as an argument
SIGN_IN_STEP_SECONDS = 15.0  # from the request to the last byte
SIGN_IN_STEP_SIZE = 256_000  # bytes; metadata and tokens are a few thousand
MOST_REQUESTS = 20  # of one sign-in: discovery takes at most six, then registration and token


class GuardedSteps(OAuthClientProvider):
    """The SDK's flow, guarded. How it is granted, by a person or by a secret of its own, is a subclass's."""

    def __init__(
        self, url: str, plan: AuthPlan, stored: StoredSignIn, client: OAuthClientMetadata, storage: TokenStorage
    ) -> None:
        super().__init__(url, client, storage, client_metadata_url=plan.client_metadata_url or None)
        self._stored = stored
        self._plan = plan

    def close(self) -> None:
        """Frees what the sign-in holds."""

    def _check_flow(self) -> None:
        """Raises SignInRefused where the authorization server doesn't do what this way of signing in needs."""

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        # Where the steps of a sign-in go is said by servers: each is judged before it is sent.
        steps = super()._auth_flow(request)
        try:
            step, count = await anext(steps), 0
            while True:
                if step is not request:
                    count += 1
                    self._judge(step, count)
                response = yield step
                if step is request:
                    self._check_challenge(response)
                step = await steps.asend(response)
        except StopAsyncIteration:
            return
        except (OAuthTokenError, OAuthRegistrationError) as error:
            # Where an answer does not fit, the SDK's words hold the answer itself: tokens and client secrets.
            problem = error.__cause__ or error.__context__
            if isinstance(problem, ValidationError):
                what = str(error).partition(":")[0]
                raise SignInRefused(f"{what[:1].lower()}{what[1:]}: {faults.first_problem(problem)}") from None
            raise
        finally:
            await steps.aclose()

    def _judge(self, step: httpx2.Request, count: int) -> None:
        """Raises SignInRefused for a step that leads where it must not; bounds the others."""
        url = str(step.url)
        if count > MOST_REQUESTS:
            raise SignInRefused(f"it did not end after {MOST_REQUESTS} requests")
        if why := refusal_of(url, self.context.server_url):
            raise SignInRefused(why)
        self._check_flow()
        step.headers["Accept-Encoding"] = "identity"
        step.extensions = {**step.extensions, SENT_BY: _bounded}

    def _check_challenge(self, response: httpx2.Response) -> None:
        """What protects a server is told by that server (RFC 9728, section 3)."""
        url = extract_resource_metadata_from_www_auth(response) if response.status_code in {401, 403} else None
        if url is not None and not _same_host(url, self.context.server_url):
            raise SignInRefused(f"what protects the server is told by another host, {_host(url)}")

    async def _initialize(self) -> None:
        # The SDK reads the tokens alone: without their expiry and the server's endpoints an expired one would be sent,
        # refused and thrown away, and never refreshed.
        await super()._initialize()
        stored, context = await self._stored.read(), self.context
        context.token_expiry_time = stored.get("expires_at")
        context.oauth_metadata = model_of(OAuthMetadata, stored.get("metadata")) or context.oauth_metadata
        context.protected_resource_metadata = (
            model_of(ProtectedResourceMetadata, stored.get("resource")) or context.protected_resource_metadata
        )
        context.auth_server_url = stored.get("authorization_server") or context.auth_server_url
        if self._why_other_issuer():  # mcp.json changed: not even a refresh goes there
            context.oauth_metadata = None
            context.clear_tokens()

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        token = _token(response.content)  # the SDK words what doesn't fit
        if token is not None and (why := _why_unusable(token)):
            raise SignInRefused(f"the authorization server's token is none: {why}")
        await super()._handle_token_response(response)
        context = self.context
        await self._stored.update(
            metadata=dump(context.oauth_metadata),
            resource=dump(context.protected_resource_metadata),
            authorization_server=context.auth_server_url,
        )

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        token = _token(response.content)
        if response.status_code == 200 and (token is None or _why_unusable(token)):
            log.warning("the answer to a refresh holds no token")  # the SDK would log the answer
            self.context.clear_tokens()
            return False
        return await super()._handle_refresh_response(response)

    def _select_authorization_server(self, advertised: list[str]) -> str:
        issuer = self._plan.issuer
        if not issuer:
            return super()._select_authorization_server(advertised)
        for server in advertised:
            if issuers_match(server, issuer):
                return server
        raise SignInRefused(f"the server names {advertised[0]} to sign in at, mcp.json {issuer}")

    async def _perform_authorization(self) -> httpx2.Request:
        if why := self._why_other_issuer():
            raise SignInRefused(why)
        return await self._grant()

    async def _grant(self) -> httpx2.Request:
        """The request for a token, once it is clear who grants it."""
        return await super()._perform_authorization()

    def _why_other_issuer(self) -> str:
        """Why what was found is not the issuer of mcp.json, or ""."""
        issuer, metadata = self._plan.issuer, self.context.oauth_metadata
        if not issuer or (metadata is not None and issuers_match(str(metadata.issuer), issuer)):
            return ""
        found = f"is of {metadata.issuer}" if metadata is not None else "can't be found"
        return f"what describes the authorization server {found}, mcp.json names {issuer}"

    def _fit_client_authentication(self) -> None:
        """A client from mcp.json sends its secret in the way that the server takes it, unless the file says how."""
        client, metadata = self.context.client_info, self.context.oauth_metadata
        if client is None or not self._plan.client_secret or self._plan.token_endpoint_auth_method or not metadata:
            return
        taken = metadata.token_endpoint_auth_methods_supported or ["client_secret_basic"]
        if client.token_endpoint_auth_method not in taken and "client_secret_post" in taken:
            client.token_endpoint_auth_method = "client_secret_post"


def refusal_of(url: str, server_url: str) -> str:
    """Why a sign-in to `server_url` must not go to `url`, or "": codes and tokens go over https, or stay on this
    machine, and a server elsewhere has no business with addresses of ours."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "it leads to an address that can't be read"
    if len(url) > LONGEST_ADDRESS:
        return f"it leads to an address of {len(url):,} characters, at {host[:100]}"
    if "#" in url:  # what is asked for, `state` and the challenge too, would stand behind it and be sent to nobody
        return f"it leads to an address with a fragment, at {host}"
    if parts.scheme not in {"http", "https"} or not host:
        return f"it leads to an address that is no web page ({parts.scheme or 'without a scheme'})"
    if parts.username is not None:
        return f"it leads to an address with a user name in it, at {host}"
    if _is_near(url) and not _is_near(server_url):
        return f"a server elsewhere sends the sign-in to {host}, which is on this machine or network"
    if parts.scheme == "http" and not is_loopback(url):
        return f"it would go to {host} over plain http, for all to read"
    return ""


def _is_near(url: str) -> bool:
    host = _host(url)
    if is_loopback(url) or host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def _same_host(one: str, other: str) -> bool:
    return _host(one) == _host(other) and port_of(one) == port_of(other)


def port_of(uri: object) -> int | None:
    """The port that an address names, or None."""
    try:
        return urlsplit(str(uri)).port
    except ValueError:
        return None


def dump(model: BaseModel | None) -> dict[str, Any] | None:
    """What is kept of a model."""
    return model.model_dump(mode="json", exclude_none=True) if model is not None else None


def _token(content: bytes) -> OAuthToken | None:
    try:
        return OAuthToken.model_validate_json(content)
    except ValidationError:
        return None


def _why_unusable(token: OAuthToken) -> str:
    """Why a token can't be sent as a header or kept, or ""."""
    for text in (token.access_token, token.refresh_token or "-"):
        if not (text and text.isascii() and text.isprintable()) or len(text) > LONGEST_TOKEN:
            return "it has characters or a length no token has"
    return "it holds for no time there is" if abs(token.expires_in or 0) > LONGEST_LIFE else ""


def model_of(kind: type[M], data: Any) -> M | None:
    """A model of what was kept, or None where that doesn't fit any more."""
    if not isinstance(data, dict):
        return None
    try:
        return kind.model_validate(data)
    except ValidationError:
        return None


async def _bounded(send: Send, request: httpx2.Request) -> httpx2.Response:
    """The whole answer to one step of a sign-in, within a size and a time. Raises SignInRefused."""
    host = request.url.host
    body = bytearray()
    try:
        async with asyncio.timeout(SIGN_IN_STEP_SECONDS):
            response = await send(request)
            try:
                if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
                    raise SignInRefused(f"{host} packed its answer, though that was not asked for")
                async for chunk in cast("httpx2.AsyncByteStream", response.stream):
                    body += chunk
                    if len(body) > SIGN_IN_STEP_SIZE:
                        raise SignInRefused(f"{host} sent more than {SIGN_IN_STEP_SIZE // 1000} kB")
            finally:
                await response.aclose()
    except TimeoutError:
        raise SignInRefused(f"{host} did not answer within {SIGN_IN_STEP_SECONDS:g} s") from None
    except httpx2.TransportError as error:  # else the server's refusal would be all that is told
        raise SignInRefused(f"{host} can't be reached: {faults.connection_reason(error)}") from error
    whole = httpx2.Response(response.status_code, headers=response.headers, content=bytes(body), request=request)
    whole.encoding = "utf-8"  # whatever it names: some of Python's codecs take a minute for this much
    return whole

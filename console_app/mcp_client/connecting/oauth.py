"""Signing in to an HTTP server (MCP authorization): the SDK's flow, each step judged before it is sent.

The SDK does discovery, registration, PKCE, the exchange and the checks. The rest is here. Tokens survive a restart with
their expiry and the endpoint to refresh them at. A connection that is made in the background never opens a page by
itself. A client's secret goes only to the issuer that mcp.json names.

The browser comes back to a small HTTP server on loopback that waits for one answer. Other users of the machine reach it
too: an answer counts only with the `state` of this sign-in, errors as well.

Source: RFC 8252, section 7.3 (loopback redirect), RFC 6749, 4.1.2 (`state`), RFC 9207 (`iss`).
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import html
import ipaddress
import logging
import socket
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar, cast
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.utils import extract_resource_metadata_from_www_auth, issuers_match
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from console_app.domain import safe_text, web_address
from console_app.mcp_client.connecting import faults
from console_app.mcp_client.connecting.asking import WayBack
from console_app.mcp_client.connecting.sign_in import AuthPlan, SignInRefused, StoredSignIn
from console_app.mcp_client.connecting.wire import current_call
from console_app.mcp_client.transport import SENT_BY, Send

log = logging.getLogger(__name__)
M = TypeVar("M", bound=BaseModel)
LONGEST_TOKEN = 65_536  # characters; more fits into no header
LONGEST_LIFE = 10**10  # seconds, some three hundred years; what has no end in numbers can't be counted with
LONGEST_ADDRESS = 16_000  # characters; a browser is started with it as an argument
SIGN_IN_STEP_SECONDS = 15.0  # from the request to the last byte
SIGN_IN_STEP_SIZE = 256_000  # bytes; metadata and tokens are a few thousand
MOST_REQUESTS = 20  # of one sign-in: discovery takes at most six, then registration and token
SIGN_IN = "to sign in"  # what a call asks for meanwhile
OpenPage = Callable[[str, str, WayBack], Awaitable[None]]
"""Takes the address, the id of the call that needs it or "", and the way back. Raises SignInNeeded where this is no
moment for it."""
_GRANT = "client_credentials"
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class GuardedSteps(OAuthClientProvider):
    """The SDK's flow, guarded, and the SDK's TokenStorage over what is kept of one server. How it is granted, by a
    person or by a secret of its own, is a subclass's."""

    def __init__(self, url: str, plan: AuthPlan, stored: StoredSignIn, client: OAuthClientMetadata) -> None:
        super().__init__(url, client, self, client_metadata_url=plan.client_metadata_url or None)
        self._stored = stored
        self._plan = plan

    def close(self) -> None: ...

    async def get_tokens(self) -> OAuthToken | None:
        return model_of(OAuthToken, (await self._stored.read()).get("tokens"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        expires_at = None if tokens.expires_in is None else time.time() + tokens.expires_in
        await self._stored.update(tokens=dump(tokens), expires_at=expires_at)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client of mcp.json, else the one registered before for the same place to come back to."""
        plan = self._plan
        if plan.client_id:
            method = plan.token_endpoint_auth_method or ("client_secret_basic" if plan.client_secret else "none")
            return OAuthClientInformationFull(
                client_id=plan.client_id,
                client_secret=plan.client_secret or None,
                redirect_uris=self.context.client_metadata.redirect_uris,
                token_endpoint_auth_method=method,
            )
        client = model_of(OAuthClientInformationFull, (await self._stored.read()).get("client"))
        return client if client is not None and self._comes_back_here(client) else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a registration. Raises SignInRefused for one that would lead the code elsewhere."""
        if not self._comes_back_here(client_info):
            raise SignInRefused("the authorization server registered another place to come back to")
        await self._stored.update(client=dump(client_info))

    def _comes_back_here(self, client: OAuthClientInformationFull) -> bool:
        ours = self.context.client_metadata.redirect_uris or ()
        return not client.redirect_uris or not set(ours).isdisjoint(client.redirect_uris)

    def _check_flow(self) -> None:
        """Raise SignInRefused where the authorization server doesn't do what this way of signing in needs."""

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        # Servers say where the steps of a sign-in go, so each is judged before it is sent.
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
            # The SDK's error quotes an answer that doesn't fit, with tokens and client secrets in it.
            problem = error.__cause__ or error.__context__
            if isinstance(problem, ValidationError):
                what = str(error).partition(":")[0]
                raise SignInRefused(f"{what[:1].lower()}{what[1:]}: {faults.first_problem(problem)}") from None
            raise
        finally:
            await steps.aclose()

    def _judge(self, step: httpx2.Request, count: int) -> None:
        """Raise SignInRefused for a step that leads where it must not; bounds the others."""
        url = str(step.url)
        if count > MOST_REQUESTS:
            raise SignInRefused(f"it did not end after {MOST_REQUESTS} requests")
        if why := refusal_of(url, self.context.server_url):
            raise SignInRefused(why)
        self._check_flow()
        step.headers["Accept-Encoding"] = "identity"
        step.extensions = {**step.extensions, SENT_BY: _bounded}

    def _check_challenge(self, response: httpx2.Response) -> None:
        """Refuse a challenge that another host gives: a server itself tells what protects it (RFC 9728, section 3)."""
        url = extract_resource_metadata_from_www_auth(response) if response.status_code in {401, 403} else None
        own = self.context.server_url
        if url is not None and (_host(url), port_of(url)) != (_host(own), port_of(own)):
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
            raise SignInRefused(f"the authorization server sent no token that can be used: {why}")
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
        """Return the request for a token, once it is clear who grants it."""
        return await super()._perform_authorization()

    def _why_other_issuer(self) -> str:
        """Say why what was found is not the issuer of mcp.json, or ""."""
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
    """Say why a sign-in to `server_url` must not go to `url`, or "".

    Codes and tokens go over https, or stay on this machine. A server elsewhere has no business with addresses of ours.
    """
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
    if parts.scheme == "http" and not web_address.is_loopback(url):
        return f"it would go to {host} over plain http, for all to read"
    return ""


def _is_near(url: str) -> bool:
    host = _host(url)
    if web_address.is_loopback(url) or host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
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


def port_of(uri: object) -> int | None:
    try:
        return urlsplit(str(uri)).port
    except ValueError:
        return None


def dump(model: BaseModel | None) -> dict[str, Any] | None:
    return model.model_dump(mode="json", exclude_none=True) if model is not None else None


def _token(content: bytes) -> OAuthToken | None:
    try:
        return OAuthToken.model_validate_json(content)
    except ValidationError:
        return None


def _why_unusable(token: OAuthToken) -> str:
    """Say why a token can't be sent as a header or kept, or ""."""
    for text in (token.access_token, token.refresh_token or "-"):
        if not (text and text.isascii() and text.isprintable()) or len(text) > LONGEST_TOKEN:
            return "it has characters or a length no token has"
    return "it holds for no time there is" if abs(token.expires_in or 0) > LONGEST_LIFE else ""


def model_of(kind: type[M], data: Any) -> M | None:
    """Return a model of what was kept, or None where that doesn't fit any more."""
    if not isinstance(data, dict):
        return None
    try:
        return kind.model_validate(data)
    except ValidationError:
        return None


async def _bounded(send: Send, request: httpx2.Request) -> httpx2.Response:
    """Return the whole answer to one step of a sign-in, within a size and a time. Raises SignInRefused."""
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


class BearerAuth(httpx2.Auth):
    """A token from mcp.json, sent with every request to the server."""

    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx2.Request) -> Any:
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


class SignIn(GuardedSteps):
    """The SDK's provider, with its memory between runs. `open_page` gets the address for the user's browser."""

    def __init__(self, url: str, plan: AuthPlan, stored: StoredSignIn, open_page: OpenPage, back: Callback) -> None:
        self._callback = back
        client = OAuthClientMetadata(
            client_name="Fanout",
            redirect_uris=[AnyUrl(f"http://127.0.0.1:{back.port}{PATH}")],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
        )
        super().__init__(url, plan, stored, client)
        self.context.redirect_handler = self._to_browser
        self.context.callback_handler = self._from_browser
        self._open_page = open_page

    def close(self) -> None:
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
        await self._callback.open(parse_qs(urlsplit(url).query).get("state", [""])[0])
        try:
            call = current_call.get()
            await self._open_page(url, call.call_id if call is not None else "", self._callback)
        except BaseException:
            await self._callback.close()
            raise

    async def _from_browser(self) -> AuthorizationCodeResult:
        try:
            return await self._callback.returned()
        finally:
            await self._callback.close()


async def sign_in(url: str, plan: AuthPlan, stored: StoredSignIn, open_page: OpenPage) -> SignIn:
    """Return a provider that comes back to the port of the last sign-in where it can: that one is registered."""
    client = safe_text.as_object((await stored.read()).get("client"))
    before = next(map(port_of, safe_text.as_list(client.get("redirect_uris"))), None)
    back = Callback(plan.redirect_port or before)
    try:
        return SignIn(url, plan, stored, open_page, back)
    except ValueError:
        back.release()
        raise


class MachineSignIn(GuardedSteps):
    """A program that signs in as itself, with a secret or a signed assertion from mcp.json. Nobody is asked.

    Source: MCP's extension `oauth-client-credentials`; RFC 6749, section 4.4; RFC 7523, section 2.2.
    """

    def __init__(self, url: str, plan: AuthPlan, stored: StoredSignIn) -> None:
        client = OAuthClientMetadata(redirect_uris=None, grant_types=[_GRANT])
        super().__init__(url, plan, stored, client)

    async def _grant(self) -> httpx2.Request:
        context, plan = self.context, self._plan
        data = {"grant_type": _GRANT}
        if plan.private_key:
            data |= {"client_assertion": await self._assertion(), "client_assertion_type": _ASSERTION}
        self._fit_client_authentication()
        data, headers = context.prepare_token_auth(data, {"Content-Type": "application/x-www-form-urlencoded"})
        if context.should_include_resource_param(context.protocol_version):
            data["resource"] = context.get_resource_url()
        if plan.scope:
            context.client_metadata.scope = plan.scope  # what the server would have is wider, or unsaid
        if context.client_metadata.scope:
            data["scope"] = context.client_metadata.scope
        return httpx2.Request("POST", self._get_token_endpoint(), data=data, headers=headers)

    async def _assertion(self) -> str:
        from mcp.client.auth.extensions.client_credentials import SignedJWTParameters

        plan, metadata = self._plan, self.context.oauth_metadata
        assert metadata is not None, "whose issuer was looked at"
        signing = SignedJWTParameters(
            issuer=plan.client_id,
            subject=plan.client_id,
            signing_key=plan.private_key,
            signing_algorithm=plan.signing_algorithm,
        )
        try:
            return await signing.create_assertion_provider()(str(metadata.issuer))
        except Exception as error:  # of pyjwt and cryptography, whose words may hold parts of the key
            what = f"can't sign {plan.signing_algorithm} ({type(error).__name__})"
            raise SignInRefused(f"`auth.private_key` {what}; `auth.signing_algorithm` says another") from None


PATH = "/callback"
_LONGEST_REQUEST = 32_768
_NO_ANSWER = "This is no answer to the sign-in that Fanout waits for."
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>Fanout</title>"
    "<body style='font-family:sans-serif;margin:4em auto;max-width:32em'><h1>{title}</h1><p>{text}</p>"
)


class Callback:
    """Listens on `preferred`, or on any free port. Only the first answer counts; what else is asked for is not found.

    A port that the system chose is bound from the start, for its number is given away before anything listens on it.
    Raises SignInRefused where no port is free.
    """

    def __init__(self, preferred: int | None = None) -> None:
        self._bound: socket.socket | None = None
        if preferred is not None and _is_free(preferred):
            self.port = preferred
        else:
            self._bound = socket.socket()
            self._bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the next sign-in can have it too
            try:
                self._bound.bind(("127.0.0.1", 0))
            except OSError as error:
                self.release()
                raise SignInRefused("no port on loopback is free for the sign-in to come back to") from error
            self.port = int(self._bound.getsockname()[1])
        self._server: asyncio.Server | None = None
        self._state = ""
        self._returned: asyncio.Future[AuthorizationCodeResult] | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._silent: set[asyncio.StreamWriter] = set()

    async def open(self, state: str) -> None:
        """Begin to listen for the answer with `state`. Raises SignInRefused where the port was taken meanwhile."""
        self._state = state
        self._returned = asyncio.get_running_loop().create_future()
        try:
            if self._bound is None:
                self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=_LONGEST_REQUEST)
            else:
                self._server = await asyncio.start_server(self._serve, sock=self._bound, limit=_LONGEST_REQUEST)
                self._bound = None  # the server's now
        except OSError as error:
            raise SignInRefused(f"port {self.port}, where the sign-in comes back to, is taken") from error

    @property
    def waits(self) -> bool:
        return self._returned is not None and not self._returned.done()

    def take(self, address: str) -> str:
        try:
            status, title, text = self._answer("GET", address)
        except ValueError:  # it is no web address at all
            return _NO_ANSWER
        return f"{title}." if status.startswith("200") else text

    async def returned(self) -> AuthorizationCodeResult:
        """Wait for the answer that comes back. Raises SignInRefused when the user or the server said no."""
        assert self._returned is not None, "open comes first"
        return await self._returned

    async def close(self) -> None:
        """Listen no more. Who has asked gets an answer; a browser also opens connections that it may never use."""
        if self._returned is not None:
            self._returned.cancel()
        if self._server is not None:
            self._server.close()
            for writer in self._silent:
                writer.transport.abort()
            await asyncio.gather(*self._serving, return_exceptions=True)
            self._server = None

    def release(self) -> None:
        if self._bound is not None:
            self._bound.close()
            self._bound = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        self._silent.add(writer)
        try:
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
                self._silent.discard(writer)
                method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
                status, title, text = self._answer(method, rest.partition(" ")[0])
                body = _PAGE.format(title=html.escape(title), text=html.escape(text)).encode()
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n"
                    f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a browser that went away, or something else that knocked
        finally:
            self._silent.discard(writer)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _answer(self, method: str, target: str) -> tuple[str, str, str]:
        url = urlsplit(target)
        waiting = self._returned
        if method != "GET" or url.path != PATH or waiting is None:
            return "404 Not Found", "Not found", _NO_ANSWER
        fields = {key: values[0] for key, values in parse_qs(url.query).items()}
        if not self._state or not hmac.compare_digest(fields.get("state", "").encode(), self._state.encode()):
            return "400 Bad Request", "Not signed in", _NO_ANSWER
        if waiting.done():
            return "409 Conflict", "Too late", "This sign-in is over."
        if "error" in fields:
            why = fields.get("error_description") or fields["error"]
            waiting.set_exception(SignInRefused(f"the sign-in was refused: {why[:200]}"))
            return "200 OK", "Not signed in", why[:200]
        if not fields.get("code"):
            return "400 Bad Request", "Not signed in", "The answer holds no code."
        waiting.set_result(AuthorizationCodeResult(code=fields["code"], state=self._state, iss=fields.get("iss")))
        return "200 OK", "Signed in", "You can close this page and go back to Fanout."


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

"""MCP's HTTP transports, streamable and legacy SSE, on an HTTP client that remembers what the SDK forgets.

The SDK loses the status of a refused request and reads answers of any size; a hook on the client notes the status,
and responses count what they hold once it is decoded.
"""

from __future__ import annotations

import codecs
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from console_app.mcp_client.transport import busy
from console_app.mcp_client.transport.lines import LARGEST_LINE
from console_app.mcp_client.transport.own_answer import OwnEvents, own_answer, request_id
from console_app.mcp_client.transport.shallow import taken_aside, taken_events
from console_app.mcp_client.transport.wire_message import Streams

Send = Callable[[httpx2.Request], Awaitable[httpx2.Response]]
SENT_BY = "sent_by"
"""In the extensions of a request: who sends it, given a `Send` and the request, in place of what this module does."""
_CONNECT_SECONDS = 15.0
ENCODINGS = "gzip, deflate"  # what is decoded in pieces of a bounded size on every Python, with nothing else installed
_OLDER_SERVER = frozenset({400, 404, 405, 406, 415})


class HttpConversation:
    """The HTTP side of one connection. `refusal` says how the server last refused a request, "" if it didn't.

    `auth` proves who we are, with every request; it is ours, so the SDK's own are left out. `proof` names it in words.
    `sse` says that the server is known to speak SSE as of 2024-11-05.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        auth: httpx2.Auth | None = None,
        proof: str = "`auth`",
        sse: bool = False,
    ) -> None:
        self._url = url
        self._headers = dict(headers)
        self._auth = auth
        self._proof = proof
        self._sse = sse
        self._legacy = False
        self.status: int | None = None
        self.refusal = ""
        self.unauthorized = False  # it wants to know who we are, whatever it said to later requests

    @property
    def may_be_older(self) -> bool:
        """Whether the last answer is how a server that only knows SSE answers the newer transport."""
        return self.status in _OLDER_SERVER

    @asynccontextmanager
    async def transport(self, *, legacy: bool) -> AsyncGenerator[Streams]:
        """Yields the streams the SDK reads and writes; `legacy` speaks SSE as of 2024-11-05."""
        self._legacy = legacy
        if legacy:
            async with sse_client(
                self._url,
                headers=self._headers,
                timeout=_CONNECT_SECONDS,
                httpx_client_factory=self._client,
            ) as streams:
                yield streams
            return
        async with (
            self._client(self._headers) as client,
            streamable_http_client(self._url, http_client=client, max_sse_event_size=LARGEST_LINE) as streams,
        ):
            yield streams

    def _client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        # Not the given timeout: a call may be silent for as long as the engine lets it, so reading has none.
        return httpx2.AsyncClient(
            headers={"User-Agent": "fanout", "Accept-Encoding": ENCODINGS} | (headers or {}),
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
            auth=auth or self._auth,
            transport=_LimitedTransport(limits=httpx2.Limits(max_connections=None)),
            event_hooks={"response": [self._note]},
        )

    async def _note(self, response: httpx2.Response) -> None:
        method, url = response.request.method, response.request.url
        if (url.host, url.path) != (httpx2.URL(self._url).host, httpx2.URL(self._url).path) and not self._legacy:
            return  # a step of a sign-in, which says itself what went wrong
        if response.status_code < 400:
            if method == "POST":
                self.status, self.refusal, self.unauthorized = response.status_code, "", False
            return
        if method == "POST" or (method == "GET" and self._sse):
            if self.unauthorized and response.status_code in _OLDER_SERVER:
                return  # the next thing tried; the first answer said more
            self.unauthorized = response.status_code == 401
            self.status = response.status_code
            sent = "authorization" in response.request.headers
            own = any(name.lower() == "authorization" for name in self._headers)
            credentials = "`headers`" if own else self._proof
            self.refusal = _describe(response.status_code, credentials if sent else "")


def _describe(status: int, credentials: str) -> str:
    try:
        phrase = f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = f"HTTP {status}"
    if status in {401, 403}:
        if credentials:
            return f"{phrase}: the credentials of {credentials} were refused"
        return f"{phrase}: it wants you to sign in, or credentials in `headers`"
    if status in {404, 405}:
        return f"{phrase}: no MCP endpoint at this URL"
    return phrase


class _LimitedTransport(httpx2.AsyncHTTPTransport):
    """Makes responses that are checked as they are read; event streams are limited an event, by the SDK."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if (sent_by := request.extensions.get(SENT_BY)) is not None:
            return await sent_by(super().handle_async_request, request)
        response = await super().handle_async_request(request)
        checked = _CheckedResponse(
            response.status_code, headers=response.headers, stream=response.stream, extensions=response.extensions
        )
        if request.method == "POST" and checked.is_success:
            checked.answers = request_id(await request.aread())
        return await busy.told(checked, request) if request.method == "POST" else checked


class _CheckedResponse(httpx2.Response):
    """What is nested too deep for the SDK to read, or is too much, is cut out of it, and the rest is read.

    `answers` is the id of the request that it came for, None where that was none.
    """

    answers: int | None = None

    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncGenerator[bytes]:
        kind = self.headers.get("content-type", "").lower()
        if kind.startswith("text/event-stream"):
            events = taken_events(super().aiter_bytes(chunk_size), LARGEST_LINE)
            if self.answers is not None:
                events = OwnEvents(self.answers).of(events, LARGEST_LINE)
            async for piece in events:
                yield piece
        elif kind.startswith("application/json"):
            whole = b"".join([piece async for piece in self._limited(chunk_size)])
            whole = await taken_aside(whole.removeprefix(codecs.BOM_UTF8))
            yield whole if self.answers is None else await own_answer(whole, self.answers)
        else:
            async for piece in self._limited(chunk_size):
                yield piece

    async def _limited(self, chunk_size: int | None) -> AsyncGenerator[bytes]:
        """Counts decoded bytes: 95 KB of gzip can be 100 MB."""
        size = 0
        async for piece in super().aiter_bytes(chunk_size):
            size += len(piece)
            if size > LARGEST_LINE:
                # A StreamError is what the SDK turns into the failure of this one request.
                raise httpx2.StreamError(f"The result is too large: the limit is {LARGEST_LINE // 2**20} MB.")
            yield piece

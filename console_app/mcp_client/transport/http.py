"""MCP's HTTP transports, streamable and legacy SSE, on an HTTP client that remembers what the SDK forgets.

The SDK loses the status of a refused request and reads answers of any size. So a hook on the client notes the status,
and responses count what they hold once it is decoded.
"""

from __future__ import annotations

import codecs
import functools
import json
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from enum import Enum, auto
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import httpx2
from mcp import MCPError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INTERNAL_ERROR

from console_app.mcp_client.transport.cutting import LINES, aside, object_of, plain, taken, taken_events
from console_app.mcp_client.transport.lines import LARGEST_LINE, find_id, members
from console_app.mcp_client.transport.wire_message import Streams
from console_app.records import dataclass

MOST_TRIES: Final = 5
LONGEST_WAIT: Final = 60.0  # seconds: what is not soon is for the model to decide
_WAITS: Final = (1.0, 2.0, 4.0, 8.0)  # where the server names none
_KEY: Final = "fanout/wait"
_ENDS: Final = 4096  # bytes at each end of a message, where its id is looked for
Send = Callable[[httpx2.Request], Awaitable[httpx2.Response]]
refused: ContextVar[list[str]] = ContextVar("refused")
"""The refusals of the request that a task makes; each task has a list of its own, since others ask beside it."""
SENT_BY = "sent_by"
"""The key in a request's extensions for a function that sends it in place of this module, given a `Send` and it."""
_CONNECT_SECONDS = 15.0
ENCODINGS = "gzip, deflate"  # what is decoded in pieces of a bounded size on every Python, with nothing else installed
_OLDER_SERVER = frozenset({400, 404, 405, 406, 415})


async def _told(response: httpx2.Response, request: httpx2.Request) -> httpx2.Response:
    """Return `response`, or in place of a refusal for want of room, an error that `seconds_to_wait` knows.

    429 says that a call was not run, and 503 where it names a time to come back at. Any other 503 may be of something
    between, which lost the answer to a call that ran. The SDK leaves out both status and time, hence the error.
    """
    after = response.headers.get("retry-after", "").strip()
    seconds = float(after[:9]) if after.isascii() and after.isdecimal() else None
    if response.status_code != 429 and (response.status_code != 503 or seconds is None):
        return response
    asked = _object(await request.aread())
    if asked.get("method") != "tools/call":
        return response
    is_json = response.headers.get("content-type", "").lower().startswith("application/json")
    error = _object(await response.aread()).get("error") if is_json else None
    await response.aclose()
    said = object_of(error)
    code, message = said.get("code"), said.get("message")
    status = HTTPStatus(response.status_code)
    refusal = f"The server refused the call: HTTP {status.value} {status.phrase}."
    own = {
        "code": code if type(code) is int else INTERNAL_ERROR,
        "message": message if isinstance(message, str) and message else refusal,
        "data": {_KEY: seconds},
    }
    answer = {"jsonrpc": "2.0", "id": asked.get("id"), "error": own}
    return httpx2.Response(status, json=answer, request=request)


def seconds_to_wait(error: MCPError, tries: int) -> float | None:
    """Return the seconds until a call that failed `tries` times may go out again; None where it may not."""
    data: Any = error.error.data
    if _KEY not in object_of(data) or tries >= MOST_TRIES:
        return None
    named: Any = data[_KEY]
    wait = named if isinstance(named, float | int) else _WAITS[tries - 1]
    return float(wait) if 0 <= wait <= LONGEST_WAIT else None


def _object(body: bytes) -> dict[str, Any]:
    try:
        return object_of(json.loads(body))
    except (ValueError, RecursionError):
        return {}


class _Kind(Enum):
    """The meaning of a message to the request in whose response it came."""

    ANSWER = auto()  # to this request
    OTHER_ANSWER = auto()
    NO_ANSWER = auto()  # the server's own request, or a notification
    UNREADABLE = auto()


def _id_in(message: bytes) -> int | None:
    return find_id(message[:_ENDS], message[-_ENDS:])


def _own_answer(body: bytes, own: int) -> bytes:
    """Return the one message of a JSON body that answers the request `own`; where there is none, its failure."""
    listed = members(body)
    for message in listed or [body]:
        match _kind(message, own):
            case _Kind.ANSWER:
                message = plain(message)
                if b'"error"' not in message or _id_in(message) == own:
                    return message
                read: Any = json.loads(message)
                return json.dumps(read | {"id": own}).encode() if "error" in read else message
            case _Kind.OTHER_ANSWER if not listed:
                return _failure(message, own)
            case _:
                pass
    return _failure(listed[0], own) if listed else body


def _kind(message: bytes, own: int) -> _Kind:
    if _id_in(message) == own:
        return _Kind.ANSWER  # also one that is broken: it is told as that
    fields = _object(message)
    if "method" in fields:
        return _Kind.NO_ANSWER
    if "error" not in fields and not isinstance(fields.get("result"), dict):
        return _Kind.UNREADABLE
    id = fields.get("id")
    # A request that was refused unread is answered with null for its id, or with a word ("server-error").
    unread = "error" in fields and not isinstance(id, int)
    return _Kind.ANSWER if unread or str(id) == str(own) else _Kind.OTHER_ANSWER


def _failure(message: bytes, own: int) -> bytes:
    id = json.dumps(json.loads(message).get("id"))[:40]
    why = f"The server answered another request (id {id}) in place of this one (id {own})."
    return json.dumps({"jsonrpc": "2.0", "id": own, "error": {"code": INTERNAL_ERROR, "message": why}}).encode()


class _OwnEvents:
    """The events of the stream that a request was answered with.

    The SDK takes any answer there for the request's own. Batches are taken apart (2025-03-26 has them). What is no
    message, or answers something else, is left out while the answer may still come. Where none comes, the first such
    event is the answer, and fails the request.
    """

    def __init__(self, own: int) -> None:
        self._own = own
        self._answered = False
        self._resumable = False
        self._left_out = b""  # the first event that was, as it is to be told

    async def of(self, blocks: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
        """Yield what may be read of `blocks`, which are whole lines; events over `most` bytes pass as they are."""
        held, passing = bytearray(), False
        async for block in blocks:
            for line in LINES.findall(block):
                if line.startswith(b":") and not passing:
                    continue  # a comment
                held += line
                if not line.rstrip(b"\r\n"):
                    event, held = bytes(held), bytearray()
                    yield event if passing else await aside(self._readable, event)
                    passing = False
            if passing or len(held) > most:
                yield bytes(held)
                held, passing = bytearray(), True
        if held:
            yield bytes(held)
        if self._left_out and not (self._answered or self._resumable):
            yield self._left_out

    def _readable(self, event: bytes) -> bytes:
        """Return `event`, or several where it holds a batch; b"" where it is left out."""
        fields = [line.rstrip(b"\r\n") for line in LINES.findall(event)]
        name = b"".join(field[6:].strip() for field in fields if field.startswith(b"event:"))
        data = b"\n".join(field[5:].removeprefix(b" ") for field in fields if field.startswith(b"data:"))
        self._resumable = self._resumable or any(field.startswith(b"id:") for field in fields)
        if not data or name not in (b"", b"message"):
            return event
        if listed := members(data):
            # The answer last: nothing is read behind it.
            listed.sort(key=lambda message: _kind(message, self._own) is _Kind.ANSWER)
            rest = b"".join(field + b"\n" for field in fields if field and not field.startswith(b"data:"))
            return rest + b"".join(self._readable(b"data: " + message + b"\n\n") for message in listed)
        match _kind(data, self._own):
            case _Kind.ANSWER:
                self._answered = True
                mended = plain(data)
                return event if mended is data else b"data: " + mended + b"\n\n"
            case _Kind.NO_ANSWER:
                return event
            case _Kind.OTHER_ANSWER:
                self._left_out = self._left_out or b"data: " + _failure(data, self._own) + b"\n\n"
            case _Kind.UNREADABLE:
                self._left_out = self._left_out or event
        return b""


@dataclass(eq=False)
class HttpConversation:
    """The HTTP side of one connection. `refusal` says how the server last refused a request, "" if it didn't.

    `auth` proves who we are, with every request; it is ours, so the SDK's own are left out. `proof` names it in words.
    `sse` says that the server is known to speak SSE as of 2024-11-05.
    """

    _url: str
    _headers: dict[str, str]
    _auth: httpx2.Auth | None
    _proof: str
    _sse: bool
    _legacy: bool = False
    status: int | None = None
    refusal: str = ""
    unauthorized: bool = False  # it wants to know who we are, whatever it said to later requests

    @property
    def may_be_older(self) -> bool:
        """Tell whether a server that only knows SSE would give the last answer to the newer transport."""
        return self.status in _OLDER_SERVER

    @asynccontextmanager
    async def transport(self, *, legacy: bool) -> AsyncGenerator[Streams]:
        """Yield the streams the SDK reads and writes; `legacy` speaks SSE as of 2024-11-05."""
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
            transport=_LimitedTransport(
                verify=_trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
                limits=httpx2.Limits(max_connections=None),
            ),
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
            refused.get([]).append(self.refusal)


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


@functools.cache
def _trusted(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Return what this machine trusts, by the variables that name it: reading it takes 25 ms of the event loop, so all
    connections share it."""
    return httpx2.create_ssl_context()


class _LimitedTransport(httpx2.AsyncHTTPTransport):
    """Makes responses that are checked as they are read; the SDK itself limits each event of a stream."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if (sent_by := request.extensions.get(SENT_BY)) is not None:
            return await sent_by(super().handle_async_request, request)
        response = await super().handle_async_request(request)
        checked = _CheckedResponse(
            response.status_code, headers=response.headers, stream=response.stream, extensions=response.extensions
        )
        if request.method == "POST" and checked.is_success:
            checked.answers = _id_in(await request.aread())
        return await _told(checked, request) if request.method == "POST" else checked


class _CheckedResponse(httpx2.Response):
    """A response that is read without what is nested too deep for the SDK, or is too much.

    `answers` is the id of the request that it came for, None where that was none.
    """

    answers: int | None = None

    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncGenerator[bytes]:
        kind = self.headers.get("content-type", "").lower()
        if kind.startswith("text/event-stream"):
            events = taken_events(super().aiter_bytes(chunk_size), LARGEST_LINE)
            if self.answers is not None:
                events = _OwnEvents(self.answers).of(events, LARGEST_LINE)
            async for piece in events:
                yield piece
        elif kind.startswith("application/json"):
            whole = b"".join([piece async for piece in self._limited(chunk_size)])
            whole = await aside(taken, whole.removeprefix(codecs.BOM_UTF8))
            yield plain(whole) if self.answers is None else await aside(partial(_own_answer, own=self.answers), whole)
        else:
            async for piece in self._limited(chunk_size):
                yield piece

    async def _limited(self, chunk_size: int | None) -> AsyncGenerator[bytes]:
        """Count the decoded bytes, since 95 KB of gzip can be 100 MB."""
        size = 0
        async for piece in super().aiter_bytes(chunk_size):
            size += len(piece)
            if size > LARGEST_LINE:
                # A StreamError is what the SDK turns into the failure of this one request.
                raise httpx2.StreamError(f"The result is too large: the limit is {LARGEST_LINE // 2**20} MB.")
            yield piece

"""Stands between the SDK and any transport, and sees every message: whose call it belongs to is settled here.

The SDK runs progress and log notifications as tasks of their own and loses which request they came with; it fails a
whole listing over one bad tool. So progress and log lines are taken out here, in order and before the result that
follows them, and listings are cleaned before the SDK validates them.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, cast, get_args

from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from console_app.domain.events import Level
from console_app.domain.ports.toolset import CallReporter
from console_app.mcp_client.exchange import Exchanges
from console_app.mcp_client.listing import clean_listing
from console_app.mcp_client.mcp_internals import ReadStream, WriteStream
from console_app.mcp_client.status import RejectedTool

_ORDER: dict[str, int] = {level: place for place, level in enumerate(get_args(Level))}
_MOST_A_SECOND = 200  # progress notifications of one call that are reported each on its own
_ABANDONED_SECONDS = 5.0  # that a cancelled call may still write log lines


Progress = tuple[float, float | None, str | None]


@dataclass(eq=False, slots=True)
class WireCall:
    """A call in flight: `token` is its progress token, unique on the connection; `call_id` is the engine's.

    Of a flood of progress the newest is what counts: past `_MOST_A_SECOND`, what comes in between is left out.
    """

    token: str
    reporter: CallReporter
    call_id: str = ""
    questions: set[asyncio.Future[Any]] = field(default_factory=set[asyncio.Future[Any]])  # that may be its
    _second: float = -1.0  # when the current second of counting began, in the loop's time
    _count: int = 0
    _held: Progress | None = None
    _timer: asyncio.TimerHandle | None = None

    def progressed(self, progress: Progress) -> None:
        """Reports it, now or, in a flood, with the end of the second."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if now - self._second >= 1:
            self._second, self._count = now, 0
        self._count += 1
        if self._count <= _MOST_A_SECOND:
            self._held = None
            self.reporter.progress(*progress)
            return
        self._held = progress
        if self._timer is None:
            self._timer = loop.call_at(self._second + 1, self.flush)

    def flush(self) -> None:
        """Reports what was held back."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held is not None:
            held, self._held = self._held, None
            self.reporter.progress(*held)


# The call that a task is making. Streamable HTTP answers each request on a stream of its own, and the SDK runs what
# arrives there in the context of the request: so this also tells whose log line came in.
current_call: contextvars.ContextVar[WireCall | None] = contextvars.ContextVar("current_call", default=None)

Streams = tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]


class Wire:
    """One connection's messages. `server_log` takes what no call claims; `exchanges` keeps what calls said."""

    def __init__(
        self,
        server_log: Callable[[Level, str], None],
        exchanges: Exchanges | None = None,
        log_level: Callable[[], Level] = lambda: "debug",
        without_secrets: Callable[[Any], Any] = lambda data: data,
    ) -> None:
        self._without_secrets = without_secrets
        self._server_log = server_log
        self._log_level = log_level
        self._exchanges = exchanges or Exchanges()
        self._calls: dict[str, WireCall] = {}
        self._methods: dict[int | str, str] = {}  # of our requests in flight
        self._sent_for: dict[int | str, str] = {}  # our requests in flight, to the id of the call they are for
        self._asked_for: dict[int | str, str] = {}  # the server's requests in flight, likewise
        self._quiet_until = 0.0
        self.rejected: list[RejectedTool] = []
        self.ended = asyncio.Event()  # the transport will bring nothing more

    def open(self, call: WireCall) -> None:
        """A call is about to be sent."""
        self._calls[call.token] = call

    def close(self, call: WireCall, *, abandoned: bool) -> None:
        """A call has its answer, or nobody waits for it any more."""
        self._calls.pop(call.token, None)
        call.flush()
        for question in call.questions - {asked for other in self._calls.values() for asked in other.questions}:
            question.cancel()
        if abandoned:
            self._quiet_until = asyncio.get_running_loop().time() + _ABANDONED_SECONDS

    def around(self, transport: AbstractAsyncContextManager[Streams]) -> Transport:
        """The same transport, watched."""
        return cast("Transport", self._around(transport))

    @asynccontextmanager
    async def _around(self, transport: AbstractAsyncContextManager[Streams]) -> AsyncGenerator[Streams]:
        async with transport as (read, write):
            yield _WatchedRead(read, self), _WatchedWrite(write, self)

    def sending(self, message: SessionMessage) -> None:
        """One message on its way to the server."""
        call = current_call.get()
        match message.message:
            case JSONRPCRequest() as request:
                self._methods[request.id] = request.method
                if call is not None:
                    self._sent_for[request.id] = call.call_id
                    self._keep(call.call_id, request, sent=True)
            case JSONRPCResponse() | JSONRPCError() as answer:
                self._keep(self._asked_for.pop(answer.id, "") if answer.id is not None else "", answer, sent=True)
            case notification:
                self._keep(call.call_id if call is not None else "", notification, sent=True)

    def received(self, item: SessionMessage | Exception, context: contextvars.Context | None) -> bool:
        """One message from the server; returns whether the SDK should see it."""
        if isinstance(item, Exception):
            return True
        message = item.message
        self._hide_secrets(message)
        if isinstance(message, JSONRPCNotification):
            params = message.params or {}
            self._keep(self._call_id(params, context), message, sent=False)
            if message.method == "notifications/progress":
                return not self._progress(params)
            if message.method == "notifications/message":
                self._log(params, context)
                return False
            return True
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            method = self._methods.pop(message.id, None)
            self._keep(self._sent_for.pop(message.id, ""), message, sent=False)
            if method == "tools/list" and isinstance(message, JSONRPCResponse):
                message.result, rejected = clean_listing(message.result)
                self.rejected += rejected
        if isinstance(message, JSONRPCRequest):
            self._asked_for[message.id] = call_id = self._call_id(message.params or {}, context)
            self._keep(call_id, message, sent=False)
        return True

    def _hide_secrets(self, message: JSONRPCMessage) -> None:
        """A server may give back what mcp.json gave it: no result, no log line and no description holds it."""
        match message:
            case JSONRPCResponse():
                message.result = self._without_secrets(message.result)
            case JSONRPCError():
                message.error.message = self._without_secrets(message.error.message)
                message.error.data = self._without_secrets(message.error.data)
            case JSONRPCNotification() | JSONRPCRequest():
                message.params = self._without_secrets(message.params)

    def asking(self) -> tuple[WireCall | None, list[WireCall]]:
        """For a request of the server that is being answered: the call it belongs to, if that is known, and those
        that may be waiting for the answer."""
        call = self._whose({}, contextvars.copy_context())
        return call, [call] if call is not None else list(self._calls.values())

    def _call_id(self, params: dict[str, Any], context: contextvars.Context | None) -> str:
        call = self._whose(params, context)
        return call.call_id if call is not None else ""

    def _keep(self, call_id: str, message: JSONRPCMessage, *, sent: bool) -> None:
        if call_id:
            fields = {name: value for name, value in message if value is not None}  # not a copy of all that is inside
            if isinstance(message, JSONRPCError):
                fields["error"] = message.error.model_dump(exclude_none=True)
            self._exchanges.keep(call_id, fields, sent=sent)

    def _progress(self, params: dict[str, Any]) -> bool:
        call = self._calls.get(str(params.get("progressToken")))
        progress, total, text = params.get("progress"), params.get("total"), params.get("message")
        if call is None or not _is_number(progress):
            return False
        known_total = float(total) if total is not None and _is_number(total) else None
        call.progressed((float(progress or 0), known_total, text if isinstance(text, str) else None))
        return True

    def _log(self, params: dict[str, Any], context: contextvars.Context | None) -> None:
        level, data, logger = params.get("level"), params.get("data"), params.get("logger")
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
        if isinstance(logger, str) and logger:
            text = f"{logger}: {text}"
        known = cast("Level", level if level in _ORDER else "info")
        if _ORDER[known] < _ORDER[self._log_level()]:
            return  # not every server keeps to the level it was asked for
        call = self._whose(params, context)
        if call is not None:
            call.reporter.log(known, text)
        else:
            self._server_log(known, text)

    def _whose(self, params: dict[str, Any], context: contextvars.Context | None) -> WireCall | None:
        """The call that a log line belongs to, or None where that isn't sure."""
        meta: Any = params.get("_meta")
        token = params.get("progressToken")
        if token is None and isinstance(meta, dict):
            token = cast("dict[str, Any]", meta).get("progressToken")
        if token is not None:
            return self._calls.get(str(token))
        made_by = context.get(current_call) if context is not None else None
        if made_by is not None:
            return self._calls.get(made_by.token)
        # Over stdio the protocol doesn't say. With one call in flight, and none cancelled that may still be writing,
        # there is only one it can be; with more it would be a guess.
        if len(self._calls) == 1 and asyncio.get_running_loop().time() >= self._quiet_until:
            return next(iter(self._calls.values()))
        return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class _WatchedRead:
    """A read stream that shows each message to its Wire first."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], wire: Wire) -> None:
        self._inner = inner
        self._wire = wire

    @property
    def last_context(self) -> contextvars.Context | None:
        """The sender's context, where the transport carries it (the SDK looks for this attribute)."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            while True:
                item = await self._inner.receive()
                if self._wire.received(item, self.last_context):
                    return item
        except Exception:
            self._wire.ended.set()  # EndOfStream, or the stream was closed under us
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> ReadStream[SessionMessage | Exception]:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        from anyio import EndOfStream

        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class _WatchedWrite:
    """A write stream that shows each message to its Wire first, in the task and context of whoever sends it."""

    def __init__(self, inner: WriteStream[SessionMessage], wire: Wire) -> None:
        self._inner = inner
        self._wire = wire

    async def send(self, item: SessionMessage, /) -> None:
        self._wire.sending(item)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()

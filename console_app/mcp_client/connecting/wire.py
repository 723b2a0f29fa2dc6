"""Stands between the SDK and any transport, and sees every message: whose call it belongs to is settled here.

The SDK runs progress and log notifications as tasks of their own and loses which request they came with; it fails a
whole listing over one bad tool. So progress and log lines are taken out here, in order and before the result that
follows them, and listings and results are cleaned before the SDK validates them.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, cast, get_args

import mcp_types as types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from console_app.domain import Level, one_line, ports, safe_text
from console_app.domain import events as ev
from console_app.mcp_client.connecting.asking import Surroundings
from console_app.mcp_client.connecting.status import LeftOut
from console_app.mcp_client.connecting.task_ids import BegunTask
from console_app.mcp_client.tools.atlas import carries_files
from console_app.mcp_client.tools.cleaning import clean
from console_app.mcp_client.traffic import Kind, json_of, to_keep
from console_app.mcp_client.transport import MessagesIn, MessagesOut, Streams, WireMessage
from console_app.records import dataclass, field

_MOST_A_SECOND = 200  # progress notifications of one call that are reported each on its own
_CLEANED_AT_ONCE = 200  # things in an answer that are judged on the event loop, at 0.3 ms each that doesn't fit
_QUIET_SECONDS = 5.0  # without a line, after which a stopped call that never gets its answer has ended
# Fields by which servers name a call beside its progress token; they hold the id of the call's request.
_REQUEST_NAMES: Final = (
    "relatedRequestId",
    "related_request_id",
    "requestId",
    "io.modelcontextprotocol/related-request",
)

OUTPUT = "fanout/output"  # in the `_meta` of progress: a piece of output, which no newer one makes up for
Progress = tuple[float, float | None, str | None]
Logged = tuple[Level, str]
_ORDER: dict[str, int] = {level: place for place, level in enumerate(get_args(Level))}
# The key is the class, since an `isinstance` that fails on a pydantic model costs as much as keeping the message.
_KINDS: dict[type[types.JSONRPCMessage], Kind] = {
    types.JSONRPCRequest: "request",
    types.JSONRPCNotification: "notification",
    types.JSONRPCResponse: "result",
    types.JSONRPCError: "error",
}


@dataclass(eq=False, slots=True)
class WireCall:
    """A call in flight: `token` is its progress token, unique on the connection; `call_id` is the engine's.

    Of a flood the newest is what counts: past `_MOST_A_SECOND`, what comes in between is left out, and of log lines
    it is said how many.
    """

    token: str
    reporter: ports.CallReporter
    report: Callable[[float, float | None, str | None], None]  # progress
    call_id: str
    begun: BegunTask  # the task that the server made of it
    questions: set[asyncio.Future[Any]] = field(default_factory=set[asyncio.Future[Any]])  # that may be its
    asked: int = 0  # times its server asked something that may be for it
    _latest: Progress = (0.0, None, None)
    _second: float = -1.0  # when the current second of counting began, in the loop's time
    _count: int = 0  # of progress
    _logged: int = 0  # of log lines
    _held: Progress | None = None
    _line: Logged | None = None  # the newest line of those that are held back
    _dropped: int = 0  # lines before that
    _timer: asyncio.TimerHandle | None = None
    _written: int = 0  # bytes of output so far, as its server counts them

    def progressed(self, progress: Progress) -> None:
        """Report it, now or, in a flood, with the end of the second."""
        loop = self._tick()
        self._latest = progress
        self._count += 1
        files = progress[2] is not None and carries_files(progress[2])
        if self._count <= _MOST_A_SECOND or files:
            self._held = None
            self.report(*progress)
            return
        self._held = progress
        if self._timer is None:
            self._timer = loop.call_at(self._second + 1, self.flush)

    def wrote(self, stream: ev.OutputStream, text: str, offset: int) -> None:
        """Report output, every piece of it; the reporter gathers them. A gap before it is told with it."""
        dropped = max(offset - self._written, 0)
        self._written += dropped + safe_text.size_of(text)
        self.reporter.output(stream, text, dropped=dropped)

    def stands(self, text: str) -> None:
        progress, total, _ = self._latest
        self.progressed((progress, total, text))

    def logged(self, level: Level, text: str) -> None:
        """Report a line of its server's log, now or, in a flood, the newest with the end of the second."""
        loop = self._tick()
        self._logged += 1
        if self._logged <= _MOST_A_SECOND:
            self._flush_line()
            self.reporter.log(level, text)
            return
        self._dropped += self._line is not None
        self._line = (level, text)
        if self._timer is None:
            self._timer = loop.call_at(self._second + 1, self.flush)

    def _tick(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if (now := loop.time()) - self._second >= 1:
            self._second, self._count, self._logged = now, 0, 0
        return loop

    def flush(self) -> None:
        self._flush_line()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held is not None:
            held, self._held = self._held, None
            self.report(*held)

    def _flush_line(self) -> None:
        if self._line is not None:
            (level, text), self._line = self._line, None
            dropped, self._dropped = self._dropped, 0
            self.reporter.log(level, text, dropped=dropped)


# The call that a task is making. Streamable HTTP answers each request on a stream of its own, and the SDK runs what
# arrives there in the context of the request: so this also tells whose log line came in.
current_call: contextvars.ContextVar[WireCall | None] = contextvars.ContextVar("current_call", default=None)


class RunningCalls:
    """The calls that were sent and have no answer yet, and which of them a message belongs to.

    A message may name its call. Over stdio, before 2026-07-28, the protocol doesn't say it: then a message may be of
    any call that runs, and whoever uses the answer has to say so.
    """

    def __init__(self) -> None:
        self.by_token: dict[str, WireCall] = {}  # progress tokens
        self._requests: dict[int | str, WireCall] = {}  # our requests in flight, to the call they are for
        self._quiet_until = 0.0

    def open(self, call: WireCall) -> None:
        self.by_token[call.token] = call

    def close(self, call: WireCall) -> None:
        """Close a call that has its answer, or is given up; questions that were only its are withdrawn."""
        self.by_token.pop(call.token, None)
        call.flush()
        if call.questions:  # or each end would look at all the others
            for question in call.questions - {asked for other in self.by_token.values() for asked in other.questions}:
                question.cancel()
        self._quiet_until = asyncio.get_running_loop().time() + _QUIET_SECONDS

    def sent(self, call: WireCall, request: int | str) -> None:
        self._requests[request] = call

    def answered(self, request: int | str) -> str:
        call = self._requests.pop(request, None)
        return call.call_id if call is not None else ""

    def running(self) -> list[WireCall]:
        return list(self.by_token.values())

    def whose(self, params: dict[str, Any], context: contextvars.Context | None) -> WireCall | None:
        """Return the call that a message with these parameters belongs to, or None where that isn't sure."""
        named, known = self._named(params)
        if known:
            return named
        made_by = context.get(current_call) if context is not None else None
        if made_by is not None:
            return made_by if made_by in self.by_token.values() else None
        # With one call in flight, and none stopped that may still be writing, there is only one it can be.
        now = asyncio.get_running_loop().time()
        if now < self._quiet_until and any(one.token not in self.by_token for one in self._requests.values()):
            self._quiet_until = now + _QUIET_SECONDS
            return None
        return next(iter(self.by_token.values())) if len(self.by_token) == 1 else None

    def _named(self, params: dict[str, Any]) -> tuple[WireCall | None, bool]:
        named = params | safe_text.as_object(params.get("_meta"))
        if (token := named.get("progressToken")) is not None:
            return self.by_token.get(str(token)), True
        for name in _REQUEST_NAMES:
            request: Any = named.get(name)
            if isinstance(request, int | str) and (call := self._requests.get(request)) is not None:
                return call, True
        return None, False


class Wire:
    """The messages of a connection. Log lines that may be of several calls stand once, in the server's log."""

    def __init__(self, surroundings: Surroundings, protocol: str | None) -> None:
        self._without_secrets = surroundings.given.without_known_in
        self._server_log = surroundings.log
        self._protocol = protocol
        self._log_level = surroundings.log_level
        self._traffic = surroundings.traffic
        self.calls = RunningCalls()
        self._methods: dict[int | str, str] = {}  # of our requests in flight
        self._asked_for: dict[int | str, str] = {}  # the server's requests in flight, to the id of their call
        self.left_out: dict[str, list[LeftOut]] = {}  # of the lists that are read, by method
        self.version = LATEST_HANDSHAKE_VERSION  # that both sides agreed on; the SDK judges the handshake by this one
        self.ended = asyncio.Event()  # the transport will bring nothing more

    def around(self, transport: AbstractAsyncContextManager[Streams]) -> Transport:
        return cast("Transport", self._around(transport))

    @asynccontextmanager
    async def _around(self, transport: AbstractAsyncContextManager[Streams]) -> AsyncGenerator[Streams]:
        self._traffic.connected()
        async with transport as (read, write):
            yield _WatchedRead(read, self), _WatchedWrite(write, self)

    def sending(self, message: types.JSONRPCMessage) -> bytes:
        """Take note of a message to the server; return its JSON, b"" where it has none."""
        call = current_call.get()
        call_id = call.call_id if call is not None else ""
        if isinstance(message, types.JSONRPCRequest):
            self._methods[message.id] = message.method
            if message.method == "initialize" and self._protocol and message.params is not None:
                message.params["protocolVersion"] = self._protocol  # the SDK names its newest
            if call is not None:
                self.calls.sent(call, message.id)
        elif isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            call_id = self._asked_for.pop(message.id, "") if message.id is not None else ""
        try:
            raw = json_of(message)
        except (ValueError, RecursionError):
            raw = b""
        self._keep(call_id, message, raw, sent=True)
        return raw

    async def received(self, item: SessionMessage | Exception, context: contextvars.Context | None) -> bool:
        """Take note of a message from the server; return whether the SDK should see it."""
        if isinstance(item, Exception):
            return True
        message = item.message
        raw = item.raw if isinstance(item, WireMessage) else b""
        if isinstance(item, WireMessage) and item.passed_over:
            self._traffic.dropped += item.passed_over
        if self._hide_secrets(message):
            raw = b""
        if isinstance(message, types.JSONRPCNotification):
            params = message.params or {}
            self._keep(self._call_id(params, context), message, raw, sent=False)
            if message.method == "notifications/progress":
                return not self._progress(params)
            if message.method == "notifications/message":
                self._log(params, context)
                return False
            return True
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            method = self._methods.pop(message.id, None) if message.id is not None else None
            self._keep(self.calls.answered(message.id) if message.id is not None else "", message, raw, sent=False)
            if isinstance(message, types.JSONRPCResponse):
                await self._clean(message, method or "")
            elif method == "initialize" and message.error.code == types.METHOD_NOT_FOUND:
                # This makes the SDK ask once more in the newest way: a server that took too long to start for its
                # patience, and refuses `initialize`, may know no other.
                known = {"supported": list(MODERN_PROTOCOL_VERSIONS), "requested": "initialize"}
                message.error.code, message.error.data = types.UNSUPPORTED_PROTOCOL_VERSION, known
        if isinstance(message, types.JSONRPCRequest):
            self._asked_for[message.id] = call_id = self._call_id(message.params or {}, context)
            self._keep(call_id, message, raw, sent=False)
        return True

    async def _clean(self, answer: types.JSONRPCResponse, method: str) -> None:
        given, method = answer.result, "tools/call" if method == "tasks/result" else method
        if sum(map(len, map(safe_text.as_list, given.values()))) <= _CLEANED_AT_ONCE:
            answer.result, left_out, dropped = clean(method, self.version, given)
        else:
            answer.result, left_out, dropped = await asyncio.to_thread(clean, method, self.version, given)
        if method in self.left_out:
            self.left_out[method] += (*left_out, *dropped)
        if dropped:
            more = f", and {len(dropped) - 1} more" if len(dropped) > 1 else ""
            what = f"left out of its answer to {method}: {dropped[0].name}: {dropped[0].reason}{more}"
            self._server_log("warning", one_line(what, 400))

    def _hide_secrets(self, message: types.JSONRPCMessage) -> bool:
        """Take out secrets that mcp.json gave the server, from whatever it says; tell whether there were any."""
        if isinstance(message, types.JSONRPCError):
            said, message.error.message = message.error.message, self._without_secrets(message.error.message)
            data, message.error.data = message.error.data, self._without_secrets(message.error.data)
            return said != message.error.message or data != message.error.data
        if isinstance(message, types.JSONRPCResponse):
            had, message.result = message.result, self._without_secrets(message.result)
            return had is not message.result
        given, message.params = message.params, self._without_secrets(message.params)
        return given is not message.params

    def asking(self) -> tuple[WireCall | None, list[WireCall]]:
        """Return, for a question that is being answered, the call it is for, None where unknown, and those that may
        wait."""
        call = self.calls.whose({}, contextvars.copy_context())
        return call, [call] if call is not None else self.calls.running()

    def _call_id(self, params: dict[str, Any], context: contextvars.Context | None) -> str:
        call = self.calls.whose(params, context)
        return call.call_id if call is not None else ""

    def _keep(self, call_id: str, message: types.JSONRPCMessage, raw: bytes, *, sent: bool) -> None:
        fields = message.__dict__
        kept, size = to_keep(message, raw)
        method, id = fields.get("method", ""), fields.get("id")
        self._traffic.keep(kept, _KINDS[type(message)], method, id, sent, call_id, size)

    def _progress(self, params: dict[str, Any]) -> bool:
        call = self.calls.by_token.get(str(params.get("progressToken")))
        progress, total, text = params.get("progress"), params.get("total"), params.get("message")
        if call is None or not _is_number(progress):
            return False
        output = safe_text.as_object(safe_text.as_object(params.get("_meta")).get(OUTPUT))
        if isinstance(written := output.get("text"), str):
            stream, offset = output.get("stream"), output.get("offset")
            known = cast("ev.OutputStream", stream if stream in get_args(ev.OutputStream) else "text")
            call.wrote(known, written, offset if type(offset) is int else 0)
            if total is None and text is None:  # then its progress is the bytes of that
                return True
        known_total = float(total) if total is not None and _is_number(total) else None
        call.progressed((float(progress or 0), known_total, text if isinstance(text, str) else None))
        return True

    def _log(self, params: dict[str, Any], context: contextvars.Context | None) -> None:
        level, data, logger = params.get("level"), params.get("data"), params.get("logger")
        text = safe_text.as_text(data)
        if isinstance(logger, str) and logger:
            text = f"{logger}: {text}"
        known = cast("Level", level if level in _ORDER else "info")
        if _ORDER[known] < _ORDER[self._log_level()]:
            return  # not every server keeps to the level it was asked for
        if (call := self.calls.whose(params, context)) is not None:
            call.logged(known, text)
        else:
            self._server_log(known, text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class _WatchedRead(ObjectReceiveStream[SessionMessage | Exception]):
    """A read stream that shows each message to its Wire first."""

    def __init__(self, inner: MessagesIn, wire: Wire) -> None:
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
                if await self._wire.received(item, self.last_context):
                    return item
        except Exception:
            self._wire.ended.set()  # EndOfStream, or the stream was closed under us
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()


class _WatchedWrite(ObjectSendStream[SessionMessage]):
    """A write stream that shows each message to its Wire first, in the task and context of whoever sends it."""

    def __init__(self, inner: MessagesOut, wire: Wire) -> None:
        self._inner = inner
        self._wire = wire

    async def send(self, item: SessionMessage) -> None:
        raw = self._wire.sending(item.message)
        await self._inner.send(WireMessage(item.message, item.metadata, raw))

    async def aclose(self) -> None:
        await self._inner.aclose()

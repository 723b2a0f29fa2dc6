"""Stands between the SDK and any transport, and sees every message: whose call it belongs to is settled here.

The SDK runs progress and log notifications as tasks of their own and loses which request they came with; it fails a
whole listing over one bad tool. So progress and log lines are taken out here, in order and before the result that
follows them, and listings and results are cleaned before the SDK validates them.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self, cast, get_args

from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import (
    METHOD_NOT_FOUND,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from console_app.config.secrets import Redactor
from console_app.domain.events import Level
from console_app.mcp_client.connecting.running_calls import RunningCalls, WireCall, current_call
from console_app.mcp_client.connecting.status import RejectedTool
from console_app.mcp_client.tools.blocks import clean_prompt, clean_result
from console_app.mcp_client.tools.listing import clean_listing
from console_app.mcp_client.traffic import Kind, Traffic, json_of, to_keep
from console_app.mcp_client.transport import MessagesIn, MessagesOut, Streams, WireMessage, only_modern

_ORDER: dict[str, int] = {level: place for place, level in enumerate(get_args(Level))}
# By class, since each `isinstance` that fails on a pydantic model costs as much as keeping the message.
_KINDS: dict[type[JSONRPCMessage], Kind] = {
    JSONRPCRequest: "request",
    JSONRPCNotification: "notification",
    JSONRPCResponse: "result",
    JSONRPCError: "error",
}


class Wire:
    """One connection's messages. `server_log` takes what no call claims, `traffic` keeps all that passes; lines that
    may be of several calls reach all of them under the name `server`."""

    def __init__(
        self,
        server_log: Callable[[Level, str], None],
        traffic: Traffic | None = None,
        log_level: Callable[[], Level] = lambda: "debug",
        server: str = "server",
        given: Redactor | None = None,
    ) -> None:
        self._server = server
        self._without_secrets = (given or Redactor()).without_known_in
        self._server_log = server_log
        self._log_level = log_level
        self._traffic = Traffic() if traffic is None else traffic
        self._calls = RunningCalls()
        self._methods: dict[int | str, str] = {}  # of our requests in flight
        self._asked_for: dict[
            int | str, str
        ] = {}  # the server's requests in flight, to the id of the call they are for
        self.rejected: list[RejectedTool] = []
        self.ended = asyncio.Event()  # the transport will bring nothing more

    def open(self, call: WireCall) -> None:
        """A call is about to be sent."""
        self._calls.open(call)

    def close(self, call: WireCall, *, abandoned: bool) -> None:
        """A call has its answer, or nobody waits for it any more."""
        self._calls.close(call, abandoned=abandoned)

    def runs_others(self) -> bool:
        """Whether calls run beside the one whose task this is."""
        own = current_call.get()
        return any(call is not own for call in self._calls.running())

    def around(self, transport: AbstractAsyncContextManager[Streams]) -> Transport:
        """The same transport, watched."""
        return cast("Transport", self._around(transport))

    @asynccontextmanager
    async def _around(self, transport: AbstractAsyncContextManager[Streams]) -> AsyncGenerator[Streams]:
        self._traffic.connected()
        async with transport as (read, write):
            yield _WatchedRead(read, self), _WatchedWrite(write, self)

    def sending(self, message: JSONRPCMessage) -> bytes:
        """One message on its way to the server; returns its JSON, b"" where it has none."""
        call = current_call.get()
        call_id = call.call_id if call is not None else ""
        if isinstance(message, JSONRPCRequest):
            self._methods[message.id] = message.method
            if call is not None:
                self._calls.sent(call, message.id)
        elif isinstance(message, JSONRPCResponse | JSONRPCError):
            call_id = self._asked_for.pop(message.id, "") if message.id is not None else ""
        try:
            raw = json_of(message)
        except (ValueError, RecursionError):
            raw = b""
        self._keep(call_id, message, raw, sent=True)
        return raw

    def received(self, item: SessionMessage | Exception, context: contextvars.Context | None) -> bool:
        """One message from the server; returns whether the SDK should see it."""
        if isinstance(item, Exception):
            return True
        message = item.message
        raw = item.raw if isinstance(item, WireMessage) else b""
        if isinstance(item, WireMessage) and item.passed_over:
            self._traffic.dropped += item.passed_over
        if self._hide_secrets(message):
            raw = b""
        if isinstance(message, JSONRPCNotification):
            params = message.params or {}
            self._keep(self._call_id(params, context), message, raw, sent=False)
            if message.method == "notifications/progress":
                return not self._progress(params)
            if message.method == "notifications/message":
                self._log(params, context)
                return False
            return True
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            method = self._methods.pop(message.id, None) if message.id is not None else None
            self._keep(self._calls.answered(message.id) if message.id is not None else "", message, raw, sent=False)
            if isinstance(message, JSONRPCResponse):
                self._clean(message, method)
            elif method == "initialize" and message.error.code == METHOD_NOT_FOUND:
                message.error = only_modern(message.error)
        if isinstance(message, JSONRPCRequest):
            self._asked_for[message.id] = call_id = self._call_id(message.params or {}, context)
            self._keep(call_id, message, raw, sent=False)
        return True

    def _clean(self, answer: JSONRPCResponse, method: str | None) -> None:
        match method:
            case "tools/list":
                answer.result, rejected = clean_listing(answer.result)
                self.rejected += rejected
            case "tools/call":
                answer.result = clean_result(answer.result)
            case "prompts/get":
                answer.result = clean_prompt(answer.result)
            case _:
                pass

    def _hide_secrets(self, message: JSONRPCMessage) -> bool:
        """A server may give back what mcp.json gave it: no result, no log line and no description holds it. Whether
        there was any."""
        if isinstance(message, JSONRPCError):
            said, message.error.message = message.error.message, self._without_secrets(message.error.message)
            data, message.error.data = message.error.data, self._without_secrets(message.error.data)
            return said != message.error.message or data != message.error.data
        if isinstance(message, JSONRPCResponse):
            had, message.result = message.result, self._without_secrets(message.result)
            return had is not message.result
        given, message.params = message.params, self._without_secrets(message.params)
        return given is not message.params

    def asking(self) -> tuple[WireCall | None, list[WireCall]]:
        """For a request of the server that is being answered: the call it belongs to, if that is known, and those
        that may be waiting for the answer."""
        call = self._calls.whose({}, contextvars.copy_context())
        return call, [call] if call is not None else self._calls.running()

    def _call_id(self, params: dict[str, Any], context: contextvars.Context | None) -> str:
        call = self._calls.whose(params, context)
        return call.call_id if call is not None else ""

    def _keep(self, call_id: str, message: JSONRPCMessage, raw: bytes, *, sent: bool) -> None:
        fields = message.__dict__
        kept, size = to_keep(message, raw)
        method, id = fields.get("method", ""), fields.get("id")
        self._traffic.keep(kept, _KINDS[type(message)], method, id, sent, call_id, size)

    def _progress(self, params: dict[str, Any]) -> bool:
        call = self._calls.of_token(params.get("progressToken"))
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
        candidates, sure = self._calls.candidates(params, context)
        for call in candidates:
            call.logged(known, text if sure else f"{self._server}: {text}", sure=sure)
        if not (sure and candidates):
            self._server_log(known, text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class _WatchedRead:
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
                if self._wire.received(item, self.last_context):
                    return item
        except Exception:
            self._wire.ended.set()  # EndOfStream, or the stream was closed under us
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
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

    def __init__(self, inner: MessagesOut, wire: Wire) -> None:
        self._inner = inner
        self._wire = wire

    async def send(self, item: SessionMessage, /) -> None:
        raw = self._wire.sending(item.message)
        await self._inner.send(WireMessage(item.message, item.metadata, raw))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()

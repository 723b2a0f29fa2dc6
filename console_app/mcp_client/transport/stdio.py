"""MCP's stdio transport over a ServerProcess: lines to messages and back, forgiving of what servers write.

Bytes that aren't UTF-8, a byte order mark, lone surrogates and stray lines on stdout are tolerated. An answer that
can't be read, or is over the limit, fails the one request it answers, which would wait else.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio
import mcp_types as types
from anyio.abc import ObjectSendStream
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from console_app.mcp_client.transport.cutting import LARGE, fewer, forgiven
from console_app.mcp_client.transport.lines import (
    LARGEST_LINE,
    Oversized,
    ProgressFlood,
    SpreadLines,
    find_id,
    members,
    weight,
)
from console_app.mcp_client.transport.process import Log, ServerProcess
from console_app.mcp_client.transport.wire_message import Streams, WireMessage
from console_app.records import dataclass, field

_PATIENCE: Final = 0.3  # seconds for the answer before it is asked whether anybody is there
_BEHIND: Final = 0.2  # seconds that the answer may come behind that to the ping
_PING: Final = "fanout-ping"
ToSdk = MemoryObjectSendStream[SessionMessage | Exception]
GARBAGE_LINES = 200  # that are logged; without one message among them, this is no MCP server
MOST_GARBAGE = 64 * 2**20  # bytes that lines take which stand between two messages
_TURN = 2**14  # bytes of lines that are read before the rest of the program has its turn
REST = 0.004  # seconds that it has then to itself, where all was nonsense: to end 256 calls takes thousands of turns


@dataclass(eq=False)
class _SilentServer:
    """Tells a server that ignores what it doesn't know from one that is slow to start, during one handshake.

    `write` sends a request to the server, `deliver` hands the SDK the answer that the server didn't give. The newest
    handshake opens with a request that older servers refuse; some say nothing, and the SDK waits ten seconds for them.
    All of them know a ping, and answer in order. It goes in the newest protocol's envelope. A server that speaks both
    protocols (the TypeScript SDK's, when it starts slowly) keeps to that of the first request that isn't a question. A
    plain ping made it speak an older one than it had agreed to.
    """

    _write: Callable[[types.JSONRPCRequest], Awaitable[None]]
    _deliver: Callable[[types.JSONRPCMessage], Awaitable[None]]
    _probe: int | str | None = None
    _alive: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def sent(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest) and message.method == "server/discover" and self._task is None:
            self._probe = message.id
            ping = types.JSONRPCRequest(jsonrpc="2.0", id=_PING, method="ping", params=message.params)
            self._task = asyncio.create_task(self._watch(message.id, ping), name="mcp-silent-server")

    def heard(self, message: types.JSONRPCMessage) -> bool:
        """Take note of a message from the server; return whether it is for us alone."""
        identifier = getattr(message, "id", None)
        if identifier == _PING and not hasattr(message, "method"):
            if isinstance(message, types.JSONRPCError) and message.error.code == types.METHOD_NOT_FOUND:
                self.close()  # it says so of what it doesn't know, and speaks a protocol without pings: it will answer
            self._alive.set()
            return True
        if self._probe is not None and identifier == self._probe and not hasattr(message, "method"):
            self.close()
        return False

    def close(self) -> None:
        self._probe = None
        if self._task is not None:
            self._task.cancel()

    async def _watch(self, probe: int | str, ping: types.JSONRPCRequest) -> None:
        await asyncio.sleep(_PATIENCE)
        await self._write(ping)
        await self._alive.wait()
        await asyncio.sleep(_BEHIND)
        unknown = types.ErrorData(code=types.METHOD_NOT_FOUND, message="Method not found")
        await self._deliver(types.JSONRPCError(jsonrpc="2.0", id=probe, error=unknown))


class StdioFault(Exception):
    """The server's output makes no sense: the connection can't go on. One line, for people."""


class StdioConversation:
    """The server's output as the SDK's messages. `garbage` is the first line that was none, or ""."""

    def __init__(self, process: ServerProcess, log: Log) -> None:
        self._process = process
        self._log = log
        self._messages = 0
        self._garbage_lines = 0
        self._garbage_size = 0  # since the last message
        self._spread = SpreadLines()
        self.garbage = ""
        self.fault = ""  # why reading was given up

    @asynccontextmanager
    async def transport(self) -> AsyncGenerator[Streams]:
        """Yield the streams the SDK reads and writes. The process itself is ended by its owner."""
        to_sdk, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        writer = _StdioWriter(self._process)

        async def deliver(message: types.JSONRPCMessage) -> None:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the session is gone
                await to_sdk.send(SessionMessage(message))

        writer.handshake = handshake = _SilentServer(lambda message: writer.send(SessionMessage(message)), deliver)
        reader = asyncio.create_task(self._read(to_sdk, handshake), name="mcp-stdio-read")
        try:
            yield from_server, writer
        finally:
            handshake.close()
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            to_sdk.close()
            from_server.close()

    async def _read(self, to_sdk: ToSdk, handshake: _SilentServer) -> None:
        flood, read = ProgressFlood(), 0
        async with to_sdk:
            try:
                while (line := await self._process.receive()) is not None:
                    read += weight(line)
                    if read > _TURN:
                        read = 0
                        await asyncio.sleep(REST if self._garbage_size > _TURN else 0)
                    if isinstance(line, bytes) and flood.holds(line) and self._process.waiting:
                        continue
                    taken = flood.take()
                    for each in taken if taken and taken[-1] is line else [*taken, line]:
                        await self._pass_on(each, to_sdk, handshake, flood.replaced())
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass  # the session is gone
            except StdioFault as fault:
                self.fault = str(fault)
                self._log.write_line(self.fault)

    async def _pass_on(
        self, line: bytes | Oversized, to_sdk: ToSdk, handshake: _SilentServer, passed_over: int
    ) -> None:
        self._garbage_size += weight(line)
        known = self._spread.joined
        for each in self._spread.take(line) if isinstance(line, bytes) else [line]:
            await self._read_one(each, to_sdk, handshake, passed_over)
        if self._spread.joined and not known:
            self._log.write_line("its messages are spread over several lines, which MCP forbids: they are joined")

    async def _read_one(
        self, line: bytes | Oversized, to_sdk: ToSdk, handshake: _SilentServer, passed_over: int
    ) -> None:
        if isinstance(line, bytes) and len(line) >= LARGE:
            line = await asyncio.to_thread(fewer, line)
        if isinstance(line, bytes) and line.lstrip().startswith(b"["):
            batch = await asyncio.to_thread(members, line)
            for each in batch:
                await self._read_one(each, to_sdk, handshake, 0)
            line = b"" if batch else line
        message = self._oversized(line) if isinstance(line, Oversized) else self._message(line)
        if self._garbage_size > MOST_GARBAGE:
            raise StdioFault(f"wrote more than {MOST_GARBAGE // 2**20} MB in a row that hold no MCP message")
        if isinstance(message, WireMessage):
            message.passed_over = passed_over
        if message is not None and not handshake.heard(message.message):
            await to_sdk.send(message)

    def _message(self, line: bytes) -> SessionMessage | None:
        line = line.strip().removeprefix(b"\xef\xbb\xbf")
        if not line:
            return None
        try:
            message = decode(line)
        except (ValueError, RecursionError) as error:
            return self._unreadable(line, error)
        self._messages += 1
        self._garbage_size = 0
        return message

    def _unreadable(self, line: bytes, error: Exception) -> SessionMessage | None:
        request = find_id(line[:4096], line[-4096:])
        start = ""
        if self._garbage_lines < GARBAGE_LINES:
            start = " ".join(line[:400].decode("utf-8", "replace").split())[:120]
            self._log.write_line(f"not an MCP message on stdout: {start}")
        if request is not None:
            # pydantic lists a reason for each kind of message.
            reason = (
                _problem_of_an_answer(error) if isinstance(error, ValidationError) else str(error).partition("\n")[0]
            )
            return _failure(request, f"The server's answer can't be read as JSON-RPC ({reason[:120]}).")
        self.garbage = self.garbage or start
        self._garbage_lines += 1
        if self._messages == 0 and self._garbage_lines >= GARBAGE_LINES:
            raise StdioFault(f"is not an MCP server: its output starts with '{self.garbage}'")
        return None

    def _oversized(self, line: Oversized) -> SessionMessage | None:
        request = find_id(line.head, line.tail)
        limit = LARGEST_LINE // 2**20
        if line.endless:
            raise StdioFault(f"wrote a line of more than {line.size // 2**20} MB without an end")
        if request is None:
            if line.whole:
                self._log.write_line(f"a line of {line.size} bytes on stdout was thrown away: over {limit} MB")
            return None
        size = f"{line.size / 2**20:.0f} MB, and the limit is" if line.whole else "more than the limit of"
        return _failure(request, f"The result is too large: {size} {limit} MB.")


class _StdioWriter(ObjectSendStream[SessionMessage]):
    """Writes messages without ever waiting: a server that doesn't read must not hold up a cancel."""

    handshake: _SilentServer

    def __init__(self, process: ServerProcess) -> None:
        self._process = process

    async def send(self, item: SessionMessage) -> None:
        self.handshake.sent(item.message)
        data = item.raw if isinstance(item, WireMessage) else b""
        data = data or item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        try:
            self._process.send(data + b"\n")
        except OSError as error:
            raise anyio.BrokenResourceError from error
        await asyncio.sleep(0)

    async def aclose(self) -> None:
        return


def decode(line: bytes) -> WireMessage:
    """Return the message that one line holds. Raises ValueError or RecursionError when it is none."""
    try:
        return WireMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False), raw=line)
    except ValueError:
        if not line.startswith(b"{"):
            raise
        return WireMessage(types.jsonrpc_message_adapter.validate_json(forgiven(line), by_name=False))  # slower


def _failure(request: int, message: str) -> SessionMessage:
    error = types.ErrorData(code=types.INTERNAL_ERROR, message=message)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=request, error=error))


def _problem_of_an_answer(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False)
    answers = [one for one in problems if one["loc"] and one["loc"][0] in ("JSONRPCResponse", "JSONRPCError")]
    # An answer holds a result or an error: what it lacks of the other kind is none of its faults.
    found = next((one for one in answers if one["type"] != "missing"), (answers or problems)[0])
    where = ".".join(str(part) for part in found["loc"] if not str(part).startswith("JSONRPC"))
    return f"{where}: {found['msg']}" if where else found["msg"]

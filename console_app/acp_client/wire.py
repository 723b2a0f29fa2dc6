"""JSON-RPC with the program of an agent, a message a line, in order. The SDK's client takes a second to import, lets
updates overtake each other, and drops what its schema doesn't know: so the wire is read here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, cast

from console_app.domain import FanoutError, one_line, safe_text
from console_app.mcp_client import transport

MOST_STRAY = 200  # lines in a row that are no messages: then it speaks something else
MOST_OPEN = 256  # requests of an agent that wait for an answer
_TURN = 2**16  # bytes that are read before others have their turn
METHOD_NOT_FOUND, INTERNAL, AUTHENTICATION, CANCELLED = -32601, -32603, -32000, -32800

Told = Callable[[str, dict[str, Any]], None]
Asked = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


_NOBODY: tuple[asyncio.Future[Any] | None, Callable[[], None]] = (None, lambda: None)


class AgentError(FanoutError):
    title = "Agent"


class AgentRefusal(Exception):
    """An error in answer to a request."""

    def __init__(self, message: str, code: int = INTERNAL) -> None:
        super().__init__(message)
        self.code = code


class Peer:
    """The agent at the other end. `told` takes its notifications, `asked` answers its requests, several at once."""

    def __init__(self, process: transport.ServerProcess, told: Told, asked: Asked) -> None:
        self._process = process
        self._told, self._asked = told, asked
        self._number = 0
        self._open: dict[int, tuple[asyncio.Future[Any], Callable[[], None]]] = {}
        self._answering: dict[str, asyncio.Task[None]] = {}
        self._ended = ""  # why nothing more comes

    async def listen(self) -> None:
        stray, read = 0, 0
        try:
            while (line := await self._process.receive()) is not None:
                if not isinstance(line, bytes):
                    raise AgentError(f"it wrote a line of {line.size:,} bytes")
                messages = _messages(line)
                stray = 0 if messages else stray + 1
                if stray > MOST_STRAY:
                    raise AgentError("it writes lines that are no messages of the Agent Client Protocol")
                for message in messages:
                    self._take(message)
                if (read := read + len(line)) > _TURN:
                    read = 0
                    await asyncio.sleep(0)
            self._fail(f"it {await self._process.exit_reason()}")
        except AgentError as error:
            self._fail(error.detail)

    def _take(self, message: dict[str, Any]) -> None:
        method, number, given = message.get("method"), message.get("id"), safe_text.as_object(message.get("params"))
        if not isinstance(method, str):
            waiting, answered = self._open.get(number, _NOBODY) if isinstance(number, int) else _NOBODY
            if waiting is not None and not waiting.done():
                _settle(waiting, message)
                answered()
        elif number is None and method == "$/cancel_request":
            if (task := self._answering.get(json.dumps(given.get("requestId")))) is not None:
                task.cancel()
        elif number is None:
            self._told(method, given)
        elif len(self._answering) >= MOST_OPEN:
            self._answer(number, AgentRefusal("too many requests are open"))
        else:
            key = json.dumps(number)
            self._answering[key] = task = asyncio.create_task(self._reply(number, method, given), name=f"acp {method}")
            task.add_done_callback(lambda _: self._answering.pop(key, None))

    async def _reply(self, number: Any, method: str, params: dict[str, Any]) -> None:
        try:
            self._answer(number, await self._asked(method, params))
        except AgentRefusal as refused:
            self._answer(number, refused)
        except FanoutError as error:
            self._answer(number, AgentRefusal(error.line))
        except asyncio.CancelledError:
            self._answer(number, AgentRefusal("it was cancelled", CANCELLED))
            raise

    def _answer(self, number: Any, answer: dict[str, Any] | AgentRefusal) -> None:
        if isinstance(answer, AgentRefusal):
            self._send({"id": number, "error": {"code": answer.code, "message": str(answer)}})
        else:
            self._send({"id": number, "result": answer})

    def tell(self, method: str, params: dict[str, Any]) -> None:
        self._send({"method": method, "params": params})

    async def ask(
        self,
        method: str,
        params: dict[str, Any],
        seconds: float | None = None,
        answered: Callable[[], None] = lambda: None,
    ) -> dict[str, Any]:
        """Send a request and wait for its answer; `answered` is called before anything behind it is taken. Raises
        AgentRefusal with its error, AgentError where none comes."""
        if self._ended:
            raise AgentError(self._ended)
        self._number += 1
        number, answer = self._number, asyncio.get_running_loop().create_future()
        self._open[number] = answer, answered
        try:
            self._send({"id": number, "method": method, "params": params})
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            raise AgentError(f"it did not answer {method} within {seconds:g} s") from None
        finally:
            self._open.pop(number, None)

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self._process.send(json.dumps({"jsonrpc": "2.0", **message}, default=str).encode() + b"\n")
        except BrokenPipeError as error:
            self._fail(str(error) or "it reads nothing more")

    def _fail(self, why: str) -> None:
        self._ended = self._ended or why
        for waiting, _ in self._open.values():
            if not waiting.done():
                waiting.set_exception(AgentError(self._ended))

    async def close(self) -> None:
        tasks = list(self._answering.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _messages(line: bytes) -> list[dict[str, Any]]:
    try:
        read: Any = json.loads(line)
    except (ValueError, RecursionError):
        return []
    listed = cast("list[Any]", read) if isinstance(read, list) else [read]
    return [cast("dict[str, Any]", one) for one in listed if isinstance(one, dict) and ("method" in one or "id" in one)]


def _settle(waiting: asyncio.Future[Any], message: dict[str, Any]) -> None:
    error, result = message.get("error"), message.get("result")
    if error is not None:
        about = safe_text.as_object(error)
        data = about.get("data")
        details = cast("dict[str, Any]", data).get("details") if isinstance(data, dict) else data
        words = ": ".join(str(one) for one in (about.get("message"), details) if one)
        code = about.get("code")
        waiting.set_exception(
            AgentRefusal(one_line(words or "no reason", 500), code if isinstance(code, int) else INTERNAL)
        )
    else:
        waiting.set_result(result if isinstance(result, dict) else {})

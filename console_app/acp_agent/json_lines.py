"""An editor's messages as lines of JSON: the Transport for the SDK's connection, whose own leaves non-JSON unanswered,
ends at a message that is no object, and keeps lines of any length. Standard input is read in a thread: a file or a
terminal can't be waited for."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from typing import Any, Protocol, cast

from acp.meta import AGENT_METHODS, CLIENT_METHODS
from acp.schema import SessionNotification
from acp.utils import serialize_params

from console_app.acp_agent.draft import CANCEL_CALL, DraftVersion, table
from console_app.domain import safe_text

LONGEST = 64 * 1024 * 1024  # characters of a message: pictures come in it, a third larger than they are
_AHEAD = 64  # messages that are read before they are wanted
_PIECE = 1 << 20
_INVALID, _BROKEN = -32600, -32700

Message = dict[str, Any]


class LineOutput(Protocol):
    def out(self, text: str) -> None: ...

    async def drain(self) -> None:
        """Returns when there is room for more."""


class JsonLines:
    """Reads and writes the messages of one editor, each a line of JSON. They are read from `descriptor`."""

    def __init__(self, output: LineOutput, descriptor: int = 0) -> None:
        self._output = output
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._arrived: asyncio.Queue[Message | int | None] = asyncio.Queue(_AHEAD)
        self._draft = DraftVersion()
        self.offers: frozenset[str] = frozenset()  # what the editor takes that the SDK's schema has no word for
        self._numbers: dict[asyncio.Task[Any], int] = {}  # requests of ours, by the task that waits for an answer
        self._prompts: dict[Any, Any] = {}  # the conversations of prompts that have no answer yet, by request
        self._behind: dict[asyncio.Task[Any], Callable[[], None]] = {}
        threading.Thread(target=self._read, name="editor", daemon=True).start()

    async def receive(self) -> Message | None:
        while (message := await self._arrived.get()) is not None:
            if not isinstance(message, int):
                for one in self._draft.read(message):
                    if (meant := self._meant(one)) is not None:
                        return meant
                if "method" not in message:
                    self._write(self._draft.answered(message.get("id")))
                continue
            what = "a message is one object of JSON on one line" if message == _INVALID else "that is no JSON"
            self._put({"id": None, "error": {"code": message, "message": what}})
        return None

    async def send(self, message: Message) -> None:
        """Send a message; only what a turn tells waits for room. A request is known by its task, to be taken back."""
        task = asyncio.current_task()
        assert task is not None
        if "method" in message and "id" in message:
            self._numbers[task] = message["id"]
            task.add_done_callback(self._forget)
        self._put(message)
        if "method" not in message:  # an answer: requests have numbers of ours
            self._prompts.pop(message.get("id"), None)
            if (then := self._behind.pop(task, None)) is not None and "result" in message:
                then()

    def behind_the_answer(self, then: Callable[[], None]) -> None:
        """Call `then` once the request that this task answers has a result."""
        if (task := asyncio.current_task()) is not None:
            self._behind[task] = then

    async def close(self) -> None:
        """Standard input and output are not ours to close."""

    def tell(self, session_id: str, update: Any) -> None:
        """Tell of an update, behind all that was sent before; one that the SDK has no type for comes as its JSON."""
        if isinstance(update, dict):
            params: Message = {"sessionId": session_id, "update": update}
        else:
            params = serialize_params(SessionNotification(session_id=session_id, update=update))
        self._put({"method": CLIENT_METHODS["session_update"], "params": params})

    def accepted(self, session_id: str) -> None:
        self._write(self._draft.accepted(session_id))

    async def room(self) -> None:
        await asyncio.sleep(0)
        await self._output.drain()

    def _meant(self, message: Message) -> Message | None:
        """Return the message as the SDK is to have it, or None. It knows no `$/` methods: cancelling a prompt's request
        becomes a `session/cancel`, any other runs to its end."""
        method, known = message.get("method"), safe_text.as_object(message.get("params"))
        if method == AGENT_METHODS["session_prompt"]:
            self._prompts[message.get("id")] = known.get("sessionId")
        if method == AGENT_METHODS["initialize"]:
            can = table(table(known.get("clientCapabilities")).get("session"))
            self.offers = frozenset(key for key, value in can.items() if value is not None)
        own = (AGENT_METHODS["session_delete"], AGENT_METHODS["logout"], *([CANCEL_CALL] if self._draft.on else []))
        if method in own:
            return {**message, "method": f"_{method}"}  # the SDK has no way to it but that of extensions
        if not isinstance(method, str) or not method.startswith("$/"):
            return message
        number = known.get("requestId")
        session = self._prompts.get(number) if isinstance(number, str | int | float) else None
        if method != "$/cancel_request" or session is None:
            return None
        return {"jsonrpc": "2.0", "method": AGENT_METHODS["session_cancel"], "params": {"sessionId": session}}

    def _forget(self, task: asyncio.Task[Any]) -> None:
        number = self._numbers.pop(task)
        if task.cancelled():
            self._put({"method": "$/cancel_request", "params": {"requestId": number}})

    def _put(self, message: Message) -> None:
        self._write(self._draft.written(message))

    def _write(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._output.out(safe_text.json_line({"jsonrpc": "2.0"} | message) + "\n")

    # -- in a thread

    def _read(self) -> None:
        try:
            for line in lines(lambda: os.read(self._descriptor, _PIECE)):
                if (message := read(line)) is not None:
                    asyncio.run_coroutine_threadsafe(self._arrived.put(message), self._loop).result()
            asyncio.run_coroutine_threadsafe(self._arrived.put(None), self._loop).result()
        except (RuntimeError, CancelledError):
            pass  # the loop has ended: nobody waits any more


def lines(piece: Callable[[], bytes]) -> Iterator[bytes | None]:
    """Yield the lines of pieces, up to an empty one or an OSError; None for one that is too long."""
    kept: list[bytes] = []
    size = 0
    while True:
        try:
            new = piece()
        except OSError:
            new = b""
        *ends, rest = new.split(b"\n")
        for end in ends:
            yield b"".join((*kept, end)) if size + len(end) <= LONGEST else None
            kept, size = [], 0
        size += len(rest)
        kept = [*kept, rest] if size <= LONGEST else []
        if not new:
            yield b"".join(kept) if size <= LONGEST else None
            return


def read(line: bytes | None) -> Message | int | None:
    """Return the message of a line, or the code of its error; None for an empty line."""
    if line is None:
        return _INVALID
    if not line.strip():
        return None
    try:
        value: Any = json.loads(line.decode())
        if b"\\ud" in line.lower():
            value = json.loads(safe_text.encodable(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return _BROKEN
    if not isinstance(value, dict):
        return _INVALID
    message = cast("Message", value)
    method, number = message.get("method"), message.get("id")
    if method is None:  # an answer: only what can be a number of ours
        return message if isinstance(number, int) else None
    return (
        message if isinstance(method, str) and (number is None or isinstance(number, str | int | float)) else _INVALID
    )

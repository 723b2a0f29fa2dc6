"""Starts the interpreter's process, and carries calls and their results to and fro."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from console_app.domain import Outcome, ToolResult, errors

SECONDS = 30  # of the program's own work
MEMORY = 64 * 2**20  # bytes
CALLS = 256
MOST_PRINTED = 20_000  # characters of what it prints that the model reads
_LINE = 2**26  # bytes of one message
_KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR")  # of the environment: none of it may hold a secret

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


class Runner:
    """Runs programs, a process each. Implements `domain.ports.ProgramRunner`."""

    @classmethod
    def installed(cls) -> Self | None:
        """Return a runner; None where the interpreter is not installed."""
        return cls() if find_spec("pydantic_monty") else None

    async def run(
        self, code: str, functions: Mapping[str, Sequence[str]], call: Call, told: Callable[[str, int], None]
    ) -> ToolResult:
        """Run a program to its end; cancelled, its process ends with it.

        `functions` are the names that it may call, with their parameters in order. `call` makes a call and returns a
        value that JSON can hold, or raises ToolError. `told` hears what the program prints, and the line it is at.
        """
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            str(Path(__file__).with_name("worker.py")),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LINE,
            env={name: value for name, value in os.environ.items() if name in _KEPT},
            start_new_session=True,
        )
        try:
            return await _Run(process, call, told).result(code, functions)
        finally:
            _kill(process)
            await process.communicate()  # closes its pipes, and takes its end


class _Run:
    """One program on its process."""

    def __init__(self, process: asyncio.subprocess.Process, call: Call, told: Callable[[str, int], None]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._call = call
        self._told = told
        self._printed: list[str] = []
        self._left_out = 0
        self._calls: set[asyncio.Task[None]] = set()

    async def result(self, code: str, functions: Mapping[str, Sequence[str]]) -> ToolResult:
        given = {"code": code, "functions": functions, "seconds": SECONDS, "memory": MEMORY, "calls": CALLS}
        self._send(given)
        try:
            last = await self._followed()
        finally:  # calls that the program did not wait for end with it
            for task in self._calls:
                task.cancel()
        if last is None:
            return _failed("The interpreter ended before the program did.", self._text())
        if "error" in last:
            return _failed(last["error"], self._text())
        value = last["value"]
        return ToolResult(outcome=Outcome.SUCCEEDED, content=self._text("" if value is None else value))

    async def _followed(self) -> dict[str, Any] | None:
        """Take what the program says until it ends; None where its process ended first."""
        while line := await self._out.readline():
            said: dict[str, Any] = json.loads(line)
            if "print" in said:
                self._print(said["print"])
            elif "call" in said:
                self._told("", said["line"])
                task = asyncio.create_task(self._answer(said["call"], said["name"], said["arguments"]))
                self._calls.add(task)
                task.add_done_callback(self._calls.discard)
            elif "at" in said:
                self._told("", said["at"])
            else:
                return said
        return None

    async def _answer(self, number: int, name: str, arguments: dict[str, Any]) -> None:
        try:
            self._send({"id": number, "value": await self._call(name, arguments)})
        except errors.ToolError as error:
            self._send({"id": number, "error": error.detail})

    def _send(self, message: dict[str, Any]) -> None:
        self._in.write(json.dumps(message).encode() + b"\n")

    def _print(self, text: str) -> None:
        self._told(text, 0)
        room = MOST_PRINTED - sum(map(len, self._printed))
        self._printed.append(text[:room])
        self._left_out += max(0, len(text) - room)

    def _text(self, value: str = "") -> str:
        printed = "".join(self._printed).rstrip("\n")
        left_out = f"[Fanout: {self._left_out:,} characters more were printed]" if self._left_out else ""
        return "\n".join(part for part in (printed, left_out, value) if part)


def _failed(error: str, printed: str) -> ToolResult:
    content = f"The program failed.\n{error}" + (f"\nIt had printed:\n{printed}" if printed else "")
    return ToolResult(outcome=Outcome.FAILED, content=content, error=error.strip().splitlines()[-1])


def _kill(process: asyncio.subprocess.Process) -> None:
    """End the process with all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass

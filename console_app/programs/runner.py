"""Starts the interpreter's process, and carries calls and their results to and fro.

Before the calls of a wait are made, the state of the program is in a file beside its session. So a program whose
console was killed goes on from there, and what a call of it gave is not asked for again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from console_app.config.files import disk
from console_app.config.machine import child_programs
from console_app.domain import ConfigError, Outcome, ToolResult, errors, one_line, plural, ports

SECONDS = 30  # of the program's own work
MEMORY = 64 * 2**20  # bytes
CALLS = 256
MOST_NAMED = 8  # functions, where one is not known
MOST_PRINTED = 20_000  # characters of what it prints that the model reads
MODULES = "json, re, math, datetime, asyncio, collections, itertools, functools, random, time, typing, decimal, csv"
# For a model that wrote what the interpreter doesn't do: words of the error, and what to write in its place.
_ADVICE = (
    ("support yield", "Build a list and return it in place of yield."),
    ("'del' statement", "Use pop(), or make a new dict or list without the element."),
    ("async with", "Leave it out: asyncio.gather runs calls in parallel, as many at once as may run."),
    ("'asyncio' has no attribute", "Of asyncio there are gather and run: gather runs calls in parallel."),
    ("sleep' is not supported", "A program can't wait for a time: leave it out."),
    ("is not supported in this environment|Permission denied", "Call a tool for what is outside of the program."),
    ("No module named", f"There are no other modules than {MODULES} and the like."),
    ("'sys' has no attribute", "Let the program come to its end, or raise an error."),
    ("name 'fanout_program'", "A program starts no other: define a function."),
    ("forget to import", ""),  # which says it already
    ("name '.*' is not defined", "Tools are {those}."),
    ("time limit exceeded", "Leave long computations to tools, and look for a loop that doesn't end."),
    ("memory limit exceeded", "Keep less: sum up each result as it comes."),
    ("at most .* calls", "Make fewer calls, or several programs."),
)
_LINE = 2**26  # bytes of one message
_KEPT_FOR = 30 * 86_400  # seconds that a program whose console was killed may wait for being taken up
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")  # of the environment: none of it may hold a secret

_Makes = Callable[[ports.ProgramCall], asyncio.Future[ToolResult]]

log = logging.getLogger(__name__)


class Runner:
    """Runs programs, a process each. Implements `domain.ports.ProgramRunner`; `folder` keeps those that wait."""

    def __init__(self, folder: Path | None = None, seconds: float = SECONDS) -> None:
        self._folder = folder
        self._seconds = seconds
        self._swept = False
        self._spare: asyncio.Task[asyncio.subprocess.Process] | None = None

    @classmethod
    def installed(cls, folder: Path | None = None) -> Self | None:
        """Return a runner; None where the interpreter is not installed."""
        return cls(folder) if find_spec("pydantic_monty") else None

    def warm(self) -> None:
        """Start a process ahead of the program that is being written."""
        if self._spare is None:
            self._spare = asyncio.create_task(_started(self._seconds), name="interpreter")

    async def rest(self) -> None:
        """End a process that was started ahead and that no program came for."""
        if (spare := self._spare) is not None:
            self._spare = None
            with suppress(OSError):
                await child_programs.end(await spare)

    def is_paused(self, key: str) -> bool:
        """Tell whether a program waits under this key since its console was killed."""
        return bool(key) and (path := self._path(key)) is not None and path.is_file()

    async def run(self, program: ports.ProgramToRun, call: _Makes, reporter: ports.CallReporter) -> ToolResult:
        """Run a program to its end; cancelled, its process ends with it."""
        path = self._path(program.key) if program.key else None
        spare, self._spare = self._spare, None
        process = await (_started(self._seconds) if spare is None else spare)
        try:
            return await _Run(process, call, reporter, path).result(program)
        finally:
            if path is not None:
                path.unlink(missing_ok=True)
            await child_programs.end(process)

    def _path(self, key: str) -> Path | None:
        if self._folder is None:
            return None
        if not self._swept:
            self._swept = True
            with suppress(OSError):
                for path in self._folder.iterdir():
                    if time.time() - path.stat().st_mtime > _KEPT_FOR:
                        path.unlink(missing_ok=True)
        return self._folder / hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class _Run:
    """A program on the process that runs it."""

    def __init__(
        self, process: asyncio.subprocess.Process, call: _Makes, reporter: ports.CallReporter, path: Path | None
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._call = call
        self._reporter = reporter
        self._path = path
        self._printed: list[str] = []
        self._room_taken = self._left_out = 0
        self._made: dict[int, dict[str, Any]] = {}  # its calls, by the interpreter's number
        self._calls: set[asyncio.Future[ToolResult]] = set()
        self._unsent: list[dict[str, Any]] = []
        self._ended = 0  # calls

    async def result(self, program: ports.ProgramToRun) -> ToolResult:
        kept = _read(self._path) if program.goes_on and self._path is not None else {}
        self._printed, self._left_out = kept.get("printed", []), kept.get("left_out", 0)
        self._room_taken = sum(map(len, self._printed))
        earlier: list[dict[str, Any]] = kept.get("open", [])
        given = {
            "code": program.code,
            "functions": program.functions,
            "keeps": self._path is not None,
            "state": kept.get("state", ""),
            "open": [one["id"] for one in earlier],
            "made": kept.get("made", 0),
        }
        self._in.write(f"{json.dumps(given)}\n".encode())
        self._begin(earlier, earlier=True)
        try:
            last = await self._followed([*program.code.splitlines(), ""])
        finally:  # calls that the program did not wait for end with it
            for call in [*self._calls]:
                call.cancel()
        if last is None:
            return _failed("The interpreter ended before the program did.", self._text())
        if "error" in last:
            return _failed(last["error"], self._text(), program.functions)
        value = last["value"]
        idle = f"[Fanout: {plural(last['idle'], 'call')} without await did not run]" if last["idle"] else ""
        return ToolResult(outcome=Outcome.SUCCEEDED, content=self._text(idle, "" if value is None else value))

    async def _followed(self, lines: Sequence[str]) -> dict[str, Any] | None:
        """Take what the program says until it ends; None where its process ended first."""
        while line := await self._out.readline():
            said: dict[str, Any] = json.loads(line)
            if "print" in said:
                self._print(said["print"])
            elif "line" in said:
                text, took = one_line(lines[int(said["line"]) - 1].strip(), 100), f"{said['seconds']:.2f} s"
                where = f"line {said['line']}: {text} · {took}, {said['memory'] / 2**20:.0f} MB"
                self._reporter.progress(0, None, where)
                if calls := said["calls"]:
                    self._made.update((one["id"], one) for one in calls)
                    await self._keep(said)
                    self._begin(calls)
            else:
                return said
        return None

    async def _keep(self, said: dict[str, Any]) -> None:
        """Keep the program where it is now, before any of its new calls is made."""
        if self._path is None:
            return
        kept = {
            "state": said["state"],
            "open": [self._made[id] for id in said["open"]],
            "made": 1 + max(one["number"] for one in said["calls"]),
            "printed": self._printed,
            "left_out": self._left_out,
        }
        try:
            if not said["state"]:
                raise ConfigError("its state is too large")
            await asyncio.to_thread(disk.write_private, self._path, json.dumps(kept))
        except ConfigError as error:
            log.warning("a program that waits is not kept: %s", error)
            self._path.unlink(missing_ok=True)  # from an older state it would make calls twice

    def _begin(self, calls: list[dict[str, Any]], *, earlier: bool = False) -> None:
        for one in calls:
            self._made[one["id"]] = one
            made = ports.ProgramCall(one["number"], one["name"], one["arguments"], earlier)
            try:
                self._calls.add(call := self._call(made))
                call.add_done_callback(partial(self._over, one["id"]))
            except errors.ToolError as error:
                self._answer(one["id"], error=error.detail)

    def _over(self, id: int, call: asyncio.Future[ToolResult]) -> None:
        self._calls.discard(call)
        if call.cancelled():
            return
        result = call.result()
        if result.outcome is not Outcome.SUCCEEDED:
            self._answer(id, error=result.content)
        elif (given := result.structured) is None:
            self._answer(id, value=result.content)
        else:
            self._answer(id, value=given["result"] if given.keys() == {"result"} else given)

    def _answer(self, id: int, **answer: Any) -> None:
        if not self._unsent:  # one write and one word for all of this round of the loop: each wakes others
            asyncio.get_running_loop().call_soon(self._flush)
        self._unsent.append({"id": id, **answer})

    def _flush(self) -> None:
        self._ended += len(self._unsent)
        self._reporter.progress(self._ended, None, None)
        self._in.write(f"{json.dumps(self._unsent)}\n".encode())
        self._unsent.clear()

    def _print(self, text: str) -> None:
        self._reporter.log("info", text.rstrip("\n"))
        room = MOST_PRINTED - self._room_taken
        if room > 0:
            self._printed.append(text[:room])
            self._room_taken += len(self._printed[-1])
        self._left_out += max(0, len(text) - max(room, 0))

    def _text(self, *more: str) -> str:
        printed = "".join(self._printed).rstrip("\n")
        left_out = f"[Fanout: {self._left_out:,} characters more were printed]" if self._left_out else ""
        return "\n".join(part for part in (printed, left_out, *more) if part)


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise errors.ToolError(f"the program that waited can't be read: {error}") from None


def _failed(error: str, printed: str, functions: Collection[str] = ()) -> ToolResult:
    last = error.strip().splitlines()[-1]
    some = ", ".join([*functions][:MOST_NAMED]) + (", …" if len(functions) > MOST_NAMED else "")
    those = f"the functions {some}" if some else "functions called SERVER_TOOL, as calculator_evaluate"
    advice = next((words for found, words in _ADVICE if re.search(found, last)), "").format(those=those)
    parts = ["The program failed.", error, advice, *(["It had printed:", printed] if printed else [])]
    return ToolResult(outcome=Outcome.FAILED, content="\n".join(filter(None, parts)), error=last)


async def _started(seconds: float) -> asyncio.subprocess.Process:
    return await child_programs.start(
        sys.executable,
        "-I",
        str(Path(__file__).with_name("worker.py")),
        json.dumps({"seconds": seconds, "memory": MEMORY, "calls": CALLS}),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=_LINE,
        env={name: value for name, value in os.environ.items() if name in _KEPT},
    )

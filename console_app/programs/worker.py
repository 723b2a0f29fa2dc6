"""Runs one program in a process of its own: lines of JSON in, lines of JSON out. Started as a file, so that it loads
nothing but the interpreter; its argument is JSON of the limits.

In: one line `{"code", "functions": {NAME: [PARAMETER, …]}, "keeps", "state", "open", "made"}`, where a parameter `**`
stands for any other name, then lists of `{"id", "value"}` or `{"id", "error"}`, of calls. Out: `{"print": TEXT}`; where
it waits `{"line", "seconds", "memory", "calls": [{"id", "number", "name", "arguments"}], "open": [ID], "state"}`, with
the calls that it made since it waited last, their arguments as JSON, and those whose answer it hasn't had; and at the
end `{"value": TEXT, "idle": N}` or `{"error": TEXT}`. A value that JSON can't hold goes out as its `repr`. A call is
made where the program waits, as a coroutine runs where it is awaited: `idle` ones never were.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import pydantic_monty as monty

LOOKUPS = 2_000  # names that are looked up and waits, beside the calls
LARGEST_STATE = 2**24  # bytes of a paused program that are kept


def say(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields, default=repr) + "\n")
    sys.stdout.flush()


class RunningProgram:
    """A run of a program. Calls are answered in any order; whatever is there resumes the program."""

    def __init__(
        self, given: dict[str, Any], most: int, answers: SimpleQueue[list[dict[str, Any]]], process: int
    ) -> None:
        self._code: str = given["code"]
        self._functions: dict[str, list[str]] = given["functions"]
        self._state = base64.b64decode(given["state"])
        self._keeps: bool = given["keeps"]
        self._made: int = given["made"]
        self._open: set[int] = set(given["open"])  # calls whose answer the program hasn't had
        self._most = most
        self._answers = answers
        self._process = process  # of the interpreter
        self._seconds = 0.0  # of its own work
        self._new: list[dict[str, Any]] = []  # calls since it waited last
        self._there: dict[int, Any] = {}  # answers that no wait of the program has taken yet

    def run(self, session: Any) -> None:
        """Run it to its end, from where its state was kept if it is one. Raises MontyError."""
        known = dict.fromkeys(self._functions, _never)
        if self._state:
            state = session.load_snapshot(self._state, external_lookup=known, print_callback=_printed)
        else:
            state = self._timed(session.feed_start, self._code, external_lookup=known, print_callback=_printed)
        while not isinstance(state, monty.MontyComplete):
            match state:
                case monty.FunctionSnapshot() if state.is_os_function:
                    state = self._timed(state.resume_not_handled)
                case monty.FunctionSnapshot():
                    state = self._timed(state.resume, self._call(state))
                case monty.FutureSnapshot():
                    self._waits(state)
                    answers = self._settled(state.pending_call_ids)
                    self._open -= answers.keys()
                    state = self._timed(state.resume, answers)
                case _:
                    state = self._timed(state.resume_auto)
        say(value=None if state.output is None else _text(state.output), idle=len(self._new))

    def _timed(self, work: Callable[..., Any], *given: Any, **named: Any) -> Any:
        begun = time.monotonic()
        try:
            return work(*given, **named)
        finally:
            self._seconds += time.monotonic() - begun

    def _call(self, state: Any) -> Any:
        name, known = str(state.function_name), self._functions.get(str(state.function_name))
        if known is None:
            return {"exc_type": "NameError", "message": f"name '{name}' is not defined"}
        parameters = [parameter for parameter in known if parameter != "**"]
        if self._made >= self._most:
            return {"exc_type": "RuntimeError", "message": f"a program makes at most {self._most} calls"}
        if len(state.args) > len(parameters):
            problem = f"{name}() takes {len(parameters)} arguments, and {len(state.args)} were given"
            return {"exc_type": "TypeError", "message": problem}
        if twice := set(parameters[: len(state.args)]) & set(state.kwargs):
            return {"exc_type": "TypeError", "message": f"{name}() got two values for {', '.join(sorted(twice))}"}
        arguments = dict(zip(parameters, state.args, strict=False)) | dict(state.kwargs)
        if unknown := "" if "**" in known else ", ".join(sorted(map(repr, arguments.keys() - {*parameters}))):
            return {"exc_type": "TypeError", "message": f"{name}() got an unexpected keyword argument {unknown}"}
        try:
            written = json.dumps(arguments, default=repr)
        except (TypeError, ValueError, RecursionError) as error:
            return {"exc_type": "TypeError", "message": f"{name}() takes what JSON can hold: {error}"}
        self._new.append({"id": state.call_id, "number": self._made, "name": name, "arguments": written})
        self._open.add(state.call_id)
        self._made += 1
        return {"future": ...}

    def _waits(self, state: Any) -> None:
        kept = state.dump() if self._keeps and self._new else b""
        say(
            line=self._line(state),
            seconds=self._seconds,
            memory=_memory(self._process),
            calls=self._new,
            open=sorted(self._open),
            state=base64.b64encode(kept if len(kept) <= LARGEST_STATE else b"").decode(),
        )
        self._new = []

    def _settled(self, wanted: list[int]) -> dict[int, Any]:
        """Return the answers of some of these calls: those that are there, and at least one."""
        while True:
            while not self._answers.empty() or not self._there.keys() & set(wanted):
                for answer in self._answers.get():
                    self._there[answer["id"]] = (
                        {"exc_type": "RuntimeError", "message": answer["error"]}
                        if "error" in answer
                        else {"return_value": answer["value"]}
                    )
            return {id: self._there.pop(id) for id in wanted if id in self._there}

    def _line(self, state: Any) -> int:
        return self._code.encode()[: state.position.start].count(b"\n") + 1


def _printed(_stream: str, text: str) -> None:
    say(print=text)


def _never(*_: Any, **__: Any) -> None:
    """Stand for a tool when its name is looked up: the call itself is made outside."""


def _text(value: Any) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, default=repr, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # keys that JSON has not, and what is too deep or too long for it
        return repr(value)


def _memory(process: int) -> int:
    """Return the bytes that a process holds; 0 where that can't be told."""
    try:
        with open(f"/proc/{process}/statm") as file:
            return int(file.read().split()[1]) * 4096
    except (OSError, ValueError, IndexError):
        return 0


def listen(heard: SimpleQueue[Any]) -> None:
    for line in sys.stdin.buffer:
        heard.put(json.loads(line))
    os.killpg(0, signal.SIGKILL)  # whoever asked is gone: this process and its interpreter with it


def main() -> None:
    """Runs without a loop: of a program of 256 calls, asyncio took nine tenths of the time."""
    if sys.platform == "linux":  # one core for this process and the interpreter, which take turns: no wake across two
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})
    given_limits = json.loads(sys.argv[1])
    most: int = given_limits["calls"]
    limits: monty.ResourceLimits = {
        "max_feed_duration_secs": given_limits["seconds"],
        "max_memory": given_limits["memory"],
        "max_suspensions": 4 * most + LOOKUPS,
    }
    heard = SimpleQueue[Any]()
    threading.Thread(target=listen, args=(heard,), daemon=True).start()
    with monty.Monty() as pool, pool.checkout(script_name="program", limits=limits) as session:
        try:
            RunningProgram(heard.get(), most, heard, session.worker_pid or 0).run(session)
        except (monty.MontySyntaxError, monty.MontyRuntimeError) as error:
            say(error=error.display("traceback").replace('File "<python-input-0>"', "The program"))
        except monty.MontyError as error:
            say(error=str(error) or type(error).__name__)
        except (ValueError, RecursionError) as error:
            say(error=f"{type(error).__name__}: the value of the last expression can't be written: {error}")
    os._exit(0)  # the thread still reads


if __name__ == "__main__":
    main()

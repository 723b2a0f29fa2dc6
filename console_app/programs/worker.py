"""Runs one program in a process of its own: lines of JSON in, lines of JSON out. Started as a file, so that it loads
nothing but the interpreter.

In: one line `{"code", "functions": {NAME: [PARAMETER, …]}, "seconds", "memory", "calls"}`, then `{"id", "value"}` or
`{"id", "error"}` for each call. Out: `{"print": TEXT}`, `{"call": ID, "name", "arguments", "line"}`, `{"at": LINE}`
where it waits, and at the end `{"value": TEXT}` or `{"error": TEXT}`. A value that JSON can't hold goes out as its
`repr`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pydantic_monty as monty

LOOKUPS = 2_000  # names that are looked up and waits, beside the calls


def say(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields, default=repr) + "\n")
    sys.stdout.flush()


class RunningProgram:
    """One run. Calls are answered in any order; whatever is there resumes the program."""

    def __init__(self, given: dict[str, Any], answers: asyncio.Queue[dict[str, Any]]) -> None:
        self._code: str = given["code"]
        self._functions: dict[str, list[str]] = given["functions"]
        self._most: int = given["calls"]
        self._answers = answers
        self._made = 0
        self._there: dict[int, Any] = {}  # answers that no wait of the program has taken yet

    async def run(self, session: Any) -> None:
        """Run it to its end. Raises MontyError."""
        known = dict.fromkeys(self._functions, _never)
        state = await session.feed_start(self._code, external_lookup=known, print_callback=_printed)
        while not isinstance(state, monty.MontyComplete):
            match state:
                case monty.AsyncFunctionSnapshot() if state.is_os_function:
                    state = await state.resume_not_handled()
                case monty.AsyncFunctionSnapshot():
                    state = await state.resume(self._call(state))
                case monty.AsyncFutureSnapshot():
                    say(at=self._line(state))
                    state = await state.resume(await self._settled(state.pending_call_ids))
                case _:
                    state = await state.resume_auto()
        say(value=None if state.output is None else _text(state.output))

    def _call(self, state: Any) -> Any:
        name, parameters = str(state.function_name), self._functions.get(str(state.function_name))
        self._made += 1
        if parameters is None:
            return {"exc_type": "NameError", "message": f"name '{name}' is not defined"}
        if self._made > self._most:
            return {"exc_type": "RuntimeError", "message": f"a program makes at most {self._most} calls"}
        if len(state.args) > len(parameters):
            problem = f"{name}() takes {len(parameters)} arguments, and {len(state.args)} were given"
            return {"exc_type": "TypeError", "message": problem}
        if twice := set(parameters[: len(state.args)]) & set(state.kwargs):
            return {"exc_type": "TypeError", "message": f"{name}() got two values for {', '.join(sorted(twice))}"}
        arguments = dict(zip(parameters, state.args, strict=False)) | dict(state.kwargs)
        say(call=state.call_id, name=name, arguments=arguments, line=self._line(state))
        return {"future": ...}

    async def _settled(self, wanted: list[int]) -> dict[int, Any]:
        """Return the answers of some of these calls: those that are there, and at least one."""
        while True:
            while not self._answers.empty() or not self._there.keys() & set(wanted):
                answer = await self._answers.get()
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
    return value if isinstance(value, str) else json.dumps(value, default=repr, ensure_ascii=False)


async def main() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=2**26)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    given = json.loads(await reader.readline())
    answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def listen() -> None:
        while line := await reader.readline():
            answers.put_nowait(json.loads(line))

    listening = asyncio.create_task(listen())
    limits: monty.ResourceLimits = {
        "max_feed_duration_secs": given["seconds"],
        "max_memory": given["memory"],
        "max_suspensions": 4 * given["calls"] + LOOKUPS,
    }
    try:
        async with monty.AsyncMonty() as pool, pool.checkout(script_name="program", limits=limits) as session:
            await RunningProgram(given, answers).run(session)
    except (monty.MontySyntaxError, monty.MontyRuntimeError) as error:
        say(error=error.display("traceback"))
    except monty.MontyError as error:
        say(error=str(error) or type(error).__name__)
    finally:
        listening.cancel()


if __name__ == "__main__":
    asyncio.run(main())

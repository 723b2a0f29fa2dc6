"""Runs the programs of hooks, in the protocol that others use: JSON on standard input, and an exit code or JSON back.

Those of one event run at once, each in a process group of its own that ends with it: at its limit, with the call that
it is asked about, or when it says too much. Exit code 2 blocks, any other but 0 is a fault that is only told. A hook
that gives no answer in time has the call asked about, since nobody knows what it would have said.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, cast

from console_app.config import trust
from console_app.config.machine import child_programs
from console_app.domain import one_line, ports, safe_text
from console_app.records import dataclass

MOST_SAID = 256_000  # bytes of a hook's output
MOST_CONTEXT = 10_000  # characters that go to the model
_MOST_REASON = 2_000
_AT_ONCE = 16
_LOOK = 0.05  # seconds
_DRAINING = 0.3  # seconds for the rest of its output once a hook has ended
_STRICTNESS: Mapping[str, int] = {"": 0, "allow": 1, "ask": 2, "deny": 3}
_CONTEXT_BY_TEXT = frozenset({"UserPromptSubmit", "SessionStart"})  # events whose hooks say it as plain text


@dataclass(frozen=True, slots=True)
class Ran:
    """How the run of a hook ended: its exit code, None where it gave none, and why in that case."""

    hook: trust.Hook
    code: int | None
    output: str = ""
    errors: str = ""
    fault: str = ""

    @property
    def about(self) -> str:
        return f"The hook {one_line(self.hook.command, 80)} ({self.hook.event})"


class HookRuns:
    """Runs hooks with `environ`; at most a few at once, whoever asks."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def ask(self, hooks: Sequence[trust.Hook], folder: Path, told: Mapping[str, Any], event: str) -> ports.Heard:
        """Run all of them with what they are told, and return what they say together."""
        text = json.dumps({**told, "hook_event_name": event, "cwd": str(folder)}, default=str)
        runs = await asyncio.gather(*(self._run(hook, folder, text.encode("utf-8", "replace")) for hook in hooks))
        return together([heard(run) for run in runs])

    async def _run(self, hook: trust.Hook, folder: Path, text: bytes) -> Ran:
        own = hook.folder or str(folder)
        environ = {**self._environ, "CLAUDE_PROJECT_DIR": own, "FANOUT_PROJECT_DIR": own}
        async with self._room:
            try:
                process = await child_programs.start(
                    *("/bin/sh", "-c", hook.command),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    cwd=folder,
                    env=environ,
                )
            except (OSError, ValueError) as error:
                return Ran(hook, None, fault=f"could not be started: {error}")
            try:
                async with asyncio.timeout(hook.limit):
                    return await _talked(hook, process, text)
            except TimeoutError:
                return Ran(hook, None, fault=f"gave no answer within {hook.limit:g} s, and was ended")
            finally:
                await child_programs.end(process)


async def _talked(hook: trust.Hook, process: asyncio.subprocess.Process, text: bytes) -> Ran:
    """Give a hook what it is told, and read what it says until it ends: a program that it left running may hold its
    pipes open for ever."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    said = (bytearray(), bytearray())
    reading = {asyncio.ensure_future(_read(*one)) for one in zip((process.stdout, process.stderr), said, strict=True)}
    writing, ending = asyncio.ensure_future(_write(process.stdin, text)), asyncio.ensure_future(process.wait())
    try:
        while process.returncode is None and all(len(one) <= MOST_SAID for one in said):
            running = {one for one in reading if not one.done()}
            # `wait` of the process may end only once its pipes are closed, so its exit is looked for as well.
            await asyncio.wait({*running, ending}, timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED)
        if (code := process.returncode) is not None:
            await asyncio.wait(reading, timeout=_DRAINING)
        if any(len(one) > MOST_SAID for one in said):
            return Ran(hook, None, fault=f"said more than {MOST_SAID:,} bytes, and was ended")
        output, errors = (safe_text.encodable(one.decode("utf-8", "replace")) for one in said)
        return Ran(hook, code, output, errors)
    finally:
        for one in (*reading, writing, ending):
            one.cancel()


async def _write(stream: asyncio.StreamWriter, text: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # it need not read
        stream.write(text)
        await stream.drain()
    stream.close()


async def _read(stream: asyncio.StreamReader, into: bytearray) -> None:
    while len(into) <= MOST_SAID and (more := await stream.read(65_536)):
        into += more


def heard(run: Ran) -> ports.Heard:
    event = run.hook.event
    if run.code is None:
        return _unheard(run, run.fault)
    if run.code == 2:
        reason = run.errors.strip()[:_MOST_REASON] or "no reason was given"
        if event == "SessionStart":
            return ports.Heard(notices=(f"{run.about}: {one_line(reason, 300)}",))
        return ports.Heard("deny" if event == "PreToolUse" else "", reason, block=reason)
    if run.code != 0:
        said = one_line(run.errors.strip() or run.output.strip(), 200)
        return ports.Heard(notices=(f"{run.about} failed with exit code {run.code}{f': {said}' if said else ''}.",))
    if run.output.lstrip().startswith("{"):
        return _of_json(run, event)
    return ports.Heard(context=run.output.strip()[:MOST_CONTEXT] if event in _CONTEXT_BY_TEXT else "")


def _unheard(run: Ran, why: str) -> ports.Heard:
    calls = run.hook.event == "PreToolUse"
    return ports.Heard("ask" if calls else "", f"a hook {why}" if calls else "", notices=(f"{run.about} {why}.",))


def _of_json(run: Ran, event: str) -> ports.Heard:
    try:
        found: Any = json.loads(run.output)
    except (ValueError, RecursionError):
        return _unheard(run, "wrote JSON that can't be read")
    said = safe_text.as_object(found)
    inner = safe_text.as_object(said.get("hookSpecificOutput"))
    reason = _text(inner, "permissionDecisionReason") or _text(said, "reason") or _text(said, "stopReason")
    decision = inner.get("permissionDecision") or {"approve": "allow", "block": "deny"}.get(str(said.get("decision")))
    stops = said.get("decision") == "block" or said.get("continue") is False or decision == "deny"
    permission: Literal["", "allow", "ask", "deny"] = ""
    if event == "PreToolUse":
        permission = "deny" if stops else "ask" if decision == "ask" else "allow" if decision == "allow" else ""
    changed: Any = inner.get("updatedInput", inner.get("modifiedArgs"))
    message = _text(said, "systemMessage")
    return ports.Heard(
        permission,
        reason[:_MOST_REASON],
        block=(reason[:_MOST_REASON] or "no reason was given") if stops else "",
        arguments=cast("dict[str, Any]", changed) if isinstance(changed, dict) else None,
        context=(_text(inner, "additionalContext") or _text(said, "additionalContext"))[:MOST_CONTEXT],
        notices=(f"{run.about}: {one_line(message, 300)}",) if message else (),
    )


def _text(table: Mapping[str, Any], name: str) -> str:
    value = table.get(name)
    return safe_text.encodable(value) if isinstance(value, str) else ""


def together(answers: Sequence[ports.Heard]) -> ports.Heard:
    """Return one answer for all: the strictest permission, the last change, and all words."""
    strictest = max(answers, key=lambda one: _STRICTNESS[one.permission], default=ports.Heard())
    changes = [one.arguments for one in answers if one.arguments is not None]
    return ports.Heard(
        strictest.permission,
        strictest.reason,
        block="; ".join(one.block for one in answers if one.block),
        arguments=changes[-1] if changes else None,
        context="\n\n".join(one.context for one in answers if one.context)[:MOST_CONTEXT],
        notices=tuple(notice for one in answers for notice in one.notices),
    )

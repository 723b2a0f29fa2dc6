"""The MCP servers of a headless run: started at once, waited for, and closed whatever happens; and the calls that were
typed on the command line, with the servers that they need."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from console_app.domain import Outcome, ToolResult, ToolSpec, UsageError, one_line, ports, safe_text
from console_app.engine import ManualCall
from console_app.headless.interrupts import TimeToEnd
from console_app.headless.output import OutputStreams
from console_app.mcp_client import Hub, ServerState, ServerStatus

_CLOSING = 3.0  # seconds
_DOWN = frozenset({ServerState.FAILED, ServerState.STOPPED, ServerState.NEEDS_SIGN_IN})
_PATIENCE = 5.0  # seconds of waiting for servers before it is said which


@asynccontextmanager
async def running(hub: Hub, to_end: TimeToEnd | None = None) -> AsyncGenerator[Hub]:
    """Start the servers, in the background, and close them at the end; in a hurry once `to_end` has begun."""
    to_end = to_end or TimeToEnd()
    await hub.start()
    early = asyncio.create_task(_closed_early(hub, to_end), name="servers-end")
    try:
        yield hub
    finally:
        if to_end.begun.is_set():
            closing = early
        else:
            early.cancel()
            closing = asyncio.create_task(hub.close(), name="servers-end")
        await asyncio.wait((closing,), timeout=to_end.left(_CLOSING))


async def _closed_early(hub: Hub, to_end: TimeToEnd) -> None:
    """Close the servers early: nothing calls them any more, while the output is still written."""
    await to_end.begun.wait()
    await hub.close(hurried=True)


async def settled(hub: Hub, output: OutputStreams) -> None:
    """Wait until every server is ready or has failed; say in one line each which failed, and which it waits for."""
    ready = asyncio.ensure_future(hub.ready())
    try:
        await asyncio.wait((ready,), timeout=_PATIENCE)
        if not ready.done():
            names = ", ".join(status.name for status in hub.statuses() if not status.state.settled)
            output.error_line(one_line(f"Waiting for {names} ..."))
        await ready
    finally:
        ready.cancel()
    for line in failures(hub.statuses()):
        output.error_line(line)


@asynccontextmanager
async def told_of(hub: Hub, output: OutputStreams) -> AsyncGenerator[None]:
    """Tell of servers as `settled` does, beside other work."""
    telling = asyncio.ensure_future(settled(hub, output))
    try:
        yield
        if all(status.state.settled for status in hub.statuses()):
            await telling
    finally:
        telling.cancel()


async def timed(hub: Hub) -> dict[str, float]:
    """Return the seconds from now until each server had settled and its lists were there."""
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def one(name: str) -> tuple[str, float]:
        await hub.connection(name).listed()
        return name, loop.time() - began

    return dict(await asyncio.gather(*(one(status.name) for status in hub.statuses())))


def down(statuses: Sequence[ServerStatus]) -> dict[str, str]:
    """Return the servers that could not be started, with the line that says why."""
    lines: dict[str, str] = {}
    for one in statuses:
        if one.state in _DOWN:
            hint = f". To sign in: fanout mcp auth {one.name}" if one.state is ServerState.NEEDS_SIGN_IN else ""
            lines[one.name] = one_line(f"Server {one.name} {one.state}: {one.reason}{hint}", 400)
    return lines


def failures(statuses: Sequence[ServerStatus]) -> list[str]:
    """Return one line for each server that could not be started."""
    return list(down(statuses).values())


def read_calls(words: Sequence[str]) -> list[ManualCall]:
    """Read `SERVER.TOOL JSON SERVER.TOOL JSON ...` as calls; JSON left out is {}. Raises UsageError."""
    usage = 'As: fanout call calculator.evaluate \'{"expression": "1+1"}\''
    if not words:
        raise UsageError("call needs SERVER.TOOL JSON", usage)
    calls: list[ManualCall] = []
    for number, word in enumerate(words):
        if word.lstrip().startswith("{"):
            if number == 0 or words[number - 1].lstrip().startswith("{"):
                raise UsageError(f"the arguments {word} belong to no tool", "Write SERVER.TOOL JSON.")
            calls[-1] = ManualCall(calls[-1].label, _arguments(word, calls[-1].label))
        elif "." not in word:
            raise UsageError(f'"{word}" is no SERVER.TOOL', usage)
        else:
            calls.append(ManualCall(word, {}))
    return calls


def _arguments(text: str, label: str) -> dict[str, Any]:
    try:
        value: Any = safe_text.AS_WRITTEN.decode(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"the arguments of {label} are no JSON: {error.msg} at column {error.colno}") from None
    except ValueError as error:
        raise UsageError(f"the arguments of {label} can't be taken as they are: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"the arguments of {label} have to be a JSON object")
    return cast("dict[str, Any]", value)


class NamedTools:
    """The tools of a hub, and one in place of each that a call names and that isn't there: its calls fail alone."""

    def __init__(self, hub: Hub, calls: Sequence[ManualCall]) -> None:
        self._hub = hub
        self._calls = calls
        self._missing: dict[str, str] = {}  # label -> why

    async def one_is_there(self) -> None:
        """Return once a call can be made, or can't for the reason that its server is down. Raises UsageError when no
        call names a tool that is there, or might be."""
        coming = {asyncio.create_task(self._servers_of(call.label)): call.label for call in self._calls}
        try:
            for task in asyncio.as_completed(coming):
                await task
                settled = [label for one, label in coming.items() if one.done()]
                if any(self._listed(label) or self._down(label) or self._left_out(label) for label in settled):
                    return
        finally:
            for task in coming:
                task.cancel()
        call = self._calls[0]
        raise UsageError(f"no tool is called {call.label}", call.nearest(self._known))

    async def tool_of(self, call: ManualCall) -> ToolSpec:
        """Return the tool of a call as soon as its server has it, or a stand-in for it where it isn't there."""
        await self._servers_of(call.label)
        if (spec := self._listed(call.label)) is None:
            why = self._down(call.label) or self._left_out(call.label)
            why = why or f"No tool is called {call.label}. {call.nearest(self._known)}"
            self._missing.setdefault(call.label, why)
            spec = next(one for one in self._stand_ins() if one.label == call.label)
        return spec

    async def _servers_of(self, label: str) -> None:
        names = [status.name for status in self._hub.statuses() if label.startswith(f"{status.name}.")]
        await asyncio.gather(*(self._hub.connection(name).settled() for name in names))

    def _listed(self, label: str) -> ToolSpec | None:
        return next((spec for spec in self._hub.tools() if spec.label == label), None)

    def _down(self, label: str) -> str:
        found = down(self._hub.statuses())
        return next((line for name, line in found.items() if label.startswith(f"{name}.")), "")

    def _left_out(self, label: str) -> str:
        refused = ((f"{status.name}.{one.name}", one) for status in self._hub.statuses() for one in status.rejected)
        return next((f"{label} is left out: {one_line(one.reason, 300)}" for name, one in refused if name == label), "")

    @property
    def _known(self) -> list[str]:
        return [spec.label for spec in self._hub.tools()]

    def _stand_ins(self) -> list[ToolSpec]:
        return [
            ToolSpec(name=f"missing_{number}", server=server, tool=tool)
            for number, label in enumerate(self._missing)
            for server, _, tool in (label.partition("."),)
        ]

    def tools(self) -> Sequence[ToolSpec]:
        return [*self._hub.tools(), *self._stand_ins()]

    async def call(self, invocation: ports.Invocation, reporter: ports.CallReporter) -> ToolResult:
        why = self._missing.get(invocation.spec.label)
        if why is not None:
            return ToolResult(outcome=Outcome.FAILED, content=why, error=why)
        return await self._hub.call(invocation, reporter)

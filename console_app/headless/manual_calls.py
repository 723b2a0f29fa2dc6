"""Calls that were typed on the command line: which they are, and the servers that they need."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from console_app.config.server_choice import ServerChoice
from console_app.domain.errors import UsageError
from console_app.domain.ports.toolset import CallReporter, Invocation, Toolset
from console_app.domain.tools import Outcome, ToolResult, ToolSpec
from console_app.engine.manual_calls import ManualCall


def read_calls(words: Sequence[str]) -> list[ManualCall]:
    """`SERVER.TOOL JSON SERVER.TOOL JSON ...` as calls; JSON left out is {}. Raises UsageError."""
    if not words:
        raise UsageError("it isn't said which tool", 'As: fanout call calculator.evaluate \'{"expression": "1+1"}\'')
    calls: list[ManualCall] = []
    for number, word in enumerate(words):
        if word.lstrip().startswith("{"):
            if number == 0 or words[number - 1].lstrip().startswith("{"):
                raise UsageError(f"the arguments {word} belong to no tool", "Write SERVER.TOOL JSON.")
            calls[-1] = ManualCall(calls[-1].label, _arguments(word, calls[-1].label))
        elif "." not in word:
            raise UsageError(
                f'"{word}" is no SERVER.TOOL', 'As: fanout call calculator.evaluate \'{"expression": "1+1"}\''
            )
        else:
            calls.append(ManualCall(word, {}))
    return calls


def _arguments(text: str, label: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"the arguments of {label} are no JSON: {error.msg} at column {error.colno}") from None
    if not isinstance(value, dict):
        raise UsageError(f"the arguments of {label} have to be a JSON object")
    return cast("dict[str, Any]", value)


def needed_servers(choice: ServerChoice, calls: Sequence[ManualCall]) -> ServerChoice:
    """Only the servers that the calls name, so that no other is started. Raises UsageError for one that isn't there."""
    needed = [server for server in choice.servers if any(call.label.startswith(f"{server.name}.") for call in calls)]
    for call in calls:
        if not any(call.label.startswith(f"{server.name}.") for server in needed):
            known = ", ".join(server.name for server in choice.servers) or "none"
            raise UsageError(f"no server has a tool {call.label}", f"Servers: {known} (fanout mcp list).")
    return replace(choice, servers=tuple(server.model_copy(update={"disabled": False}) for server in needed))


class NamedTools:
    """The tools of a hub, and one in place of each that a call names and that isn't there: its calls fail alone.

    `down` are the servers that could not be started, with the reason. Raises UsageError when no call names a tool that
    is there, or might be.
    """

    def __init__(self, hub: Toolset, calls: Sequence[ManualCall], down: Mapping[str, str]) -> None:
        self._hub = hub
        known = [spec.label for spec in hub.tools()]
        missing = dict.fromkeys(call.label for call in calls if call.label not in known)
        if not down and len(missing) == len({call.label for call in calls}):
            label = next(iter(missing))
            raise UsageError(f"no tool is called {label}", _hint(label, known))
        self._missing: dict[str, str] = {}
        for label in missing:
            why = next((line for name, line in down.items() if label.startswith(f"{name}.")), "")
            self._missing[label] = why or f"No tool is called {label}. {_hint(label, known)}"

    def tools(self) -> Sequence[ToolSpec]:
        """All of them."""
        stand_ins = [
            ToolSpec(name=f"missing_{number}", server=server, tool=tool)
            for number, label in enumerate(self._missing)
            for server, _, tool in (label.partition("."),)
        ]
        return [*self._hub.tools(), *stand_ins]

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        """Runs one call; of a tool that isn't there the result says why."""
        why = self._missing.get(invocation.spec.label)
        if why is not None:
            return ToolResult(outcome=Outcome.FAILED, content=why, error=why)
        return await self._hub.call(invocation, reporter)


def _hint(label: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(label, known, 1, 0.5)
    if close:
        return f"Did you mean {close[0]}?"
    return f"There are: {', '.join(known)}." if known else "No server has a tool."

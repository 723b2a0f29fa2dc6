"""Calls that were typed on the command line: which they are, and the servers that they need."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from console_app.config.server_choice import ServerChoice
from console_app.domain.errors import UsageError
from console_app.engine.manual_calls import ManualCall


def read_calls(words: Sequence[str]) -> list[ManualCall]:
    """`SERVER.TOOL JSON SERVER.TOOL JSON ...` as calls; JSON left out is {}. Raises UsageError."""
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

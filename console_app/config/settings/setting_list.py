"""Every setting as a person reads and changes it: its value, who set it, what it may be, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel

from console_app.config.settings.layers import LayeredSettings
from console_app.config.settings.model import Settings, UiSettings
from console_app.domain.schema import choices, properties, resolved, text

Kind = Literal["bool", "choice", "number", "text", "list", "table"]
_KINDS: Mapping[str, Kind] = {
    "boolean": "bool",
    "integer": "number",
    "number": "number",
    "array": "list",
    "object": "table",
}
HIDDEN = "(hidden)"  # in place of headers, which may hold keys

MEANINGS: Mapping[str, str] = {
    "model": "which model answers, as PROVIDER/MODEL",
    "base_url": "address of the endpoint, in place of the provider's own",
    "fallback": "model that answers while another is overloaded or out of reach",
    "theme": "colours of the console",
    "protocol": "how tools are offered and calls are read",
    "policy": "how the calls of one answer run",
    "dispatch": "eager: a call runs once its own arguments are complete; batch: after the answer",
    "strategy": "how a turn goes on from answer to answer",
    "builtin_tools": "Fanout's own tools that the model is offered",
    "tool_choice": "whether requests leave calling to the model, forbid or demand it",
    "dedupe": "equal calls that only read run once",
    "finish_todos": "open to-do items keep a turn from completing",
    "never_parallel": "SERVER.TOOL patterns that never run beside another call of the same tool",
    "limits": "calls at once of a server or a SERVER.TOOL pattern",
    "approval_mode": "what runs without asking you",
    "max_steps": "most requests of a turn",
    "max_calls": "most calls of one answer that run",
    "max_parallel": "most calls at once",
    "max_price": "US dollars that a turn may cost; 0 is no limit",
    "max_turn_tokens": "tokens that a turn may use",
    "max_result_chars": "most characters of a result that the model reads",
    "call_timeout": "seconds without progress before a call times out; 0 is no limit",
    "timeout": "seconds that a whole turn may take; 0 is no limit",
    "approval_timeout": "seconds until a waiting call is denied; 0 is no limit",
    "question_timeout": "seconds until a server's question is cancelled; 0 is no limit",
    "system_prompt": "what the model is told before the conversation",
    "save_sessions": "conversations are kept",
    "mcp_config": "the file of MCP servers, in place of the usual ones",
    "groups": "groups you are in, for servers that are for some only",
    "injected": "arguments that tools get which name them",
    "keys": "keys by the id of what they do",
    "providers": "endpoints of your own: base_url, headers, models, context_window",
    "max_tokens": "most tokens of an answer",
    "temperature": "how freely the model writes, 0 to 2",
    "stop": "texts that end an answer",
    "effort": "how much the model thinks before it answers",
    "parallel_tool_calls": "whether several calls an answer are asked for or refused by name",
    "cache": "whether requests are marked for the provider's cache",
    "extra_body": "goes into every request as it is",
    "notifications": "how you are told of what waits or ended while the terminal has no focus: bell, osc9, osc777",
    "window_title": "the window's title says what the console does",
    **{f"ui.{name}": str(field.description) for name, field in UiSettings.model_fields.items()},
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `value` is plain data, None where it is not set; `waiting` is what a file without trust says."""

    name: str
    value: Any
    source: str  # "default", or who set it
    kind: Kind
    choices: tuple[str, ...]  # of a "choice"
    optional: bool  # whether it may be unset
    meaning: str
    waiting: str = ""

    @property
    def shown(self) -> str:
        """The value for people, in one line."""
        return shown(self.value)


def setting_list(layered: LayeredSettings) -> list[Setting]:
    """All settings, in the order of `MEANINGS`."""
    project = layered.project
    lines = project.lines if project is not None and not project.trusted else ()
    waiting = {name: value for name, _, value in (line.partition(" = ") for line in lines)}
    found: list[Setting] = []
    for name in MEANINGS:
        kind, choices, optional = shape_of(name)
        found.append(
            Setting(
                name,
                plain(attrgetter(name)(layered.settings)),
                layered.sources.get(name, "default"),
                kind,
                choices,
                optional,
                MEANINGS[name],
                waiting.get(name, ""),
            )
        )
    return found


def shape_of(name: str) -> tuple[Kind, tuple[str, ...], bool]:
    """What a setting may be: its kind, the choices there are, and whether it may be unset."""
    whole = UiSettings.model_json_schema() if name.startswith("ui.") else _schema()
    schema, optional, _ = resolved(properties(whole)[name.removeprefix("ui.")], whole)
    if named := choices(schema):
        return "choice", tuple(map(str, named)), optional
    return _KINDS.get(text(schema, "type"), "text"), (), optional


def plain(value: Any) -> Any:
    """A value as plain data; headers, which may hold keys, are hidden."""
    if isinstance(value, BaseModel):
        fields = {name: plain(getattr(value, name)) for name in value.model_fields_set}
        if "headers" in fields:
            fields["headers"] = dict.fromkeys(fields["headers"], HIDDEN)
        return fields
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [plain(item) for item in cast("tuple[Any, ...]", value)]
    return str(value) if isinstance(value, Path) else value


def shown(value: Any) -> str:
    """A plain value in one line."""
    match value:
        case None:
            return "not set"
        case bool():
            return "true" if value else "false"
        case list():
            return ", ".join(map(str, cast("list[Any]", value))) or "none"
        case dict():
            return ", ".join(map(str, cast("dict[str, Any]", value))) or "none"
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return " ".join(str(value).split())


@cache
def _schema() -> dict[str, Any]:
    return Settings.model_json_schema()

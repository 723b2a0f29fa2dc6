"""The rule for the to-do list: items are added or ticked, and the whole list is sent, as the tool replaces it whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from console_app.domain import AssistantMessage, Outcome, ToolMessage
from console_app.domain import schema as json_schema
from console_app.providers.offline.rule import (
    QUOTED,
    AnswerRule,
    AskedPrompt,
    Match,
    OfflineTools,
    RuleFinding,
    kind_of,
    listed,
    missing,
    unquoted,
)
from console_app.records import dataclass

_LIST = r"(?:(?:my|the|our)\s+)?to[\s-]?do(?:s|\s+(?:list|items?))?\b"
_ADD = (
    re.compile(rf"\badd\s+([^.\n;]{{1,300}}?)\s+(?:to|on)\s+{_LIST}", re.IGNORECASE),
    re.compile(
        rf"\b(?:update\s+)?{_LIST}(?:\s+to)?\s*(?::|(?:to\s+|and\s+)?(?:add|include|with|adding)\b)\s*"
        rf"((?:{QUOTED}|[^.\n;'\"])[^.\n;]{{0,300}})",
        re.IGNORECASE,
    ),
)
_TICK = re.compile(
    rf"\b(?:mark|tick\s+off|check\s+off|set)\s+({QUOTED}|[^.\n;]{{1,120}}?)\s+(?:as\s+)?(done|completed?|in\s+progress)\b",
    re.I,
)
_CHECKBOX = re.compile(r"^\s*(?:[-*]\s+)?\[([ xX~-])\]\s*(.+)$")
_TEXTS = ("content", "text", "title", "task", "description", "name")
_STATES = ("status", "state")
_WORDS = {
    "pending": ("pending", "todo", "not_started", "open"),
    "in_progress": ("in_progress", "doing", "active"),
    "completed": ("completed", "done"),
}
_MARKS = {"pending": "[ ]", "in_progress": "[-]", "completed": "[x]"}


@dataclass(frozen=True, slots=True)
class _Item:
    text: str
    state: str = "pending"


def _list_tool(tools: OfflineTools) -> Match | None:
    names = ("update_todo_list", "todo_write", "update_todos")
    return tools.find(names, items=("todos", "items", "todo_list", "tasks"))


def _read(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    added = [found for pattern in _ADD for found in pattern.finditer(asked.text)]
    tool = _list_tool(tools)
    items = _current(asked, tool) if tool else []
    known = {item.text.casefold() for item in items}
    ticked = [found for found in _TICK.finditer(asked.text) if unquoted(found[1]).casefold() in known]
    spans = sorted({found.span() for found in (*added, *ticked)})
    if not spans:
        return
    if tool is None:
        yield missing(spans[0], "change the to-do list", "update_todo_list")
    else:
        for found in ticked:
            state = "in_progress" if "progress" in found[2].lower() else "completed"
            text = unquoted(found[1]).casefold()
            items = [_Item(item.text, state) if item.text.casefold() == text else item for item in items]
        new = [text for found in added for text in listed(found[1])]
        items += [_Item(text) for text in dict.fromkeys(new) if text.casefold() not in known]
        yield RuleFinding(spans[0], (tool.call(items=_written(items, tool)),))
    yield from map(RuleFinding, spans[1:])


def _current(asked: AskedPrompt, tool: Match) -> list[_Item]:
    results = [message for message in asked.earlier if isinstance(message, ToolMessage)]
    done = {one.tool_call_id for one in results if one.outcome is Outcome.SUCCEEDED}
    answers = [message for message in asked.earlier if isinstance(message, AssistantMessage)]
    calls = [
        call for answer in answers for call in answer.tool_calls if call.name == tool.spec.name and call.id in done
    ]
    return _parsed(calls[-1].arguments, tool.keys["items"]) if calls else []


def _parsed(arguments: str, key: str) -> list[_Item]:
    try:
        value: Any = json.loads(arguments)[key]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []
    if isinstance(value, str):
        marks = {" ": "pending", "x": "completed", "X": "completed"}
        matches = [match for line in value.splitlines() if (match := _CHECKBOX.match(line))]
        return [_Item(match[2].strip(), marks.get(match[1], "in_progress")) for match in matches]
    items: list[_Item] = []
    for one in cast("list[Any]", value) if isinstance(value, list) else []:
        if isinstance(one, str):
            items.append(_Item(one))
        elif isinstance(one, dict):
            entry = cast("dict[str, Any]", one)
            text = next((entry[name] for name in _TEXTS if isinstance(entry.get(name), str)), "")
            state = next((entry[name] for name in _STATES if isinstance(entry.get(name), str)), "pending")
            word = next((name for name, words in _WORDS.items() if state in words), "pending")
            if text:
                items.append(_Item(text, word))
    return items


def _written(items: Sequence[_Item], tool: Match) -> Any:
    schema = json_schema.as_schema(json_schema.properties(tool.spec.input_schema).get(tool.keys["items"]))
    if kind_of(schema) == "string":
        return "\n".join(f"{_MARKS[one.state]} {one.text}" for one in items)
    if kind_of(json_schema.item(schema)) == "string":
        return [one.text for one in items]
    fields = json_schema.properties(json_schema.as_schema(json_schema.item(schema)))
    text_key = next((name for name in _TEXTS if name in fields), "content")
    state_key = next((name for name in _STATES if name in fields), "status")
    written: list[dict[str, Any]] = []
    for number, one in enumerate(items, 1):
        entry: dict[str, Any] = {"id": str(number)} if kind_of(fields.get("id")) == "string" else {}
        words = json_schema.choices(json_schema.as_schema(fields.get(state_key)))
        state = next((word for word in _WORDS[one.state] if word in words), one.state)
        entry |= {text_key: one.text, state_key: state}
        written.append(entry)
    return written


TODO = AnswerRule(
    can="keep a to-do list: `add 'Check for coolness' to the to-do list`",
    able=lambda tools: _list_tool(tools) is not None,
    read=_read,
)

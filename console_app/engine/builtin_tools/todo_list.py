"""The to-do list as text: read from what models write (items, strings, a checklist), written as a checklist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from console_app.domain.events import TodoItem, TodoStatus

MOST_ITEMS = 200
_LINE = re.compile(r"^\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?\[\s*(?P<mark>[xX~\-/]?)\s*\]\s+(?P<boxed>\S.*)$")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?P<text>\S.*)$")
_STATUSES = {
    TodoStatus.PENDING: ("pending", "todo", "open", "not_started", "not started"),
    TodoStatus.IN_PROGRESS: ("in_progress", "in progress", "in-progress", "doing", "active", "started"),
    TodoStatus.COMPLETED: ("completed", "complete", "done", "finished"),
}
_BY_WORD = {word: status for status, words in _STATUSES.items() for word in words}
_MARKS = {TodoStatus.PENDING: "[ ]", TodoStatus.IN_PROGRESS: "[-]", TodoStatus.COMPLETED: "[x]"}


def read_items(value: Any) -> tuple[TodoItem, ...]:
    """The items in a call's `todos`. Raises ValueError with what can't be understood, in one sentence."""
    if isinstance(value, str):
        items = _of_text(value)
    elif isinstance(value, list | tuple):
        items = [_of_entry(entry, number) for number, entry in enumerate(cast("list[Any]", value), 1)]
    else:
        raise ValueError("must be a list of items with content and status, or a Markdown checklist")
    if len(items) > MOST_ITEMS:
        raise ValueError(f"has {len(items)} items, and {MOST_ITEMS} is the most")
    return tuple(items)


def as_checklist(items: Iterable[TodoItem]) -> str:
    """The list as Markdown, a line an item."""
    return "\n".join(f"{_MARKS[item.status]} {item.content}" for item in items) or "(the list is empty)"


def open_items(items: Iterable[TodoItem]) -> list[TodoItem]:
    """What is not completed."""
    return [item for item in items if item.status is not TodoStatus.COMPLETED]


def _of_text(text: str) -> list[TodoItem]:
    items: list[TodoItem] = []
    for line in text.splitlines():
        if match := _LINE.match(line):
            mark = match["mark"].lower()
            status = TodoStatus.COMPLETED if mark == "x" else TodoStatus.IN_PROGRESS if mark else TodoStatus.PENDING
            items.append(TodoItem(content=_one_line(match["boxed"]), status=status))
        elif bullet := _BULLET.match(line):
            items.append(TodoItem(content=_one_line(bullet["text"])))
    if not items and text.strip():
        raise ValueError("has no line like “[ ] what is to be done”")
    return items


def _of_entry(entry: Any, number: int) -> TodoItem:
    if isinstance(entry, TodoItem):
        return entry
    if isinstance(entry, str):
        found = _of_text(entry) if _LINE.match(entry) else [TodoItem(content=_one_line(entry))]
        entry = found[0].model_dump()
    if not isinstance(entry, Mapping):
        raise ValueError(f"item {number} is no object with content and status")
    fields = cast("Mapping[str, Any]", entry)
    content, status = fields.get("content"), fields.get("status", TodoStatus.PENDING)
    if not isinstance(content, str) or not content.strip():
        raise ValueError(f"item {number} has no content")
    known = _BY_WORD.get(str(status).strip().lower())
    if known is None:
        raise ValueError(f"item {number} has the status “{status}”; there are pending, in_progress and completed")
    return TodoItem(content=_one_line(content), status=known)


def _one_line(text: str) -> str:
    return " ".join(text.split())

"""Keeps which agent changed a file last, and which have seen it since, so that no change is lost to another. Only calls
that name their files are seen, and changes that results tell of: a command may change anything."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from console_app.domain import Outcome, ToolResult, ToolSpec, one_line, safe_text
from console_app.domain.tools import Risk
from console_app.engine.calls.slots import files_of

CHANGES_FILES = frozenset({"edits", "creates", "deletes"})
_MOST_SAID = 3  # files


class FileUses:
    """Files that the calls of a session and its agents named. `folder` is where an agent's relative paths begin."""

    def __init__(self) -> None:
        self._changed: dict[str, tuple[str, int]] = {}  # by whom last, and when
        self._seen: dict[tuple[str, str], int] = {}  # when an agent last read or changed a file
        self._now = 0
        self._changes: Counter[str] = Counter()  # calls of each agent that may have changed anything

    def note(self, agent: str, folder: str, spec: ToolSpec, arguments: Mapping[str, Any], result: ToolResult) -> None:
        self._changes[agent] += not spec.annotations.read_only
        if result.outcome is not Outcome.SUCCEEDED:
            return
        named, said = set(_places(folder, arguments)), set(_said(result))
        changed = said or (named if Risk.of(spec, arguments).word in CHANGES_FILES else set[str]())
        self._now += 1
        self._changed.update((file, (agent, self._now)) for file in changed)
        self._seen.update(((agent, file), self._now) for file in named | said)

    def changes_of_others(self, agent: str) -> int:
        return self._changes.total() - self._changes[agent]

    def clash(self, agent: str, folder: str, spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
        """Say which files that a call would change another agent changed since this one saw them; "" for none."""
        if Risk.of(spec, arguments).word not in CHANGES_FILES:
            return ""
        words: list[str] = []
        for file in _places(folder, arguments):
            by, when = self._changed.get(file, (agent, 0))
            seen = self._seen.get((agent, file), 0)
            if by != agent and when > seen:
                since = "since it was read here" if seen else "and it was not read here"
                words.append(f"{one_line(by, 60) or 'the main conversation'} changed {one_line(file, 200)} {since}")
        return "; ".join(words[:_MOST_SAID])

    def accept(self, agent: str, folder: str, arguments: Mapping[str, Any]) -> None:
        self._seen.update(((agent, file), self._now) for file in _places(folder, arguments))


def _places(folder: str, arguments: Mapping[str, Any]) -> Iterator[str]:
    for name in files_of(arguments):
        yield name if "://" in name else os.path.normpath(os.path.join(folder or os.getcwd(), name))


def _said(result: ToolResult) -> Iterator[str]:
    for change in safe_text.as_list((result.structured or {}).get("changes")):
        if isinstance(path := safe_text.as_object(change).get("path"), str):
            yield os.path.normpath(path)

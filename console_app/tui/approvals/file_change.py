"""What a waiting call would change in a file: a diff against the file as it is now.

Only what is plain from arguments of the usual shapes counts: a whole text for a path, by a tool whose name says that it
writes, or texts to be replaced by others. For all else, and for a file that isn't there, the arguments are shown.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, cast

from console_app.domain.safe_text import visible
from console_app.domain.transcript_parts import CallView
from console_app.tui.approvals.arguments_text import ArgumentLine

LARGEST = 2 * 1024 * 1024  # bytes of a file, and characters of what it becomes, that are compared
MOST_COMPARED = 4000  # lines that differ, beyond which all of them are said to be replaced
AROUND = 2  # lines shown before and behind a change
FOLD = "⋯"
_PATHS = ("path", "file_path", "filepath", "file", "filename", "file_name")
_WHOLE = ("content", "contents", "text", "file_text")
_PAIRS = (("old_text", "new_text"), ("oldText", "newText"), ("old_string", "new_string"), ("old_str", "new_str"))
_WRITES = re.compile(r"(?:^|[^a-z])(?:over)?(?:write|create|save|replace)", re.IGNORECASE)
_ADDS = re.compile(r"append|insert|prepend|patch", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FileChange:
    """The lines of a diff, each with its number in the column of names; the arguments that the diff shows are `said`.
    `missing`: a text that is to be replaced is not in the file. `hunks`: at which of the lines each begins."""

    lines: tuple[ArgumentLine, ...]
    said: frozenset[str]
    hunks: tuple[int, ...] = ()
    missing: bool = False


class FileChanges:
    """Of the calls that wait, as far as they were looked up. Relative paths are in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[str, FileChange | None] = {}

    def of(self, call: CallView) -> FileChange | None:
        """What the call would change, None while or where that is not known."""
        return self._found.get(call.id)

    def keep(self, call_ids: Collection[str]) -> None:
        """Other calls wait no longer."""
        self._found = {call_id: change for call_id, change in self._found.items() if call_id in call_ids}

    async def look_up(self, call: CallView) -> bool:
        """Reads the file, off the event loop; whether something else is to be shown now."""
        change = await asyncio.to_thread(change_of, call.tool or call.name, call.arguments or {}, self._folder)
        before, self._found[call.id] = self._found.get(call.id), change
        return change != before


def change_of(tool: str, arguments: Mapping[str, Any], folder: Path) -> FileChange | None:
    """The change to a file that is there; None where the arguments don't say one. Reads the file: not for the loop."""
    name = next((name for name in _PATHS if isinstance(arguments.get(name), str) and arguments[name]), None)
    if name is None:
        return None
    edits, said = _edits(arguments)
    whole = next((one for one in _WHOLE if isinstance(arguments.get(one), str)), None)
    writes = whole is not None and _WRITES.search(tool) is not None and _ADDS.search(tool) is None
    if (not edits and not writes) or (before := _text(folder / Path(arguments[name]).expanduser())) is None:
        return None
    if edits:
        after, missing = _edited(before, edits, every=arguments.get("replace_all") is True)
        if missing:
            return FileChange((), frozenset(), missing=True)
    else:
        assert whole is not None
        after, said = str(arguments[whole]), frozenset({whole})
    if len(after) > LARGEST:
        return None
    lines, hunks = _diff(before.split("\n"), after.split("\n"))
    return FileChange(tuple(lines), said, tuple(hunks))


def _edits(arguments: Mapping[str, Any]) -> tuple[list[tuple[str, str]], frozenset[str]]:
    """The replacements that the arguments ask for, and the names of those that hold them."""
    if (pair := _pair(arguments)) is not None:
        return [(arguments[pair[0]], arguments[pair[1]])], frozenset(pair)
    listed = arguments.get("edits")
    if not isinstance(listed, list) or not listed:
        return [], frozenset()
    found: list[tuple[str, str]] = []
    for one in cast("list[object]", listed):
        edit = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        if (pair := _pair(edit)) is None or set(edit) - set(pair):
            return [], frozenset()  # something of it would not be shown
        found.append((edit[pair[0]], edit[pair[1]]))
    return found, frozenset({"edits"})


def _pair(edit: Mapping[str, Any]) -> tuple[str, str] | None:
    return next((pair for pair in _PAIRS if all(isinstance(edit.get(name), str) for name in pair)), None)


def _edited(text: str, edits: list[tuple[str, str]], *, every: bool) -> tuple[str, bool]:
    """The text with all replaced, and whether one of the old texts is not in it."""
    for old, new in edits:
        if not old or old not in text:
            return text, True
        text = text.replace(old, new, -1 if every else 1)
    return text, False


def _text(path: Path) -> str | None:
    """The text of a plain file of a size that is read at once; None for anything else."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        # A pipe that took its place in between must not be waited for.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            data = file.read(LARGEST + 1)
        return data.decode() if len(data) <= LARGEST else None
    except (OSError, ValueError):
        return None


def _diff(old: list[str], new: list[str]) -> tuple[list[ArgumentLine], list[int]]:
    """The changed lines with some around them, and where each stretch of them begins."""
    lines: list[ArgumentLine] = []
    hunks: list[int] = []
    shown = 0  # lines of the old text that were passed
    stretches = [one for one in _opcodes(old, new) if one[0] != "equal"]
    for place, (_, i1, i2, j1, j2) in enumerate(stretches):
        begin = max(i1 - AROUND, shown)
        if begin > shown or not lines:
            lines += [ArgumentLine(FOLD)] if lines else []
            hunks.append(len(lines))
        lines += [_line(n + 1, old[n]) for n in range(begin, i1)]
        lines += [_line(n + 1, old[n], "-") for n in range(i1, i2)]
        lines += [_line(n + 1, new[n], "+") for n in range(j1, j2)]
        after = stretches[place + 1][1] if place + 1 < len(stretches) else len(old)
        shown = min(i2 + AROUND, after)
        lines += [_line(n + 1, old[n]) for n in range(i2, shown)]
    return lines or [ArgumentLine("(the file holds this already)")], hunks


def _opcodes(old: list[str], new: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """As `SequenceMatcher.get_opcodes`, without looking at what both begin and end with."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    one, other = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(one) > MOST_COMPARED or len(other) > MOST_COMPARED:
        yield "replace", head, head + len(one), head, head + len(other)
        return
    for what, i1, i2, j1, j2 in SequenceMatcher(None, one, other).get_opcodes():
        yield what, i1 + head, i2 + head, j1 + head, j2 + head


def _line(number: int, text: str, mark: str = " ") -> ArgumentLine:
    shown = visible(text.replace("\r", "␍") if text.endswith("\r") else text).replace("\n", " ").expandtabs(4)
    return ArgumentLine(shown, str(number), "+" if mark == "+" else "-" if mark == "-" else " ")

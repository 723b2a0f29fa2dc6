"""Unified diffs: told from other text, counted, and painted with the numbers of their lines."""

from __future__ import annotations

import re

from rich.style import Style

from console_app.records import dataclass, field
from console_app.tui.lineview.lines import Line, Piece, Row
from console_app.tui.lineview.palette import Palette

LARGEST = 4 * 1024 * 1024  # characters of a diff that are counted
_HUNK = re.compile(r"@@+ -(\d+)(?:,(\d+))? (?:-\d+(?:,\d+)? )?\+(\d+)(?:,(\d+))? @@")
_BEGIN = re.compile(r"^(?:diff --git |--- \S.*\n\+\+\+ \S|@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)", re.MULTILINE)
_NAMES = re.compile(r"\+\+\+ (?:b/)?([^\t\n]+)")
NUMBER = 5  # cells of a line's number


def begins_diff(text: str) -> bool:
    """Tell from its first lines whether a text is a diff: a few words may stand above it, but not many."""
    found = _BEGIN.search(text)
    return found is not None and text.count("\n", 0, found.start()) <= 8 and _HUNK.search(text) is not None


@dataclass(slots=True)
class DiffStat:
    """Counts the lines that a diff adds and removes, and names the files that it changes."""

    added: int = 0
    removed: int = 0
    files: list[str] = field(default_factory=list[str])


class DiffReader:
    """Reads lines: `+`, `-`, ` `, `@` (head of a hunk), `#` (of a file) or `` (words around it), and a number. That of
    a removed line counts in the old text; a line in neither has 0."""

    def __init__(self) -> None:
        self._old = self._new = self._old_left = self._new_left = 0

    def read(self, line: str) -> tuple[str, int]:
        if self._old_left > 0 or self._new_left > 0:
            mark = line[:1] or " "
            if mark in "+- ":
                self._old, self._old_left = self._old + (mark != "+"), self._old_left - (mark != "+")
                self._new, self._new_left = self._new + (mark != "-"), self._new_left - (mark != "-")
                return mark, (self._old if mark == "-" else self._new) - 1
            if mark == "\\":
                return "#", 0
            self._old_left = self._new_left = 0
        if (hunk := _HUNK.match(line)) is not None:
            old, old_count, new, new_count = hunk.groups()
            self._old, self._new = int(old), int(new)
            self._old_left = 1 if old_count is None else int(old_count)
            self._new_left = 1 if new_count is None else int(new_count)
            return "@", 0
        heads = ("--- ", "+++ ", "diff ", "index ", "Index: ", "new file", "deleted file", "rename ", "similarity ",
                 "=====", "\\ ")  # fmt: skip
        return ("#", 0) if line.startswith(heads) else ("", 0)


def diff_stat(text: str) -> DiffStat:
    stat, reader = DiffStat(), DiffReader()
    for line in text[:LARGEST].split("\n"):
        kind, _ = reader.read(line)
        if kind == "+":
            stat.added += 1
        elif kind == "-":
            stat.removed += 1
        elif kind == "#" and (name := _NAMES.match(line)) is not None and name[1] != "/dev/null":
            stat.files.append(name[1].strip())
    return stat


def stat_pieces(stat: DiffStat, palette: Palette) -> list[Piece]:
    return [(f"+{stat.added:,}", palette.success), (" ", palette.base), (f"-{stat.removed:,}", palette.error)]


def diff_row(kind: str, number: int, line: str, width: int, palette: Palette) -> list[Row]:
    """A line that a reader said this of, as rows; the number before it is not copied."""
    inks: dict[str, Style] = {"+": palette.success, "-": palette.error, "@": palette.secondary, "#": palette.muted}
    ink = inks.get(kind, palette.base)
    if kind == "#" and line.startswith(("+++ ", "diff ")):
        ink = palette.strong
    pieces: list[Piece] = [(Line.clean(line), ink)] if line else []
    if width < 40:
        return Line.chop(pieces, max(width, 1))
    rows: list[Row] = []
    for place, row in enumerate(Line.chop(pieces, max(width - NUMBER - 1, 1))):
        lead = f"{number or '':>{NUMBER}} " if place == 0 else " " * (NUMBER + 1)
        rows.append(Row([(lead, palette.muted), *row.pieces], row.joint, NUMBER + 1))
    return rows

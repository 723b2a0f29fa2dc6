"""Text that is a table: lines of as many fields each, apart by commas, semicolons, tabs or bars."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from itertools import islice
from pathlib import PurePosixPath

_SUFFIXES = {".csv": ",;", ".tsv": "\t", ".tab": "\t"}
_LOOKED_AT = 20  # lines that decide what it is
_LONGEST_NAME = 40  # characters of a column's name
_MOST_COLUMNS = 40


@dataclass(frozen=True)
class Delimited:
    """A text, and what stands between its fields."""

    text: str
    mark: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The names in its first line."""
        return tuple(next(iter(self._read(0, 1)), ()))

    @cached_property
    def count(self) -> int:
        """How many rows there are under the first line."""
        if '"' in self.text:  # a field may have several lines
            return max(len(self._read(0, sys.maxsize)) - 1, 0)
        return max(self.text.rstrip("\n").count("\n"), 0)

    def rows(self, first: int, last: int) -> list[list[str]]:
        """Cells of rows `first` to before `last`."""
        return self._read(first + 1, last + 1)

    @cached_property
    def _reader(self) -> Iterator[list[str]]:
        return csv.reader(StringIO(self.text.rstrip("\n"), newline="\n"), delimiter=self.mark)

    @cached_property
    def _known(self) -> list[list[str]]:
        return []

    def _read(self, first: int, last: int) -> list[list[str]]:
        self._known.extend(islice(self._reader, max(last - len(self._known), 0)))
        return self._known[first:last]


def delimiter_of(text: str, name: str) -> str:
    """What stands between the fields of a table that begins so, or "": it is none. `name` is that of its file."""
    known = _SUFFIXES.get(PurePosixPath(name).suffix.lower(), "")
    for mark in known or "\t,;|":
        if _fits(text, mark, fewest=2 if known or mark == "\t" else 3):
            return mark
    return ""


def _fits(text: str, mark: str, fewest: int) -> bool:
    """Whether all lines have as many fields, and the first has a name for each."""
    lines = text.split("\n")[: _LOOKED_AT + 1]
    if len(lines) > 1:
        lines.pop()  # cut off, or empty behind the last newline
    if len(lines) < 2 or mark not in lines[0]:
        return False
    try:
        rows = list(csv.reader(lines, delimiter=mark))
    except csv.Error:
        return False
    return _is_head(rows[0], fewest) and all(len(row) == len(rows[0]) for row in rows[1:]) and len(rows) > 1


def _is_head(names: Sequence[str], fewest: int) -> bool:
    plain = all(name.strip() and len(name) <= _LONGEST_NAME and not _is_number(name) for name in names)
    return plain and fewest <= len(names) <= _MOST_COLUMNS and len(set(names)) == len(names)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

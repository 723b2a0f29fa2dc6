"""JSON that is a table: a list of flat objects with the same names, or columns and rows."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, cast

_SUFFIXES = {".csv": ",;", ".tsv": "\t", ".tab": "\t"}
_LINES_LOOKED_AT = 20  # lines that decide what it is
_LONGEST_NAME = 40  # characters of a column's name
_MOST_COLUMNS = 40


@dataclass(frozen=True)
class Delimited:
    """A text, and what stands between its fields."""

    text: str
    mark: str

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(next(iter(self._read(0, 1)), ()))

    @cached_property
    def count(self) -> int:
        if '"' in self.text:  # a field may have several lines
            return max(len(self._read(0, sys.maxsize)) - 1, 0)
        return max(self.text.rstrip("\n").count("\n"), 0)

    def rows(self, first: int, last: int) -> list[list[str]]:
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
    """The mark between the fields of a table that begins so; "" where the text is none. `name` is its file's."""
    known = _SUFFIXES.get(PurePosixPath(name).suffix.lower(), "")
    for mark in known or "\t,;|":
        if _fits(text, mark, fewest=2 if known or mark == "\t" else 3):
            return mark
    return ""


def _fits(text: str, mark: str, fewest: int) -> bool:
    """Tell whether all lines have as many fields, and the first has a name for each."""
    lines = text.split("\n")[: _LINES_LOOKED_AT + 1]
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


MOST_TEXT = 256 * 1024  # characters that are looked through
MOST_LEAVES = 2000


def says_the_same(content: str, structured: dict[str, Any]) -> bool:
    """True where the text is that JSON, or what a single field of it holds, or has every value that stands in it.

    A flag or a null counts as said only where the text is JSON: in prose neither can be told from a word.
    """
    text = content.strip()
    if not structured:
        return True
    if not text or len(text) > MOST_TEXT:
        return False
    only = next(iter(structured.values())) if len(structured) == 1 else None
    try:
        parsed: Any = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    else:
        if parsed == structured or (only is not None and parsed == only):
            return True
    if isinstance(only, str) and only.strip() == text:
        return True
    words = " ".join(text.split())
    found = 0
    for leaf in _leaves(structured):
        found += 1
        if found > MOST_LEAVES or not _said(leaf, words):
            return False
    return found > 0


def _said(leaf: Any, words: str) -> bool:
    if isinstance(leaf, str):
        return " ".join(leaf.split()) in words
    if isinstance(leaf, bool) or leaf is None:
        return False
    return any(re.search(rf"(?<![\w.]){re.escape(form)}(?![\w]|\.\d)", words) for form in {str(leaf), f"{leaf:,}"})


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for one in cast("dict[str, Any]", value).values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _leaves(one)
    else:
        yield value


MOST_COLUMNS = 16
_LOOKED_AT = 50  # rows that decide what it is


@dataclass(frozen=True, slots=True)
class Records:
    """Rows of a table as they stand in JSON."""

    columns: tuple[str, ...]
    values: Sequence[Any]  # each an object, or a list in the order of the columns

    @property
    def count(self) -> int:
        return len(self.values)

    def rows(self, first: int, last: int) -> list[list[str]]:
        """Cells of rows `first` to before `last`, as text."""
        out: list[list[str]] = []
        for value in self.values[first:last]:
            if isinstance(value, dict):
                fields = cast("dict[str, Any]", value)
                out.append([_cell(fields[name]) if name in fields else "" for name in self.columns])
            else:
                out.append([_cell(one) for one in cast("list[Any]", value)])
        return out


def records_of(value: Any) -> Records | None:
    """The table that a JSON value is, or None. An object may wrap it under its one name."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if set(fields) == {"columns", "rows"}:
            return _with_columns(fields["columns"], fields["rows"])
        value = next(iter(fields.values())) if len(fields) == 1 else None
    if not isinstance(value, list) or len(cast("list[Any]", value)) < 2:
        return None
    items = cast("list[Any]", value)
    names: dict[str, None] = {}
    seen = 0
    for item in items:
        if not isinstance(item, dict) or not item:
            return None
        if seen < _LOOKED_AT:
            fields = cast("dict[str, Any]", item)
            if any(isinstance(one, (dict, list)) for one in fields.values()):
                return None
            names.update(dict.fromkeys(fields))
            seen += 1
    shared = sum(len(cast("dict[str, Any]", item)) for item in items[:seen])
    if not 2 <= len(names) <= MOST_COLUMNS or shared * 3 < len(names) * seen * 2:
        return None
    for item in items[seen:]:
        names.update(dict.fromkeys(cast("dict[str, Any]", item)))
    return Records(tuple(names), items) if len(names) <= MOST_COLUMNS else None


def _with_columns(columns: Any, rows: Any) -> Records | None:
    if not isinstance(columns, list) or not isinstance(rows, list) or not rows or not columns:
        return None
    names, items = cast("list[Any]", columns), cast("list[Any]", rows)
    whole = all(isinstance(row, list) and len(cast("list[Any]", row)) == len(names) for row in items)
    return Records(tuple(str(name) for name in names), items) if whole and len(names) <= MOST_COLUMNS else None


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if type(value) is int:  # most are, and this is ten times as fast
        return str(value)
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)

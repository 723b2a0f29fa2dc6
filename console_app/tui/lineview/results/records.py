"""JSON that is a table: a list of flat objects with the same names, or columns and rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

MOST_COLUMNS = 16
_LOOKED_AT = 50  # rows that decide what it is


@dataclass(frozen=True, slots=True)
class Records:
    """Rows of a table as they stand in JSON."""

    columns: tuple[str, ...]
    values: Sequence[Any]  # each an object, or a list in the order of the columns

    @property
    def count(self) -> int:
        """How many rows there are."""
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

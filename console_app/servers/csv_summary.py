"""What stands in each column of a table: in one line for people and models, and as data."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from typing import Any, Final

from console_app.servers.counts import counted
from console_app.servers.csv_table import SEPARATORS, CsvTable, is_missing

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?")
_MOST_COLUMNS: Final = 100  # described one by one
_COMMON: Final = 3
_SHOWN: Final = 40  # characters of a cell


def summarize(table: CsvTable) -> dict[str, Any]:
    """The summary as data: rows, and for each column its kind with what describes it."""
    names = list(table.columns)
    return {
        "file": table.name,
        "separator": SEPARATORS[table.separator],
        "rows": table.rows,
        "column_count": len(names),
        "columns": [_column(table, name) for name in names[:_MOST_COLUMNS]],
    }


def described(summary: dict[str, Any]) -> str:
    """The summary as text."""
    size = f"{counted(summary['rows'], 'row')}, {counted(summary['column_count'], 'column')}"
    head = f"{summary['file']}: {size}, {summary['separator']}-separated"
    lines = [_line(column) for column in summary["columns"]]
    more = summary["column_count"] - len(lines)
    return "\n".join((head, *lines, *([f"[{counted(more, 'more column')}]"] if more else [])))


def _column(table: CsvTable, name: str) -> dict[str, Any]:
    cells = table.columns[name]
    present = [cell.strip() for cell in cells if not is_missing(cell)]
    column: dict[str, Any] = {"name": name, "kind": "empty", "missing": len(cells) - len(present)}
    numbers = table.numbers(name)
    if numbers is not None:
        return column | _of_numbers([number for number in numbers if number is not None])
    if not present:
        return column
    if all(_DATE.fullmatch(cell) for cell in present):
        return column | {"kind": "date", "first": min(present), "last": max(present)}
    counted = Counter(present)
    common = [{"value": value[:_SHOWN], "count": count} for value, count in counted.most_common(_COMMON)]
    return column | {"kind": "text", "distinct": len(counted), "most_common": common}


def _of_numbers(numbers: list[float]) -> dict[str, Any]:
    mean = statistics.fmean(numbers)
    squares = math.fsum((number - mean) ** 2 for number in numbers)
    return {
        "kind": "number",
        "minimum": min(numbers),
        "maximum": max(numbers),
        "mean": mean,
        "median": statistics.median(numbers),
        "deviation": math.sqrt(squares / (len(numbers) - 1)) if len(numbers) > 1 else 0.0,
        "sum": math.fsum(numbers),
    }


def _line(column: dict[str, Any]) -> str:
    match column["kind"]:
        case "number":
            keys = ("minimum", "maximum", "mean", "median", "deviation", "sum")
            what = ", ".join(f"{key} {column[key]:.6g}" for key in keys)
        case "date":
            what = f"{column['first']} to {column['last']}"
        case "text":
            common = ", ".join(f"{one['value']} ({one['count']})" for one in column["most_common"])
            what = f"{column['distinct']:,} distinct: {common}" + (" …" if column["distinct"] > _COMMON else "")
        case _:
            what = "no values"
    missing = f", {column['missing']:,} missing" if column["missing"] and column["kind"] != "empty" else ""
    return f"- {column['name']} ({column['kind']}{missing}): {what}"

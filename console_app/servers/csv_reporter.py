"""A server that looks into CSV files: summaries and a plot. Run it as `python -m console_app.servers.csv_reporter`.

It reads inside the client's roots alone, or without any inside the folder it was started in. A plot is a new file in
the folder that FANOUT_FILES names, else in that same folder.
"""

from __future__ import annotations

import asyncio
import codecs
import csv
import io
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from xml.sax.saxutils import escape

from console_app.servers.parts.folders import FolderEntry, allowed_folders, file_name, save_new
from console_app.servers.parts.server import (
    READS,
    Arguments,
    CallContext,
    StdioServer,
    Tool,
    ToolFailedError,
    ToolOutput,
    counted,
    schema,
)

MOST_FILES = 50
MOST_SERIES = 6
MOST_POINTS = 400  # of a line; more rows become means of neighbours
MOST_BARS = 30
Series = list[tuple[str, list[float | None]]]


async def summarize_csv(arguments: Arguments, context: CallContext) -> ToolOutput:
    place = (await allowed_folders(context)).place(arguments["path"])
    summary = await asyncio.to_thread(summarize, place)
    return ToolOutput(described(summary), summary)


async def summarize_multiple_csvs(arguments: Arguments, context: CallContext) -> ToolOutput:
    paths: list[str] = arguments["paths"]
    if not 0 < len(paths) <= MOST_FILES:
        raise ToolFailedError(f"`paths` must name 1 to {MOST_FILES} files.")
    folders = await allowed_folders(context)
    texts: list[str] = []
    summaries: list[dict[str, Any]] = []
    failures: list[dict[str, str]] = []
    for number, path in enumerate(paths, 1):
        context.progress(number - 1, len(paths), path)
        try:
            summary = await asyncio.to_thread(summarize, folders.place(path))
        except ToolFailedError as error:
            failures.append({"path": path, "error": str(error)})
            texts.append(f"{path}: not read: {error}")
        else:
            summaries.append(summary)
            texts.append(described(summary))
    if not summaries:
        raise ToolFailedError("None of the files could be read.\n" + "\n".join(texts))
    rows = sum(summary["rows"] for summary in summaries)
    texts.append(f"{len(summaries)} of {counted(len(paths), 'file')} read, {counted(rows, 'row')} in all.")
    return ToolOutput("\n\n".join(texts), {"files": summaries, "failures": failures})


async def plot_csv(arguments: Arguments, context: CallContext) -> ToolOutput:
    place = (await allowed_folders(context)).place(arguments["path"])
    kind = arguments.get("kind", "line")
    path, link, chart = await asyncio.to_thread(_plot, place, arguments.get("columns") or [], kind)
    names = ", ".join(name for name, _ in chart.series)
    points = f"{len(chart.labels)} {'bars each' if kind == 'bar' else 'points'}"
    return ToolOutput(f"Saved {path}: {kind} chart of {names}, {points}.", files=(link,))


def _plot(place: FolderEntry, wanted: Sequence[str], kind: str) -> tuple[Path, dict[str, Any], ChartRequest]:
    table = read_table(place)
    series, labels, label_name = _chosen(table, wanted)
    chart = _bar_chart(table, series, labels, label_name) if kind == "bar" else _line_chart(table, series, labels)
    name = file_name(f"{place.path.stem or 'plot'}-{kind}"[:90], ".svg")
    return *save_new(name, svg(chart).encode("utf-8", "replace"), "image/svg+xml"), chart


def _chosen(table: CsvTable, wanted: Sequence[str]) -> tuple[Series, list[str], str]:
    """Return the columns of numbers to draw, the label of each row, and the name of the column those are from."""
    unknown = [name for name in wanted if name not in table.columns]
    if unknown:
        known = ", ".join(list(table.columns)[:50])
        raise ToolFailedError(f"{table.name} has no column {unknown[0]}; it has: {known}.")
    numeric = {name: numbers for name in table.columns if (numbers := table.numbers(name)) is not None}
    series = [(name, numeric[name]) for name in wanted or numeric if name in numeric][:MOST_SERIES]
    if not series:
        what = f"of {', '.join(wanted)} " if wanted else ""
        raise ToolFailedError(f"{table.name}: none {what}is a column of numbers.")
    texts = [name for name in wanted or table.columns if name not in numeric]
    texts += [name for name in table.columns if name not in numeric]
    if texts:
        return series, table.columns[texts[0]], texts[0]
    return series, [str(number) for number in range(1, table.rows + 1)], "row"


def _line_chart(table: CsvTable, series: Series, labels: list[str]) -> ChartRequest:
    size = -(-table.rows // MOST_POINTS)
    if size == 1:
        return ChartRequest(table.name, "line", labels, series)
    starts = range(0, table.rows, size)
    means = [(name, [_mean(values[at : at + size]) for at in starts]) for name, values in series]
    return ChartRequest(f"{table.name} (means of {size} rows)", "line", [labels[at] for at in starts], means)


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def _bar_chart(table: CsvTable, series: Series, labels: list[str], label_name: str) -> ChartRequest:
    """Rows with one label are added up; the labels that come first have bars of their own."""
    bars = list(dict.fromkeys(labels))
    other = f"{len(bars) - MOST_BARS + 1} others"
    if len(bars) > MOST_BARS:
        bars = [*bars[: MOST_BARS - 1], other]
    place = {label: at for at, label in enumerate(bars)}
    sums: Series = []
    for name, values in series:
        totals: list[float | None] = [0.0] * len(bars)
        for label, value in zip(labels, values, strict=True):
            at = place.get(label, len(bars) - 1)
            totals[at] = (totals[at] or 0.0) + (value or 0.0)
        sums.append((name, totals))
    return ChartRequest(f"{table.name}: sums by {label_name}", "bar", bars, sums)


_PATH = schema("string", "Path of the CSV file, inside the allowed folders.")
TOOLS = (
    Tool(
        summarize_csv,
        "Describes a CSV file: its rows, and of each column the kind, missing values and what describes it.",
        {"path": _PATH},
        {"title": "Summarise a CSV file", **READS},
    ),
    Tool(
        summarize_multiple_csvs,
        "Describes several CSV files at once; one that can't be read leaves the others.",
        {"paths": schema("array", "Paths of the CSV files.", items=schema("string"), minItems=1, maxItems=MOST_FILES)},
        {"title": "Summarise CSV files", **READS},
    ),
    Tool(
        plot_csv,
        "Draws columns of a CSV file as a chart and saves it as an SVG file. Bars add up the rows of each label.",
        {
            "path": _PATH,
            "columns": schema(
                "array", f"Columns of numbers, at most {MOST_SERIES}, and one for the labels.", items=schema("string")
            ),
            "kind": schema("string", enum=["line", "bar"], default="line"),
        },
        {**READS, "title": "Plot a CSV file", "readOnlyHint": False, "idempotentHint": False},
        optional=("columns",),
    ),
)


Kind = Literal["line", "bar"]
WIDTH, HEIGHT = 960, 540
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 30, 90, 90
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # told apart by the colour-blind
_TICKS: Final = 6
_MOST_LABELS: Final = 12
_LABEL: Final = 16  # characters
_FLAT: Final = 1e-9  # values that differ by less, compared with their size, are drawn as one
_SMALLEST: Final = 1e-290  # below, a step of the grid would lose its digits: all such values are drawn as zero


@dataclass(frozen=True, slots=True)
class ChartRequest:
    """A chart to draw: a label a point, and named series with a value (or None) a point."""

    title: str
    kind: Kind
    labels: Sequence[str]
    series: Sequence[tuple[str, Sequence[float | None]]]


def svg(chart: ChartRequest) -> str:
    values = [value for _, points in chart.series for value in points if value is not None]
    low, high, step = _scale(min([*values, 0.0]) if chart.kind == "bar" else min(values), max(values), chart.kind)
    frame = _Frame(low, high, len(chart.labels), chart.kind)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13">',
        f"<title>{escape(_cut(chart.title, 200))}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="34" font-size="20">{escape(_cut(chart.title, 80))}</text>',
        *_legend(chart),
        *_grid(frame, low, high, step),
        *_labels(frame, chart.labels),
        *(_bars(frame, chart) if chart.kind == "bar" else _lines(frame, chart)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True)
class _Frame:
    """The scales that place a value and a point on the page."""

    low: float
    high: float
    points: int
    kind: Kind

    def x(self, at: float) -> float:
        wide = WIDTH - _LEFT - _RIGHT
        if self.kind == "bar":
            return _LEFT + wide * (at + 0.5) / self.points
        return _LEFT + wide * (at / (self.points - 1) if self.points > 1 else 0.5)

    def y(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * part


def _scale(low: float, high: float, kind: Kind) -> tuple[float, float, float]:
    """Return a round step, and the lowest and highest line of the grid around the values."""
    if kind == "bar":
        high = max(high, 0.0)
    size = max(abs(low), abs(high))
    if high - low <= max(size * _FLAT, _SMALLEST):
        spread = size / 2 if size > _FLAT else 1.0
        low, high = low - spread, high + spread
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    return math.floor(low / step) * step, math.ceil(high / step) * step, step


def _grid(frame: _Frame, low: float, high: float, step: float) -> Iterator[str]:
    for number in range(round((high - low) / step) + 1):
        value = low + number * step
        y = frame.y(value)
        colour = "#555555" if abs(value) < step / 1000 else "#dddddd"
        yield f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" stroke="{colour}"/>'
        shown = 0.0 if abs(value) < step / 1000 else value
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#555555">{shown:.6g}</text>'


def _labels(frame: _Frame, labels: Sequence[str]) -> list[str]:
    every = max(1, math.ceil(len(labels) / _MOST_LABELS))
    y = HEIGHT - _BOTTOM + 18
    return [
        f'<text transform="translate({frame.x(at):.1f} {y}) rotate(30)" fill="#555555">'
        f"{escape(_cut(labels[at], _LABEL))}</text>"
        for at in range(0, len(labels), every)
    ]


def _legend(chart: ChartRequest) -> Iterator[str]:
    x = _LEFT
    for at, (name, _) in enumerate(chart.series):
        shown = _cut(name, 24)
        yield f'<rect x="{x}" y="50" width="14" height="14" fill="{_colour(at)}"/>'
        yield f'<text x="{x + 20}" y="62">{escape(shown)}</text>'
        x += 40 + 8 * len(shown)


def _lines(frame: _Frame, chart: ChartRequest) -> Iterator[str]:
    for at, (_, values) in enumerate(chart.series):
        path: list[str] = []
        pen_down = False
        for number, value in enumerate(values):
            if value is None:
                pen_down = False
                continue
            path.append(f"{'L' if pen_down else 'M'}{frame.x(number):.1f} {frame.y(value):.1f}")
            # A point between two gaps would not be seen: a line of no length has round ends.
            if not pen_down and (number + 1 == len(values) or values[number + 1] is None):
                path.append("h0")
            pen_down = True
        line = f'stroke="{_colour(at)}" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"'
        yield f'<path d="{"".join(path)}" fill="none" {line}/>'


def _bars(frame: _Frame, chart: ChartRequest) -> Iterator[str]:
    room = (WIDTH - _LEFT - _RIGHT) / frame.points * 0.8
    width = room / len(chart.series)
    for at, (_, values) in enumerate(chart.series):
        for number, value in enumerate(values):
            if value is None:
                continue
            x = frame.x(number) - room / 2 + at * width
            top, bottom = sorted((frame.y(value), frame.y(0.0)))
            size = f'width="{max(width, 0.5):.1f}" height="{bottom - top:.1f}"'
            yield f'<rect x="{x:.1f}" y="{top:.1f}" {size} fill="{_colour(at)}"/>'


def _colour(at: int) -> str:
    return _COLOURS[at % len(_COLOURS)]


def _cut(text: str, length: int) -> str:
    """Return one line of at most `length` characters that XML can hold."""
    text = "".join(character if character.isprintable() else " " for character in text)
    return text if len(text) <= length else text[: length - 1] + "…"


LARGEST_FILE: Final = 20_000_000  # bytes
MOST_CELLS: Final = 5_000_000  # columns times rows, some 300 MB
MOST_COLUMNS: Final = 20_000
SEPARATORS: Final = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_LARGEST_NUMBER: Final = 1e150  # squares of such can still be added up
_MISSING: Final = frozenset({"", "-", "na", "n/a", "nan", "null", "none"})
_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?")
_MOST_DESCRIBED: Final = 100  # described one by one
_COMMON: Final = 3
_SHOWN: Final = 40  # characters of a cell


@dataclass(frozen=True, slots=True)
class CsvTable:
    """Columns by name, each with a cell a row ("" where a row is short)."""

    name: str
    separator: str
    columns: dict[str, list[str]]
    rows: int

    def number(self, cell: str) -> float | None:
        """Return the number in a cell; with semicolons between the cells a comma may be its decimal point."""
        cell = cell.strip()
        if self.separator == ";" and "," in cell and "." not in cell:
            cell = cell.replace(",", ".", 1)
        value = float(cell) if _NUMBER.fullmatch(cell) else math.inf
        return value if abs(value) < _LARGEST_NUMBER else None

    def numbers(self, column: str) -> list[float | None] | None:
        """Return a column as numbers, with None where one is missing. A column of anything else is None as a whole."""
        values: list[float | None] = []
        for cell in self.columns[column]:
            value = self.number(cell)
            if value is None and not is_missing(cell):
                return None
            values.append(value)
        return values if any(value is not None for value in values) else None


def is_missing(cell: str) -> bool:
    return cell.strip().casefold() in _MISSING


def read_table(place: FolderEntry) -> CsvTable:
    """Return the file as a table. Raises ToolFailedError when it is none."""
    with place.file() as file:
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise ToolFailedError(f"{place.written} is larger than {LARGEST_FILE // 10**6} MB.")
    text = _decoded(data, place)
    # The separator that cuts the first line into the most cells.
    first = next((line for line in text.splitlines() if line.strip()), "")[:100_000]
    separator = max(SEPARATORS, key=lambda one: sum(map(len, csv.reader([first], delimiter=one))))
    try:
        rows = _bounded(csv.reader(io.StringIO(text, newline=""), delimiter=separator), place)
    except csv.Error as error:
        raise ToolFailedError(f"{place.written} can't be read as CSV: {error}.") from error
    if not rows:
        raise ToolFailedError(f"{place.written} is empty.")
    head, body = _head(rows)
    cells = {name: [row[at] if at < len(row) else "" for row in body] for at, name in enumerate(head)}
    return CsvTable(place.name, separator, cells, len(body))


def _bounded(rows: Iterable[list[str]], place: FolderEntry) -> list[list[str]]:
    """Return the rows that aren't empty, each counted as wide as the widest: short ones are filled up."""
    found: list[list[str]] = []
    width = 0
    for row in rows:
        if not any(row):
            continue
        found.append(row)
        width = max(width, len(row))
        if width > MOST_COLUMNS or width * len(found) > MOST_CELLS:
            raise ToolFailedError(
                f"{place.written} is too large a table: at row {len(found):,} it has {width:,} columns; at most "
                f"{MOST_CELLS:,} cells and {MOST_COLUMNS:,} columns are read. Cut it into smaller files."
            )
    return found


def _decoded(data: bytes, place: FolderEntry) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:8192]:
        raise ToolFailedError(f"{place.written} is a binary file, not CSV.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")  # what spreadsheets in the west write otherwise


def _head(rows: Sequence[list[str]]) -> tuple[list[str], Sequence[list[str]]]:
    """Return the names of the columns, each once, and the rows below; a first row of numbers is no head."""
    width = max(map(len, rows))
    first = rows[0]
    has_head = not all(_NUMBER.fullmatch(cell.strip()) for cell in first if cell.strip())
    cells = [cell.strip() for cell in first] if has_head else []
    names: dict[str, None] = {}
    numbers: dict[str, int] = {}  # by name: the last that was given out
    for at in range(width):
        name = unique = cells[at] if at < len(cells) and cells[at] else f"column {at + 1}"
        while unique in names:
            numbers[name] = numbers.get(name, 1) + 1
            unique = f"{name} ({numbers[name]})"
        names[unique] = None
    return list(names), rows[1:] if has_head else rows


def summarize(place: FolderEntry) -> dict[str, Any]:
    """Return the summary of a file as data: rows, and for each column its kind with what describes it."""
    table = read_table(place)
    names = list(table.columns)
    return {
        "file": table.name,
        "separator": SEPARATORS[table.separator],
        "rows": table.rows,
        "column_count": len(names),
        "columns": [_column(table, name) for name in names[:_MOST_DESCRIBED]],
    }


def described(summary: dict[str, Any]) -> str:
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
        known = [number for number in numbers if number is not None]
        mean = statistics.fmean(known)
        squares = math.fsum((number - mean) ** 2 for number in known)
        return column | {
            "kind": "number",
            "minimum": min(known),
            "maximum": max(known),
            "mean": mean,
            "median": statistics.median(known),
            "deviation": math.sqrt(squares / (len(known) - 1)) if len(known) > 1 else 0.0,
            "sum": math.fsum(known),
        }
    if not present:
        return column
    if all(_DATE.fullmatch(cell) for cell in present):
        return column | {"kind": "date", "first": min(present), "last": max(present)}
    counted = Counter(present)
    common = [{"value": value[:_SHOWN], "count": count} for value, count in counted.most_common(_COMMON)]
    return column | {"kind": "text", "distinct": len(counted), "most_common": common}


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


if __name__ == "__main__":
    StdioServer("fanout-csv-reporter", TOOLS).run()

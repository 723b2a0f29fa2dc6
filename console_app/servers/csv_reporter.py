"""A server that looks into CSV files: summaries and a plot. Run it as `python -m console_app.servers.csv_reporter`.

It reads inside the client's roots alone, or without any inside the folder it was started in. A plot is a new file in
the folder that FANOUT_FILES names, else in that same folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from console_app.servers.parts.csv_chart import ChartRequest, CsvTable, described, read_table, summarize, svg
from console_app.servers.parts.folders import FolderEntry, allowed_folders, file_name, save_new
from console_app.servers.parts.server import (
    Arguments,
    CallContext,
    FileLink,
    StdioServer,
    Tool,
    ToolFailedError,
    ToolOutput,
    counted,
)

MOST_FILES = 50
MOST_SERIES = 6
MOST_POINTS = 400  # of a line; more rows become means of neighbours
MOST_BARS = 30


async def summarize_csv(arguments: Arguments, context: CallContext) -> ToolOutput:
    """Summarize one file."""
    place = (await allowed_folders(context)).place(arguments["path"])
    summary = await asyncio.to_thread(_summary, place)
    return ToolOutput(described(summary), summary)


async def summarize_multiple_csvs(arguments: Arguments, context: CallContext) -> ToolOutput:
    """Several files; one that can't be read leaves the others."""
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
            summary = await asyncio.to_thread(_summary, folders.place(path))
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


def _summary(place: FolderEntry) -> dict[str, Any]:
    return summarize(read_table(place))


async def plot_csv(arguments: Arguments, context: CallContext) -> ToolOutput:
    """Draw columns as a chart, into an SVG file."""
    place = (await allowed_folders(context)).place(arguments["path"])
    kind = arguments.get("kind", "line")
    file, chart = await asyncio.to_thread(_plot, place, arguments.get("columns") or [], kind)
    names = ", ".join(name for name, _ in chart.series)
    points = f"{len(chart.labels)} {'bars each' if kind == 'bar' else 'points'}"
    return ToolOutput(f"Saved {file.path}: {kind} chart of {names}, {points}.", files=(file,))


def _plot(place: FolderEntry, wanted: Sequence[str], kind: str) -> tuple[FileLink, ChartRequest]:
    table = read_table(place)
    series, labels, label_name = _chosen(table, wanted)
    chart = _bar_chart(table, series, labels, label_name) if kind == "bar" else _line_chart(table, series, labels)
    name = file_name(f"{place.path.stem or 'plot'}-{kind}"[:90], ".svg")
    return save_new(name, svg(chart).encode("utf-8", "replace"), "image/svg+xml"), chart


def _chosen(table: CsvTable, wanted: Sequence[str]) -> tuple[list[tuple[str, list[float | None]]], list[str], str]:
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


def _line_chart(table: CsvTable, series: list[tuple[str, list[float | None]]], labels: list[str]) -> ChartRequest:
    size = -(-table.rows // MOST_POINTS)
    if size == 1:
        return ChartRequest(table.name, "line", labels, series)
    starts = range(0, table.rows, size)
    means = [(name, [_mean(values[at : at + size]) for at in starts]) for name, values in series]
    return ChartRequest(f"{table.name} (means of {size} rows)", "line", [labels[at] for at in starts], means)


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def _bar_chart(
    table: CsvTable, series: list[tuple[str, list[float | None]]], labels: list[str], label_name: str
) -> ChartRequest:
    """Rows with one label are added up; the labels that come first have bars of their own."""
    bars = list(dict.fromkeys(labels))
    other = f"{len(bars) - MOST_BARS + 1} others"
    if len(bars) > MOST_BARS:
        bars = [*bars[: MOST_BARS - 1], other]
    place = {label: at for at, label in enumerate(bars)}
    sums: list[tuple[str, list[float | None]]] = []
    for name, values in series:
        totals: list[float | None] = [0.0] * len(bars)
        for label, value in zip(labels, values, strict=True):
            at = place.get(label, len(bars) - 1)
            totals[at] = (totals[at] or 0.0) + (value or 0.0)
        sums.append((name, totals))
    return ChartRequest(f"{table.name}: sums by {label_name}", "bar", bars, sums)


_READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
_PATH = {"type": "string", "description": "Path of the CSV file, inside the allowed folders."}

TOOLS = (
    Tool(
        "summarize_csv",
        "Describes a CSV file: its rows, and of each column the kind, missing values and what describes it.",
        summarize_csv,
        {"path": _PATH},
        ("path",),
        {"title": "Summarise a CSV file", **_READS},
    ),
    Tool(
        "summarize_multiple_csvs",
        "Describes several CSV files at once; one that can't be read leaves the others.",
        summarize_multiple_csvs,
        {
            "paths": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "maxItems": MOST_FILES,
                "description": "Paths of the CSV files.",
            }
        },
        ("paths",),
        {"title": "Summarise CSV files", **_READS},
    ),
    Tool(
        "plot_csv",
        "Draws columns of a CSV file as a chart and saves it as an SVG file. Bars add up the rows of each label.",
        plot_csv,
        {
            "path": _PATH,
            "columns": {
                "type": "array",
                "items": {"type": "string"},
                "description": f"Columns of numbers, at most {MOST_SERIES}, and one for the labels.",
            },
            "kind": {"type": "string", "enum": ["line", "bar"], "default": "line"},
        },
        ("path",),
        {**_READS, "title": "Plot a CSV file", "readOnlyHint": False, "idempotentHint": False},
    ),
)


def main() -> None:
    """Serve the tools over stdin and stdout until stdin ends."""
    StdioServer("fanout-csv-reporter", TOOLS).run()


if __name__ == "__main__":
    main()

"""The chart of a turn as a file: text for a terminal or a ticket, SVG for a page, a trace for Perfetto."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Literal

from rich.style import Style

from console_app.config.secrets import Redactor
from console_app.domain import amounts, one_line, plural
from console_app.domain.transcript import CallView, TurnView, times
from console_app.sessions import export
from console_app.tui.lineview import state_of
from console_app.tui.lineview.lines import Line
from console_app.tui.timeline.chart import (
    GLYPHS,
    ChartColumns,
    Labels,
    Window,
    bar_cells,
    calls_of,
    rows_of,
    ticks,
    time_of,
)

TEXT_WIDTH = 120
SVG_WIDTH, LABEL, TIME, ROW, TOP = 960, 300, 70, 22, 76  # pixels
LABEL_TEXT = 36  # characters that these hold

COLOURS: Mapping[str, str] = {
    "background": "#ffffff",
    "foreground": "#24273a",
    "muted": "#5b6078",
    "grid": "#d8dae5",
    "arguments": "#b8bccf",
    "queue": "#6fa8dc",
    "wait": "#e0a030",
    "run": "#7a5fc0",
    "succeeded": "#4f9d3c",
    "error": "#c9364f",
    "neutral": "#8b90a5",
}


Kind = Literal["svg", "txt", "trace.json"]


def write(turn: TurnView, now: float, kind: Kind, folder: Path, redactor: Redactor | None = None) -> Path:
    """Writes the chart into `folder` under a name that is free there, for this user alone, without the secrets that
    `redactor` knows. Raises ExportError."""
    match kind:
        case "svg":
            text = (redactor or Redactor()).without_known(as_svg(turn, now))
        case "txt":
            text = (redactor or Redactor()).without_known(as_text(turn, now))
        case "trace.json":
            text = export.as_trace([turn], now, redactor)
    return export.write_new(folder / f"timeline-{turn.number}.{kind}", text)


def as_text(turn: TurnView, now: float) -> str:
    """The chart in plain characters."""
    rows, window = rows_of(turn), Window.whole(*turn.reach(now))
    labels = Labels(rows)
    columns = ChartColumns.for_width(TEXT_WIDTH, labels)
    axis = [" "] * columns.bar
    for cell, label in ticks(window, columns.bar):
        axis[cell : cell + len(label) + 1] = f"|{label}"
    lines = [f"Turn {turn.number}: {one_line(turn.prompt, TEXT_WIDTH - 12)}", _sums(turn, now), ""]
    lines.append(" " * (columns.label + 2) + "".join(axis[: columns.bar]))
    for row in rows:
        if isinstance(row, CallView):
            bar = "".join(glyph for glyph, _ in bar_cells(row, window, columns.bar, now))
            label = _fitted(f"{state_of(row)[0]} {labels.within(row, columns.label - 2)}", columns.label)
            lines.append(f" {label} {bar} {time_of(row, now):>{columns.time}}  {state_of(row)[1]}")
        else:
            lines.append(f" Answer {row.number}")
    lines += ["", "  ".join(f"{GLYPHS[phase]} {times.PHASES[phase]}" for phase in times.PHASES)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def as_svg(turn: TurnView, now: float) -> str:
    """The chart as a drawing that stands alone; all text is escaped, and a title on each bar says what it is."""
    rows = rows_of(turn)
    window = Window.whole(*turn.reach(now))
    height = TOP + ROW * len(rows) + 40
    bar = SVG_WIDTH - LABEL - TIME - 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SVG_WIDTH}" height="{height}" '
        f'viewBox="0 0 {SVG_WIDTH} {height}" font-family="ui-monospace, monospace" font-size="13">',
        f'<rect width="100%" height="100%" fill="{COLOURS["background"]}"/>',
        _text(8, 22, f"Turn {turn.number}: {one_line(turn.prompt, 100)}", weight="bold"),
        _text(8, 42, _sums(turn, now), fill="muted"),
    ]
    for cell, label in ticks(window, bar, 90):
        x = LABEL + cell
        parts.append(f'<path d="M{x} {TOP - 6}V{TOP + ROW * len(rows)}" stroke="{COLOURS["grid"]}"/>')
        parts.append(_text(x + 3, TOP - 8, label, fill="muted", size=11))
    labels = Labels(rows)
    for number, row in enumerate(rows):
        y = TOP + number * ROW
        if isinstance(row, CallView):
            parts += _svg_call(row, labels.within(row, LABEL_TEXT), window, bar, y, now)
        else:
            parts.append(_text(8, y + 15, f"Answer {row.number}", weight="bold"))
    x = 8
    for colour, word in _legend(calls_of(rows)):
        y = TOP + ROW * len(rows) + 14
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" rx="2" fill="{colour}"/>')
        parts.append(_text(x + 18, y + 11, word, fill="muted"))
        x += 40 + 8 * len(word)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend(calls: Sequence[CallView]) -> list[tuple[str, str]]:
    """Colours and what they mean: the phases, and of runs how those ended that are drawn."""
    runs = dict.fromkeys((_colour("run", call), state_of(call)[1]) for call in calls if call.started_at is not None)
    return [*((COLOURS[phase], times.PHASES[phase]) for phase in times.PHASES if phase != "run"), *runs]


def _svg_call(call: CallView, label: str, window: Window, bar: int, y: int, now: float) -> list[str]:
    parts = [_text(8, y + 15, one_line(label, LABEL_TEXT))]
    for span in times.spans_of(call, now):
        start, stop = window.cell(span.begin, bar), window.cell(span.end, bar)
        tall = 14 if span.phase == "run" else 6
        words = f"{times.PHASES[span.phase]} {amounts.measured(span.seconds)}"
        opacity = ' opacity="0.4"' if span.superseded else ""
        parts.append(
            f'<rect x="{LABEL + start:.1f}" y="{y + (ROW - tall) / 2:.0f}" width="{max(stop - start, 1.5):.1f}" '
            f'height="{tall}" rx="2" fill="{_colour(span.phase, call)}"{opacity}><title>{_safe(words)}</title></rect>'
        )
    parts.append(_text(SVG_WIDTH - 8, y + 15, f"{time_of(call, now)}", fill="muted", anchor="end"))
    return parts


def _colour(phase: times.Phase, call: CallView) -> str:
    if phase != "run" or call.verdict is None:
        return COLOURS[phase]
    return COLOURS["succeeded" if call.verdict.is_good else "error" if call.verdict.needs_an_eye else "neutral"]


def _text(
    x: int, y: int, text: str, *, fill: str = "foreground", weight: str = "", size: int = 0, anchor: str = ""
) -> str:
    attributes = (("font-weight", weight), ("font-size", size or ""), ("text-anchor", anchor))
    more = "".join(f' {name}="{value}"' for name, value in attributes if value)
    return f'<text x="{x}" y="{y}" fill="{COLOURS[fill]}"{more}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    return escape(one_line(text).replace("\ufffe", "?").replace("\uffff", "?"), quote=False)  # which XML can't hold


def _sums(turn: TurnView, now: float) -> str:
    sums = times.figures(turn, now)
    wall, summed, saved, waited, queued = map(
        amounts.measured, (sums.wall, sums.summed, sums.saved, sums.waited, sums.queued)
    )
    return (
        f"{plural(sums.calls, 'call')} · elapsed {wall} · total {summed} · {saved} saved · "
        f"waited for you {waited} · queued {queued}"
    )


def _fitted(text: str, cells: int) -> str:
    pieces = Line.trim([(text, Style.null())], cells)
    return "".join(part for part, _ in pieces) + " " * (cells - Line.cells(pieces))

"""Paints the rows of the chart: a call each, its words on the left, its bar on the axis, and how long it took.

Phases differ by their glyph and not only by colour, so that the chart reads the same without any.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from os.path import commonprefix

from rich.cells import cell_len
from rich.style import Style

from console_app.domain import CallState, amounts, call_description, one_line, plural
from console_app.domain.transcript import CallView, StepView, TurnView, times
from console_app.records import dataclass, replace
from console_app.tui.lineview import TellingApart, brief_of, state_of, state_style
from console_app.tui.lineview.lines import Line, Piece
from console_app.tui.lineview.palette import Palette

SHORTEST = 0.02  # seconds that a window shows at least
TICK_CELLS = 11  # cells between two ticks, about
ZOOM = 1.6


@dataclass(frozen=True, slots=True)
class Window:
    """Seconds since the epoch from `begin` to `end`, of a turn that goes from `first` to `last`."""

    first: float
    last: float
    begin: float
    end: float

    @classmethod
    def whole(cls, first: float, last: float) -> Window:
        """Everything at once."""
        return cls(first, last, first, last)

    @property
    def zoomed(self) -> bool:
        """Tell whether only a part of the turn is shown."""
        return self.begin > self.first or self.end < self.last

    @property
    def seconds(self) -> float:
        """Return how much time is shown."""
        return self.end - self.begin

    def grown(self, first: float, last: float) -> Window:
        """The same for a turn that went on: the whole stays the whole, and the end stays in view where it was."""
        if not self.zoomed:
            return Window.whole(first, last)
        if self.end >= self.last:
            return Window(first, last, max(last - self.seconds, first), last)
        return replace(self, first=first, last=last)

    def zoom(self, steps: int, around: float | None = None) -> Window:
        """Closer by `steps` (negative: further away), about a moment or the middle."""
        whole = self.last - self.first
        size = min(max(self.seconds / ZOOM**steps, SHORTEST), whole)
        if size >= whole:
            return Window.whole(self.first, self.last)
        middle = self.begin + self.seconds / 2 if around is None else around
        share = (middle - self.begin) / self.seconds if self.begin <= middle <= self.end else 0.5
        return self._at(middle - share * size, size)

    def pan(self, share: float) -> Window:
        """Moved by a share of its own length, within the turn."""
        return self._at(self.begin + share * self.seconds, self.seconds)

    def show(self, begin: float, end: float) -> Window:
        """Move, by as little as it takes, so that a stretch of time is seen, or its beginning if it is too long."""
        if begin < self.end and end > self.begin:
            return self
        return self._at(begin if begin < self.begin else min(begin, end - self.seconds), self.seconds)

    def _at(self, begin: float, size: float) -> Window:
        begin = min(max(begin, self.first), self.last - size)
        return replace(self, begin=begin, end=begin + size)

    def cell(self, at: float, cells: int) -> float:
        """Return the place of a moment on `cells` cells. It is below 0 or above `cells` when it is not shown."""
        return (at - self.begin) / self.seconds * cells


def ticks(window: Window, cells: int, apart: int = TICK_CELLS) -> list[tuple[int, str]]:
    """(cell, label) of the ticks: round seconds after the turn's first call."""
    if cells <= 0:
        return []
    step = _round_step(window.seconds / max(cells / apart, 1))
    found: list[tuple[int, str]] = []
    number = math.ceil((window.begin - window.first) / step - 1e-9)
    while (at := window.first + number * step) <= window.end + step * 1e-6:
        cell = int(window.cell(at, cells) + 1e-6)
        if cell < cells:
            found.append((cell, clock(number * step, step)))
        number += 1
    return found


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten, or of round minutes, that is at least `least` seconds."""
    for step in (60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0):
        if least > 30 and step >= least:
            return step
    power = 10.0 ** math.floor(math.log10(max(least, 0.001)))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * 0.999)


def clock(seconds: float, step: float) -> str:
    """A moment on the axis: `0`, `250 ms`, `1.5 s`, `2:30`."""
    if seconds < step / 2:
        return "0"
    if step >= 60 or seconds >= 600:
        return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
    if step < 0.1 and seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{seconds:.{digits}f} s"


PAINTED: tuple[times.Phase, ...] = ("arguments", "queue", "run", "wait")  # a later one over an earlier one
GLYPHS: dict[times.Phase, str] = {"arguments": "·", "queue": "┈", "wait": "╍", "run": "▆"}
SUPERSEDED = "▂"
GRID = "┊"
BEFORE, AFTER = "‹", "›"
TIME_CELLS = 9
NEAR = 200  # calls that are told apart from each other
LONG = 400  # characters of arguments in which calls that begin alike come to differ


@dataclass(frozen=True, slots=True)
class StepRow:
    """The line above the calls of one answer."""

    number: int
    step: StepView


Row = CallView | StepRow


def rows_of(turn: TurnView) -> list[Row]:
    """The rows of a turn: its answers' calls in call order, each answer under a line if there are several."""
    steps = turn.steps_with_calls
    rows: list[Row] = []
    for number, step in enumerate(steps, 1):
        if len(steps) > 1:
            rows.append(StepRow(number, step))
        rows += step.batch.calls
    return rows


def calls_of(rows: Sequence[Row]) -> list[CallView]:
    return [row for row in rows if isinstance(row, CallView)]


@dataclass(frozen=True, slots=True)
class ChartColumns:
    """Cells of a line: label, bar and time, with a space between and one at each end."""

    label: int
    bar: int
    time: int

    @classmethod
    def for_width(cls, width: int, labels: Labels) -> ChartColumns:
        """Give the label as many cells as the calls need, a third of the line at most; the bar gets what is left."""
        time = TIME_CELLS if width >= 50 else 7
        label = max(min(labels.longest + 2, width // 3), 8)
        return cls(label, max(width - label - time - 4, 4), time)


class Labels:
    """Labels the calls of a chart so that they are told apart: what is common to all of them comes last, or not at all.

    The labels hold as long as `hold_for` says: every line of every frame asks for them. Of thousands of calls only
    those near a line that is asked for are labelled.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.calls = calls_of(rows)
        self._of: dict[str, str] = {}  # by call
        self._made_of = _made_of(self.calls)
        self._some = self.calls[:: len(self.calls) // NEAR + 1]  # so many, of all kinds
        self._telling = TellingApart(self._some)
        self._places = {call.id: place for place, call in enumerate(self.calls)}
        tools = {call.name: call for call in self.calls}
        self._shared = Counter(tool for tool, _ in {(one.tool, one.server) for one in tools.values()})
        self._fitted: dict[tuple[int, int], dict[str, str]] = {}  # by cells and NEAR, the labels cut to these by call
        self._one_tool = len(self.calls) > 1 and len(tools) == 1

    def hold_for(self, rows: Sequence[Row]) -> bool:
        """Tell whether the calls of the rows are still these, with the same arguments."""
        calls = calls_of(rows)
        return calls == self.calls and _made_of(calls) == self._made_of

    @cached_property
    def longest(self) -> int:
        return max((cell_len(self.of(call)) for call in self._some), default=10)

    def within(self, call: CallView, room: int) -> str:
        """The same in at most `room` cells. Labels that would be cut to the same begin where they come to differ."""
        near = self._places[call.id] // NEAR
        if (room, near) not in self._fitted:
            self._fitted[room, near] = self._told_apart(self.calls[near * NEAR : (near + 1) * NEAR], room)
        return self._fitted[room, near][call.id]

    def _told_apart(self, several: Sequence[CallView], room: int) -> dict[str, str]:
        """Choose a label for each call: the brief one, but where `room` cells would show several alike, the whole one
        from a word that differs."""
        fitted = {call.id: self.of(call) for call in several}
        alike: dict[str, list[CallView]] = {}
        for call in several:
            label = fitted[call.id]
            alike.setdefault(label if cell_len(label) <= room else label[: room - 1], []).append(call)
        for calls in alike.values():
            if len(calls) == 1:
                continue
            whole = {call.id: self._whole(call) for call in calls}
            common = commonprefix([*whole.values()])  # noqa: RUF071  by characters is what is meant
            begin = max(common.rfind(mark) for mark in " /=.,:") + 1
            if begin and len({*whole.values()}) > 1:
                fitted |= {call_id: f"…{text[begin:]}" for call_id, text in whole.items()}
        return fitted

    def of(self, call: CallView) -> str:
        """Tool and arguments in brief, safe and in one line."""
        if call.id not in self._of:
            self._of[call.id] = self._make(call)
        return self._of[call.id]

    def _make(self, call: CallView) -> str:
        name = one_line(call.tool if call.server else call.name, 40)
        brief = brief_of(call, 60, self._telling.of(call.name))
        if self._one_tool and brief:
            return f"{brief}  {name}"
        if call.server and self._shared[call.tool] > 1:
            name = f"{one_line(call.server, 24)}.{name}"
        return f"{name} {brief}".rstrip()

    def _whole(self, call: CallView) -> str:
        """The arguments that tell it from others, then the rest, as far as anybody may want to read."""
        arguments = call.arguments or {}
        names = dict.fromkeys((*self._telling.of(call.name), *arguments))
        return one_line(" ".join(f"{name}={arguments[name]}" for name in names if name in arguments), LONG)


def _made_of(calls: Sequence[CallView]) -> list[object]:
    """Return what changes of that which the labels of calls are made from."""
    return [
        (len(one.arguments_text), one.state is CallState.FINISHED) if one.arguments is None else one.arguments
        for one in calls
    ]


def bar_cells(call: CallView, window: Window, cells: int, now: float) -> list[tuple[str, times.Span | None]]:
    """The bar as one glyph a cell, each with the span it belongs to."""
    line: list[tuple[str, times.Span | None]] = [(" ", None)] * cells
    for cell, _ in ticks(window, cells):
        line[cell] = (GRID, None)
    spans = sorted(times.spans_of(call, now), key=lambda span: (PAINTED.index(span.phase), not span.superseded))
    hidden_before = hidden_after = False
    for span in spans:
        start, stop = window.cell(span.begin, cells), window.cell(span.end, cells)
        hidden_before |= stop < 0
        hidden_after |= start > cells
        if stop < 0 or start > cells:
            continue
        first = min(max(int(start + 0.5), 0), cells - 1)
        last = min(max(int(stop + 0.5), first + (span.phase == "run")), cells)
        glyph = SUPERSEDED if span.superseded else GLYPHS[span.phase]
        line[first:last] = [(glyph, span)] * (last - first)
    if all(span is None for _, span in line):
        if hidden_before:
            line[0] = (BEFORE, None)
        if hidden_after:
            line[-1] = (AFTER, None)
    return line


def phase_style(phase: times.Phase, call: CallView, palette: Palette) -> Style:
    """The colour of a phase; that of a run is its call's state."""
    if phase == "run":
        return state_style(call, palette)
    return {"wait": palette.warning, "queue": palette.accent}.get(phase, palette.muted)


def paint_call(
    call: CallView,
    label: str,
    columns: ChartColumns,
    width: int,
    window: Window,
    now: float,
    palette: Palette,
    *,
    chosen: bool,
) -> Line:
    glyph, _ = state_of(call, palette.turning(now))
    name = Line.trim([(label, palette.strong if chosen else palette.base)], columns.label - 2)
    pieces: list[Piece] = [("▌" if chosen else " ", palette.primary), (f"{glyph} ", state_style(call, palette)), *name]
    pieces.append((" " * (columns.label + 2 - Line.cells(pieces)), palette.base))
    for (glyph, span), cells in groupby(bar_cells(call, window, columns.bar, now)):
        if span is None:
            style = palette.faint
        elif span.superseded:
            style = palette.muted
        else:
            style = phase_style(span.phase, call, palette)
        pieces.append((glyph * len([*cells]), style))
    pieces.append(
        (f" {time_of(call, now):>{columns.time}}", palette.muted if call.started_at is None else palette.base)
    )
    return Line.fit(_joined(pieces), width, palette.base)


def paint_step(row: StepRow, width: int, now: float, palette: Palette) -> Line:
    """The line above the calls of one answer."""
    sums = times.step_figures(row.step.batch.calls, now)
    facts = [plural(sums.calls, "call"), amounts.measured(sums.wall)]
    if sums.saved > 0.1:
        facts.append(f"{amounts.seconds(sums.saved)} saved")
    pieces = [(f" Answer {row.number}", palette.heading), (f"  {' · '.join(facts)}", palette.muted)]
    return Line.fit(Line.trim(pieces, width), width, palette.base)


def axis(columns: ChartColumns, window: Window, palette: Palette) -> list[Piece]:
    """The labels of the ticks, each beginning where its tick is, and how far that reaches."""
    line = [" "] * columns.bar
    for cell, label in ticks(window, columns.bar):
        text = f"{GRID}{label}"
        if cell + len(text) <= columns.bar and all(spot == " " for spot in line[cell : cell + len(text) + 1]):
            line[cell : cell + len(text)] = text
    return [(" " * (columns.label + 2), palette.base), ("".join(line), palette.muted)]


def time_of(call: CallView, now: float) -> str:
    """Return the time that a call ran; a dash for one that never did, "" while it waits."""
    if call.started_at is None:
        return "–" if call.finished_at is not None else ""
    return call_description.took(call, now).replace("at least", "≥")


def summary(sums: times.Figures, palette: Palette, room: int) -> list[Piece]:
    """Compare in one line the wall time with the sum, and name the time that is no work.

    Where `room` is short, the queue goes first, which the rows show, then the sum, which the saved time implies.
    """
    dot: Piece = (" · ", palette.faint)
    parts: dict[str, list[Piece]] = {
        "calls": [(plural(sums.calls, "call"), palette.strong)],
        "elapsed": [dot, ("elapsed ", palette.muted), (amounts.measured(sums.wall), palette.base)],
        "total": [dot, ("total ", palette.muted), (amounts.measured(sums.summed), palette.base)],
    }
    if sums.saved > 0.05:
        parts["saved"] = [dot, (f"{amounts.measured(sums.saved)} saved", palette.success)]
    for what, value in (("waited for you", sums.waited), ("queued", sums.queued)):
        if value > 0.05:
            parts[what] = [dot, (f"{what} {amounts.measured(value)}", palette.muted)]
    for dispensable in ("queued", "total", "waited for you"):
        if sum(map(Line.cells, parts.values())) > room:
            parts.pop(dispensable, None)
    return [piece for part in parts.values() for piece in part]


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for text, style in pieces:
        if joined and joined[-1][1] == style:
            joined[-1] = (joined[-1][0] + text, style)
        else:
            joined.append((text, style))
    return joined

"""The timeline: a turn's calls as a Gantt chart, to walk through by key, live while the turn runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from console_app.config.secrets import Redactor
from console_app.domain import FanoutError, amounts, one_line, plural
from console_app.domain.transcript import CallView, Transcript, TurnView, times
from console_app.tui.lineview import brief_of, state_of
from console_app.tui.lineview.lines import Line, Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.timeline import chart, export
from console_app.tui.timeline.chart import ChartColumns, Labels, Row, Window
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.row_list import RowList

FRAME = 0.1  # seconds between two looks while the turn runs
REST = 0.5  # seconds between two looks for a new turn while none does
SPAN = 3  # pieces of what is said of one span
PAN = 0.25  # of what is shown
SHORTEST = 0.001  # seconds of a span that is named, unless there is no longer one
WIDE = 110  # cells from which one line holds all of the call under the cursor
HIGH = 20  # lines from which there is room for two

TimelineResult = tuple[Literal["open", "inspect"], str]
"""Names what to do, and the call to do it with."""


class TimelineChart(RowList):
    """The rows of one turn."""

    def __init__(self) -> None:
        super().__init__()
        self.turn: TurnView | None = None
        self.rows: list[Row] = []
        self.labels = Labels(())
        self.window = Window.whole(0.0, 1.0)
        self.now = 0.0
        self._figures: times.Figures | None = None  # at that time

    @property
    def columns(self) -> ChartColumns:
        """Return the columns in which label, bar and time stand."""
        return ChartColumns.for_width(self.size.width, self.labels)

    def show(self, turn: TurnView | None, now: float) -> None:
        if turn is not self.turn:
            self.turn, self.window, self.cursor = turn, Window.whole(0.0, 1.0), -1
        self.now, self._figures = now, None
        rows = chart.rows_of(turn) if turn is not None else []
        if turn is not None:
            self.window = self.window.grown(*turn.reach(now))
        if len(rows) != len(self.rows) or self.cursor < 0:
            self.rows = rows
            self.set_count(len(rows))
        self.rows = rows
        if not self.labels.hold_for(rows):
            self.labels = Labels(rows)
        self.refresh()

    def figures(self, turn: TurnView) -> times.Figures:
        """The sums of the turn. A frame may paint them several times."""
        if self._figures is None:
            self._figures = times.figures(turn, self.now)
        return self._figures

    @property
    def call(self) -> CallView | None:
        """The call under the cursor."""
        row = self.rows[self.cursor] if 0 <= self.cursor < len(self.rows) else None
        return row if isinstance(row, CallView) else None

    def go_to(self, call: CallView) -> None:
        """Puts the cursor on a call, where it is here."""
        for number, row in enumerate(self.rows):
            if row is call:
                self.move_to(number)

    def is_stop(self, row: int) -> bool:
        """Calls; the lines above them only tell."""
        return isinstance(self.rows[row], CallView)

    def paint_row(self, row: int, width: int, palette: Palette) -> Line:
        found = self.rows[row]
        if isinstance(found, CallView):
            chosen = row == self.cursor
            label = self.labels.within(found, self.columns.label - 2)
            return chart.paint_call(found, label, self.columns, width, self.window, self.now, palette, chosen=chosen)
        return chart.paint_step(found, width, self.now, palette)


class Lines(Widget):
    """A line whose pieces a function of width and palette gives, as far as they fit."""

    DEFAULT_CSS = "Lines { height: 1; width: 1fr; }"

    def __init__(self, chart: TimelineChart, paint: Callable[[int, Palette], list[Piece]], *, id: str) -> None:
        super().__init__(id=id)
        self._chart = chart
        self._paint = paint

    def render_line(self, y: int) -> Strip:
        width, palette = self.size.width, self._chart.palette
        return Line.fit(Line.trim(self._paint(width, palette), width), width, palette.base)


class TimelineScreen(Dialog[TimelineResult | None], sheets=("timeline.tcss",)):
    """Opens on the selected call, else on the newest turn that called something. Gives the call to go to, or None."""

    DEFAULT_CLASSES = "dialog -tall"
    AUTO_FOCUS = "TimelineChart"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go('open')", "panel", tooltip="go to the call's panel", id="timeline.open"),
        Binding("i", "go('inspect')", "inspect", id="timeline.inspect"),
        Binding("s", "export('svg')", "SVG", tooltip="write it as SVG", id="timeline.svg"),
        Binding("t", "export('txt')", "text", tooltip="write it as text", id="timeline.text"),
        Binding("e", "export('trace.json')", "trace", tooltip="write it as a trace for Perfetto", id="timeline.trace"),
        Binding("plus,equals_sign,shift+right", "zoom(1)", "zoom", tooltip="zoom in", id="timeline.zoom_in"),
        Binding("minus,shift+left", "zoom(-1)", "zoom out", id="timeline.zoom_out", show=False),
        Binding("left_square_bracket", "turn(-1)", "turn before", id="timeline.previous"),
        Binding("right_square_bracket", "turn(1)", "turn after", id="timeline.next", show=False),
        Binding("0", "whole", "all of it", id="timeline.whole", show=False),
        Binding("left,h", "pan(-1)", "earlier", tooltip="earlier, when zoomed in", id="timeline.left", show=False),
        Binding("right,l", "pan(1)", "later", tooltip="later, when zoomed in", id="timeline.right", show=False),
        Binding("escape,q,ctrl+t", "leave", "close", id="timeline.close"),
    ]

    def __init__(
        self,
        transcript: Transcript,
        clock: Callable[[], float],
        folder: Path,
        redactor: Redactor | None = None,
        at: CallView | None = None,
    ) -> None:
        super().__init__()
        self._redactor = redactor
        self._transcript = transcript
        self._clock = clock
        self._folder = folder
        self._at = at
        self._picked: TurnView | None = None  # None: the newest one
        self._chart = TimelineChart()
        self._timer: Timer | None = None
        self._live = True

    def compose(self) -> ComposeResult:
        """Sums, axis, rows, what the cursor is on, legend."""
        with Vertical(id="box"):
            yield Lines(self._chart, self._sums, id="sums")
            yield Lines(self._chart, self._axis, id="axis")
            yield self._chart
            yield Lines(self._chart, self._detail, id="detail")
            yield Lines(self._chart, self._spent, id="spent")
            yield Lines(self._chart, self._legend, id="legend")
            yield KeyHints()

    def on_mount(self) -> None:
        """Run the one clock as long as something moves; it begins once the chart is seen."""
        self.call_after_refresh(self._run_clock, live=True)
        self._picked = next((turn for turn in self.turns[:-1] if any(one is self._at for one in turn.calls)), None)
        self._show()
        if self._at is not None:
            self._chart.go_to(self._at)

    def on_resize(self) -> None:
        """A second line for the call under the cursor, where one is too short and the rows can spare it."""
        self.query_one("#spent").display = self.size.width < WIDE and self.size.height >= HIGH

    def _run_clock(self, *, live: bool) -> None:
        self._timer = self.set_interval(self._chart.pace(FRAME) if live else REST, self._tick)
        self._refresh("sums")

    # -- what is shown

    @property
    def turns(self) -> list[TurnView]:
        """The turns that called something, and the one that runs."""
        turns = self._transcript.turns
        return [turn for turn in turns if turn.steps_with_calls or (turn is turns[-1] and turn.outcome is None)]

    def _tick(self) -> None:
        turn = self._chart.turn
        live = turn is not None and turn.is_live
        newest = self.turns[-1] if self.turns else None
        if live or self._live or (self._picked is None and newest is not turn):
            self._show()
        if live != self._live:
            self._live = live
            if self._timer is not None:
                self._timer.stop()
            self._run_clock(live=live)

    def _show(self) -> None:
        turns = self.turns
        turn = self._picked if self._picked in turns else turns[-1] if turns else None
        self._chart.show(turn, self._clock())
        dialog = self.query_one("#box")
        if turn is None:
            dialog.border_title = "Timeline"
        else:
            earlier = turns.index(turn)
            beside = ((earlier, "earlier"), (len(turns) - 1 - earlier, "later"))
            place = "".join(f" · {count} {where}" for count, where in beside if count)
            room = max(self.size.width - 34 - len(place), 10)
            # As Content: a title given as text is read as markup, and the prompt is no text of ours.
            title = f"Timeline · turn {turn.number}{place} · {one_line(turn.prompt, room)}"
            dialog.border_title = Content(title)  # pyright: ignore[reportAttributeAccessIssue]  (Textual takes both)
        for line in self.query(Lines):
            line.refresh()

    def _sums(self, width: int, palette: Palette) -> list[Piece]:
        turn = self._chart.turn
        if turn is None or not self._chart.rows:
            text = "No call yet. The chart fills as they come." if turn else "No turn has called a tool yet."
            return [(f" {text}", palette.muted)]
        if self._timer is None:  # the first picture doesn't wait until thousands of calls are summed up
            return [(f" {plural(len(turn.calls), 'call')}", palette.strong)]
        return [(" ", palette.base), *chart.summary(self._chart.figures(turn), palette, width - 2)]

    def _axis(self, width: int, palette: Palette) -> list[Piece]:
        return chart.axis(self._chart.columns, self._chart.window, palette) if self._chart.rows else []

    def _detail(self, width: int, palette: Palette) -> list[Piece]:
        call = self._chart.call
        if call is None:
            return []
        pieces: list[Piece] = [
            (f" {one_line(call.label, 50)}", palette.strong),
            (f" {state_of(call)[1]}  ", palette.muted),
        ]
        failed = [(" · ", palette.faint), (one_line(call.error, 200), palette.error)] if call.error else []
        spans = [] if self.query_one("#spent").display else self._spans(call, palette)
        rest = width // 3 if spans or failed else width - Line.cells(pieces)
        pieces.append((brief_of(call, max(rest, 16)), palette.base))
        while spans and Line.cells([*pieces, *spans, *failed]) > width:
            del spans[:SPAN]  # what came first says least: how its arguments arrived
        return [*pieces, *spans, *failed]

    def _spent(self, width: int, palette: Palette) -> list[Piece]:
        """Say in a line what the call's time went into; the first parts make way where not all fit."""
        call = self._chart.call
        pieces = self._spans(call, palette) if call is not None else []
        while Line.cells(pieces) + 2 > width and len(pieces) > SPAN:
            del pieces[:SPAN]
        return [("   ", palette.base), *pieces[1:]]

    def _spans(self, call: CallView, palette: Palette) -> list[Piece]:
        pieces: list[Piece] = []
        spans = times.spans_of(call, self._chart.now)
        for span in [one for one in spans if one.seconds >= SHORTEST] or spans:
            again = " (before)" if span.superseded else ""
            pieces += [
                (" · ", palette.faint),
                (chart.GLYPHS[span.phase] + " ", chart.phase_style(span.phase, call, palette)),
                (f"{times.PHASES[span.phase]}{again} {amounts.measured(span.seconds)}", palette.base),
            ]
        return pieces

    def _legend(self, width: int, palette: Palette) -> list[Piece]:
        pieces: list[Piece] = []
        styles = {"wait": palette.warning, "queue": palette.accent, "run": palette.success}
        for phase in times.PHASES:
            pieces.append((f" {chart.GLYPHS[phase] * 2} ", styles.get(phase, palette.muted)))
            pieces.append((f"{times.PHASES[phase]} ", palette.muted))
        if self._chart.window.zoomed:
            pieces.append((" zoomed: ←→ move, 0 shows all", palette.accent))
        return pieces

    # -- keys

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        event.stop()
        call = self._chart.call
        if call is not None and (spans := times.spans_of(call, self._chart.now)):
            self._look(self._chart.window.show(spans[0].begin, spans[-1].end))
        self._refresh("detail", "spent")

    @on(RowList.Clicked)
    def _clicked(self, event: RowList.Clicked) -> None:
        event.stop()
        if event.again:
            self.action_go("open")

    def _look(self, window: Window) -> None:
        self._chart.window = window
        self._chart.refresh()
        self._refresh("axis", "legend")

    def _refresh(self, *lines: str) -> None:
        """The lines that changed; the sums, of all calls, change with these alone."""
        for name in lines:
            self.query_one(f"#{name}").refresh()

    def action_pan(self, direction: int) -> None:
        self._look(self._chart.window.pan(direction * PAN))

    def action_zoom(self, steps: int) -> None:
        """Closer to what the call under the cursor did, or further away."""
        call = self._chart.call
        spans = times.spans_of(call, self._chart.now) if call is not None else []
        around = (spans[0].begin + spans[-1].end) / 2 if spans else None
        self._look(self._chart.window.zoom(steps, around))

    def action_whole(self) -> None:
        window = self._chart.window
        self._look(Window.whole(window.first, window.last))

    def action_turn(self, delta: int) -> None:
        turns, turn = self.turns, self._chart.turn
        if turn is None or turn not in turns:
            return
        place = min(max(turns.index(turn) + delta, 0), len(turns) - 1)
        self._picked = None if place == len(turns) - 1 else turns[place]
        self._show()

    def action_go(self, what: Literal["open", "inspect"]) -> None:
        """Enter, i: leaves for the call under the cursor."""
        if (call := self._chart.call) is not None:
            self.dismiss((what, call.id))

    def action_export(self, kind: export.Kind) -> None:
        """s, t, e: a file in the working folder."""
        if (turn := self._chart.turn) is not None and self._chart.rows:
            self.app.run_worker(partial(self._write, turn, kind))  # the file is written though the screen closes

    async def _write(self, turn: TurnView, kind: export.Kind) -> None:
        """Thousands of calls take a second."""
        try:
            path = await asyncio.to_thread(export.write, turn, self._chart.now, kind, self._folder, self._redactor)
        except FanoutError as error:
            self.notify(error.line, severity="error", markup=False)
        else:
            self.notify(f"Written to {one_line(path.name)} in the working folder", markup=False)

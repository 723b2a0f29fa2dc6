"""The lane of a call: a bar on the time scale of its batch, whose start and end show what ran side by side."""

from __future__ import annotations

from rich.style import Style

from console_app.domain import CallState
from console_app.domain.transcript import CallView, times, verdicts
from console_app.tui.lineview.call_group import lane_start
from console_app.tui.lineview.lines import Piece
from console_app.tui.lineview.palette import Palette

IDLE, QUEUE, WAIT, RUN = " ", "┈", "╍", "─"
_MARKS = {  # of a call that has not started
    CallState.ANNOUNCED: IDLE,
    CallState.WAITING: WAIT,
    CallState.QUEUED: QUEUE,
    CallState.RUNNING: QUEUE,
    CallState.FINISHED: IDLE,
}
RUN_LATE, RUN_EARLY = "╶", "╴"  # the halves of a cell, where a run begins or ends in its middle


def state_style(call: CallView, palette: Palette) -> Style:
    """The colour of a call's state. What you decided yourself is neutral."""
    if (verdict := call.verdict) is not None:
        if verdict.word is verdicts.VerdictWord.SAID_NO:
            return palette.warning
        return palette.success if verdict.is_good else palette.error if verdict.needs_an_eye else palette.muted
    if call.waits_for_you:
        return palette.warning
    return palette.secondary if call.state is CallState.RUNNING else palette.muted


def lane(call: CallView, width: int, scale: times.OwnTime, now: float, palette: Palette) -> list[Piece]:
    """The lane as pieces that fill exactly `width` cells. Nothing stands where the call was not there, or is over: a
    line with a rail under it would be read as how far it is."""
    if width <= 0:
        return []

    def place(at: float) -> int:
        return round(scale.share(at) * width * 2)  # in half cells

    ready = min(place(lane_start(call)) // 2, width - 1)
    stop = place(now if call.finished_at is None else call.finished_at)
    if call.started_at is None:
        mark = _MARKS[call.state]
        style = palette.warning if mark is WAIT else palette.faint
        reach = max(min(stop // 2, width), ready + (mark is WAIT))
        return _pieces(
            [(" " * ready, palette.base), (mark * (reach - ready), style), (" " * (width - reach), palette.base)]
        )
    start = min(place(call.started_at), width * 2 - 1)
    stop = min(max(stop, start + 1), width * 2)
    first, last = start // 2, (stop + 1) // 2
    run = RUN * (last - first)
    if start % 2:
        run = RUN_LATE + run[1:]
    if stop % 2 and len(run) > 1:
        run = run[:-1] + RUN_EARLY
    elif stop % 2 and not start % 2:
        run = RUN_EARLY
    before = min(ready, first)
    return _pieces([
        (" " * before, palette.base),
        (QUEUE * (first - before), palette.faint),
        (run, _run_style(call, palette)),
        (" " * (width - last), palette.base),
    ])  # fmt: skip


def _run_style(call: CallView, palette: Palette) -> Style:
    """What runs or went wrong has the colour of its state; what is over stands back."""
    style = state_style(call, palette)
    return palette.faint if call.outcome is not None and style != palette.error else style


def _pieces(pieces: list[Piece]) -> list[Piece]:
    return [piece for piece in pieces if piece[0]]

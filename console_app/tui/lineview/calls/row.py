"""Write a call as one line. The columns are as wide as the calls of the batch need.

The result has a third of the width at least. The rest goes to the arguments first, since they tell rows apart. For want
of room the lane goes, then the server that all rows share, then the word that the glyph says too.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from rich.style import Style

from console_app.domain import CallState, amounts
from console_app.domain.transcript import CallView, times, verdicts
from console_app.tui.lineview.calls.detail import CallDetail
from console_app.tui.lineview.calls.group import CallGroup, Widths, badges, label_of, lane_start
from console_app.tui.lineview.calls.news import RUNNING, news
from console_app.tui.lineview.lines import Piece, crop, pieces_width
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.wording import state_of

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
    """Return the style of the call's state while it runs or after it failed, and a faint one once it is over."""
    style = state_style(call, palette)
    return palette.faint if call.outcome is not None and style != palette.error else style


def _pieces(pieces: list[Piece]) -> list[Piece]:
    return [piece for piece in pieces if piece[0]]


TIME_WIDTH = 8
MIN_LANE, MAX_LANE = 8, 30
LANE_SHARE = 0.2  # of the width
TELLING = 24  # cells of the arguments that are worth more than a server's name or the word of a state
SHORTEST = 4  # cells below which arguments or a name say nothing


@dataclass(frozen=True, slots=True)
class Columns:
    """Cells for each part of a row; 0: it is left out."""

    word: int
    server: bool
    label: int
    brief: int
    lane: int


def columns(room: int, widths: Widths) -> Columns:
    """The columns of rows of `room` cells. Times have theirs from the start: the first call that runs would move all
    others, under the eye."""
    left = room - room // 3 - TIME_WIDTH - 4  # with the gaps behind the times and the arguments
    named, drawn = not widths.one_server, MIN_LANE + 1
    ways = ((True, True, drawn), (named, True, drawn), (named, True, 0), (named, False, 0), (False, False, 0))
    word, server, label, spare, beside = 0, False, 0, 0, 0
    for server, with_word, beside in ways:
        word = widths.word if with_word else 0
        label = widths.label if server else widths.tool
        spare = left - (word + 4 if word else 2) - label - 2
        if spare >= min(widths.brief, TELLING) + beside:
            break
    if spare < 0:
        label, spare = max(label + spare, SHORTEST), 0
    brief = min(widths.brief, spare - beside) if spare >= min(widths.brief, SHORTEST) else 0
    size = min(spare - brief - 1, int(room * LANE_SHARE), MAX_LANE)
    return Columns(word, server, label, brief, size if size >= MIN_LANE else 0)


def row(call: CallView, group: CallGroup, room: int, palette: Palette, now: float, detail: CallDetail) -> list[Piece]:
    """The line of a call as pieces that take at most `room` cells."""
    wide = columns(room, group.widths())
    glyph, word = state_of(call, palette.turning(now))
    head = f"{glyph} {word:<{wide.word}}  " if wide.word else f"{glyph} "
    pieces: list[Piece] = [(head, state_style(call, palette))]
    marks = badge_pieces(call, palette)
    name = label_pieces(call, palette, server=wide.server)
    pieces += _filled(name if wide.brief else [*name, *marks], wide.label, palette)
    beside: Piece | None = None
    if wide.brief:  # a badge stands behind the arguments, in their room: the columns are the same in all rows
        wanted = min(wide.brief, cell_len(group.brief(call, TELLING)))  # all that there is to read of them
        while marks and wide.brief - pieces_width(marks) < wanted:
            beside = marks.pop(0)  # the last one, which says most, stands before the result then
        left = max(wide.brief - pieces_width(marks), 0)
        brief = crop([(group.brief(call, left) if left else "", palette.muted)], left)
        pieces += _filled([*brief, *marks], wide.brief, palette)
    if wide.lane:
        pieces += [*lane(call, wide.lane, group.scale(now), now, palette), (" ", palette.base)]
    pieces.append((f"{took(call, now):>{TIME_WIDTH}}  ", palette.base))
    said: list[Piece] = [] if beside is None or marks else [(f"{beside[0].strip()} ", beside[1])]
    if not wide.word and (call.waits_for_you or (call.verdict is not None and not call.verdict.is_good)):
        said += [(word, state_style(call, palette)), (" · ", palette.faint)]
    left = room - pieces_width([*pieces, *said])
    named = bool(wide.word or call.waits_for_you)
    newest = news(call, left, palette, now, detail, opened=False, named=named) if left > 0 else []
    if wide.word:  # which says it already
        newest = [piece for piece in newest if piece[0] != RUNNING]
    if not any(text for text, _ in newest):
        return crop([*pieces, *(said[:-1] if said and said[-1][0] == " · " else said)], room)
    return [*pieces, *said, *newest]


def label_pieces(call: CallView, palette: Palette, *, server: bool = True) -> list[Piece]:
    """`server · tool`."""
    name, tool = label_of(call)
    pieces: list[Piece] = [(name, palette.base), (" · ", palette.muted)] if name and server else []
    return [*pieces, (tool, palette.strong)]


def badge_pieces(call: CallView, palette: Palette) -> list[Piece]:
    """Return the badges of the call as pieces, the unusual ones in the colour of a warning."""
    return [(f" {text}", palette.muted if text == "[text]" else palette.warning) for text in badges(call)]


def took(call: CallView, now: float) -> str:
    """Return the time that a call ran, or has been running; "" before it started."""
    if call.started_at is None:
        return ""
    if call.state is not CallState.FINISHED:
        return amounts.seconds(now - call.started_at)
    return amounts.measured(
        call.duration_ms / 1000 if call.duration_ms else (call.finished_at or now) - call.started_at
    )


def _filled(pieces: list[Piece], cells: int, palette: Palette) -> list[Piece]:
    """The pieces in a column of so many cells, and the gap behind it."""
    kept = crop(pieces, cells)
    return [*kept, (" " * (cells - pieces_width(kept) + 2), palette.base)]

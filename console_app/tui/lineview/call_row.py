"""A call as one line: what stands in its columns, and how wide these are by what the calls of the batch have to say.

The result has a third of the width at least. What is left goes to the arguments first, since they tell rows apart; for
want of room the lane goes, then the server that is the same in all rows, then the word that the glyph says too.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from console_app.domain import CallState, amounts
from console_app.domain.transcript import CallView
from console_app.tui.lineview.call_detail import CallDetail
from console_app.tui.lineview.call_group import CallGroup, Widths, badges, label_of
from console_app.tui.lineview.call_lane import lane, state_style
from console_app.tui.lineview.call_news import RUNNING, news
from console_app.tui.lineview.lines import Piece, crop, pieces_width
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.wording import state_of

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
    """What was done to the call."""
    return [(f" {text}", palette.muted if text == "[text]" else palette.warning) for text in badges(call)]


def took(call: CallView, now: float) -> str:
    """How long it ran, or runs; nothing before that."""
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

"""Write a call as one sentence: its tool, its main argument, what came of it, and its time at the end of the line.

What came of it has a third of the line at least; the rest is the arguments', since they tell rows apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from console_app.domain import CallState, Outcome, amounts, call_description
from console_app.domain.transcript import CallView, verdicts
from console_app.tui.lineview.calls.detail import CallDetail
from console_app.tui.lineview.calls.group import CallGroup, badges
from console_app.tui.lineview.calls.news import decided_by_you, news, share, share_done
from console_app.tui.lineview.lines import Piece, crop, pieces_width
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.wording import state_of

SHORTEST = 4  # cells below which arguments or a name say nothing


def state_style(call: CallView, palette: Palette) -> Style:
    """The colour of a call's state. What you decided yourself is neutral."""
    if (verdict := call.verdict) is not None:
        if verdict.word is verdicts.VerdictWord.SAID_NO:
            return palette.warning
        return palette.success if verdict.is_good else palette.error if verdict.needs_an_eye else palette.muted
    if call.waits_for_you:
        return palette.warning
    return palette.secondary if call.state is CallState.RUNNING else palette.muted


def row(
    call: CallView,
    group: CallGroup,
    room: int,
    palette: Palette,
    now: float,
    detail: CallDetail,
    *,
    opened: bool = False,
    filled: bool = True,
    below: Sequence[str] = (),
    told: Sequence[Piece] = (),
) -> list[Piece]:
    """The line of a call as pieces that take exactly `room` cells. `opened`: what stands below is not said here too,
    nor is what stands `below` while it runs. `filled`: how far it is shows as the ground of the line.
    `told` comes before all else that is told."""
    pieces = _sentence(call, group, room, palette, now, detail, opened=opened, below=below, first=told)
    done = share_done(call) if filled else None
    if not done or palette.chosen is None:
        return pieces
    inked = _sentence(call, group, room, palette.chosen, now, detail, opened=opened, below=below, first=told)
    inked = crop(inked, int(done * room), "")
    return [*inked, *_behind(pieces, sum(len(text) for text, _ in inked))]


def _sentence(
    call: CallView,
    group: CallGroup,
    room: int,
    palette: Palette,
    now: float,
    detail: CallDetail,
    *,
    opened: bool,
    below: Sequence[str],
    first: Sequence[Piece],
) -> list[Piece]:
    glyph, word = state_of(call, palette.turning(now))
    style, dot = state_style(call, palette), (" · ", palette.faint)
    time: list[Piece] = [(f"  {spent}", palette.muted)] if (spent := took(call, now)) else []
    third = max(room // 3, SHORTEST) + len(dot[0])
    room_of_name = max(room - 2 - pieces_width(time) - third - 2 - SHORTEST, SHORTEST)
    pieces: list[Piece] = [("  " * deep, palette.base)] if (deep := call.depth - group.depth) > 0 else []
    pieces += [(f"{glyph} ", style), *crop([(group.name_of(call), palette.strong)], room_of_name)]
    if room - pieces_width([*pieces, *time]) < 0:
        time, pieces = [], crop(pieces, room)
    left = room - pieces_width([*pieces, *time])
    said: list[Piece] = (
        [*first] + _state(call, word, style) + [(text.strip(), ink) for text, ink in _badges(call, palette)]
    )
    told_above = call.state is CallState.QUEUED and group.has_header  # the counts say what is waited for
    newest = [] if told_above else news(call, max(left, 0), palette, now, detail, opened=opened, below=below)
    told: list[Piece] = []
    worked: list[Piece] = [(figures, palette.muted)] if (figures := call_description.agent_work(call)) else []
    for part in (*([one] for one in said), worked, newest):
        told += [*([dot] if told else []), *part] if part else []
    wanted = pieces_width(told) + len(dot[0]) if told else 0
    room_of_brief = left - 2 - min(wanted, third)
    if not opened and (brief := group.brief(call, room_of_brief)):
        pieces += [("  ", palette.base), *crop([(brief, palette.muted)], room_of_brief)]
    rest = room - pieces_width([*pieces, *time])
    if told and rest > len(dot[0]):
        pieces += [dot, *crop(told, rest - len(dot[0]))]
    return [*pieces, (" " * (room - pieces_width([*pieces, *time])), palette.base), *time]


def _state(call: CallView, word: str, style: Style) -> list[Piece]:
    """The word for a call's state, where it isn't good and doesn't run; in place of "said no" stands why."""
    verdict = call.verdict
    if verdict is None:
        return [(word, style)] if call.waits_for_you or call.state is CallState.QUEUED else []
    if verdict.is_good:
        return []
    by_you = " by you" if decided_by_you(call) else ""
    at = f" at {int(100 * done)} %" if by_you and (done := share(call)) else ""
    return [(f"{verdict.why or word}{by_you}{at}", style)]


def _badges(call: CallView, palette: Palette) -> list[Piece]:
    """The badges of the call, the unusual ones in the colour of a warning."""
    return [(text, palette.muted if text == "[text]" else palette.warning) for text in badges(call)]


def _behind(pieces: list[Piece], characters: int) -> list[Piece]:
    """The pieces without so many characters at their beginning."""
    kept: list[Piece] = []
    for text, style in pieces:
        if rest := text[characters:]:
            kept.append((rest, style))
        characters = max(characters - len(text), 0)
    return kept


def took(call: CallView, now: float) -> str:
    """Return the time that a call ran, or has been running; "" before it started."""
    if call.started_at is None:
        return ""
    if call.state is not CallState.FINISHED:
        return amounts.seconds(now - call.started_at)
    ran = amounts.measured(call.duration_ms / 1000 if call.duration_ms else (call.finished_at or now) - call.started_at)
    return f"at least {ran}" if call.outcome is Outcome.INTERRUPTED else ran  # nobody saw its end

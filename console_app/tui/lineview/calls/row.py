"""Write a call as one sentence: its tool, its main argument, what came of it, and its time at the end of the line.

What came of it has a third of the line at least; the rest is the arguments', since they tell rows apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style

from console_app.domain import CallState, Outcome, amounts, call_description, one_line, plural, safe_text
from console_app.domain.transcript import BatchView, CallView, results, verdicts
from console_app.records import dataclass, fields
from console_app.tui.lineview.calls.detail import CallDetail
from console_app.tui.lineview.calls.group import BatchBlock, CallGroup, badges
from console_app.tui.lineview.lines import Line, Parts, Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.body import brief, says_all
from console_app.tui.lineview.results.kind import ResultKind
from console_app.tui.lineview.text.ansi import AnsiPainter
from console_app.tui.lineview.wording import number, state_of

SHORTEST = 4  # cells below which arguments or a name say nothing


def state_style(call: CallView, palette: Palette) -> Style:
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
    """The line of a call as pieces of exactly `room` cells. `opened`, or while it runs `below`: text that stands there
    is not repeated. `filled`: the ground shows how far it is. `told` comes first."""
    if filled and palette.chosen is not None and (done := share_done(call)):
        draw = partial(row, filled=False, opened=opened, below=below, told=told)
        inked = Line.trim(draw(call, group, room, palette.chosen, now, detail), int(done * room), "")
        plain, before = draw(call, group, room, palette, now, detail), sum(len(text) for text, _ in inked)
        return [*inked, *Parts(plain).between(before, sum(len(text) for text, _ in plain))]
    glyph, word = state_of(call, palette.turning(now))
    style, dot = state_style(call, palette), (" · ", palette.faint)
    time: list[Piece] = [(f"  {spent}", palette.muted)] if (spent := call_description.took(call, now)) else []
    third = max(room // 3, SHORTEST) + len(dot[0])
    room_of_name = max(room - 2 - Line.cells(time) - third - 2 - SHORTEST, SHORTEST)
    pieces: list[Piece] = [("  " * deep, palette.base)] if (deep := call.depth - group.depth) > 0 else []
    pieces += [(f"{glyph} ", style), *Line.trim([(group.name_of(call), palette.strong)], room_of_name)]
    if room - Line.cells([*pieces, *time]) < 0:
        time, pieces = [], Line.trim(pieces, room)
    left = room - Line.cells([*pieces, *time])
    marks = [(text, palette.muted if text == "[text]" else palette.warning) for text in badges(call)]
    said: list[Piece] = [*told, *_state(call, word, style, palette, now), *marks]
    told_above = call.state is CallState.QUEUED and group.has_header  # the counts say what is waited for
    newest = [] if told_above else news(call, max(left, 0), palette, now, detail, opened=opened, below=below)
    words: list[Piece] = []
    worked: list[Piece] = [(figures, palette.muted)] if (figures := call_description.agent_work(call)) else []
    failed = call.outcome is Outcome.FAILED  # its reason comes first
    for part in (*([one] for one in said), *((newest, worked) if failed else (worked, newest))):
        words += [*([dot] if words else []), *part] if part else []
    wanted = Line.cells(words) + len(dot[0]) if words else 0
    room_of_brief = left - 2 - min(wanted, third)
    if not opened and (brief := group.brief(call, room_of_brief)):
        pieces += [("  ", palette.base), *Line.trim([(brief, palette.muted)], room_of_brief)]
    rest = room - Line.cells([*pieces, *time])
    if words and rest > len(dot[0]):
        pieces += [dot, *Line.trim(words, rest - len(dot[0]))]
    return [*pieces, (" " * (room - Line.cells([*pieces, *time])), palette.base), *time]


def _state(call: CallView, word: str, style: Style, palette: Palette, now: float) -> list[Piece]:
    """The word for a call's state, where it isn't good and doesn't run; in place of "said no" stands why."""
    verdict = call.verdict
    if verdict is None:
        waits, grave = call_description.agent_state(call, now)
        if waits:
            return [(waits, palette.warning if grave else palette.muted)]
        return [(word, style)] if call.waits_for_you or call.state is CallState.QUEUED else []
    if verdict.is_good:
        return []
    by_you = " by you" if decided_by_you(call) else ""
    at = f" at {int(100 * done)} %" if by_you and (done := share(call)) else ""
    return [(f"{verdict.why or word}{by_you}{at}", style)]


QUIET_AFTER = 30.0  # seconds without progress after which a call is said to take long
ENDING_IN = 30.0  # seconds that are left without news, below which they are counted down
SAYING = 16  # cells of the newest line that say something
USUAL_WHY = "not pre-approved"  # why most calls ask, which the state says already
_BRIEF_SOURCE = 4000  # characters of a result that its one line is made from


def share(call: CallView) -> float | None:
    """The share of its work that a call reported last, from 0 to 1; None where the whole is not known."""
    if call.progress is None or call.total is None or call.total <= 0:
        return None
    return min(max(call.progress / call.total, 0.0), 1.0)


def share_done(call: CallView) -> float | None:
    return share(call) if call.state is CallState.RUNNING and not call.waits_for_you else None


def news(
    call: CallView,
    room: int,
    palette: Palette,
    now: float,
    detail: CallDetail,
    *,
    opened: bool,
    below: Sequence[str] = (),
) -> list[Piece]:
    """Tell in at most `room` cells what a call does; text that stands `below` is not said here too."""
    match call.state:
        case CallState.ANNOUNCED:
            size = f" · {amounts.size(len(call.arguments_text))}" if call.arguments_text else ""
            words = f"arguments arriving{size}" if call.arguments is None else "about to start"
            pieces = [(words, palette.muted)]
        case CallState.WAITING:
            why = one_line(call.why, 200)  # the board says it too: the beginning of it alone would say nothing
            pieces = [("" if why == USUAL_WHY or cell_len(why) > room else why, palette.muted)]
        case CallState.QUEUED:
            pieces = [(one_line(call.why, 200), palette.muted)]
        case CallState.RUNNING if call.asks:
            pieces = [(one_line(call.question, 200), palette.muted)]
        case CallState.RUNNING if call.asked:
            more = f" · and {len(call.asked) - 1} more" if len(call.asked) > 1 else ""
            pieces = [(f"{one_line(call.asked[0], 200)}{more}", palette.muted)]
        case CallState.RUNNING:
            said_below = bool(below) and below[-1].strip() == call.message.strip()
            pieces = _running(call, room, palette, now, "" if said_below else call.message)
        case CallState.FINISHED:
            return _finished(call, room, palette, detail, opened=opened)
    return Line.trim(pieces, room)


def _running(call: CallView, room: int, palette: Palette, now: float, said: str) -> list[Piece]:
    pieces: list[Piece] = []
    message = AnsiPainter(palette.base, palette).line(" ".join(safe_text.written_lines(said[-400:]))) if said else []
    if (done := share_done(call)) is not None and call.progress is not None and call.total is not None:
        pieces.append((f"{int(done * 100)} %", palette.base))
        if (said or not call.message) and (
            told := _counted(call.progress, call.total, message, room - Line.cells(pieces) - 2, palette)
        ):
            pieces += [("  ", palette.base), *told]
    elif call.progress:
        pieces += [(number(call.progress), palette.base), *([("  ", palette.base), *message] if message else [])]
    else:
        pieces += message
    if call.dropped and room >= 2 * SAYING:
        note = f"  {call.dropped:,} {'lines too fast to keep' if room >= 4 * SAYING else 'dropped'}"
        pieces = [*Line.trim(pieces, room - len(note)), (note, palette.muted)]
    quiet = now - max(call.news_at, call.started_at or 0.0)
    left = None if call.ends_at is None else call.ends_at - now
    if left is not None and call.origin == "provider":
        for_so_long = f"takes results for {amounts.seconds(max(left, 0))}"
        return [(for_so_long, palette.warning if left < ENDING_IN else palette.muted), *pieces]
    if left is not None and left < min(ENDING_IN, (call.limit or ENDING_IN * 2) / 2):
        unless = " without progress" if call.limit is not None and call.limit - quiet <= left else ", whatever it sends"
        pieces = [
            (f"ends in {max(left, 0):.0f} s{unless}", palette.warning),
            (" · + gives it more time  ", palette.muted),
            *pieces,
        ]
    elif quiet > QUIET_AFTER and call.work is None:
        pieces = [
            ("taking longer than expected", palette.warning),
            *([("  ", palette.base), *pieces] if pieces else []),
        ]
    return pieces


def _counted(done: float, total: float, message: list[Piece], room: int, palette: Palette) -> list[Piece]:
    """The message and `3 of 40`: once where the message says so itself, and first where it would be cut off."""
    count = f"{number(done)} of {number(total)}"
    said = "".join(text for text, _ in message).replace("/", " of ").replace("  ", " ")
    if not message:
        return [(count, palette.muted)]
    if Line.cells(message) > room:
        if said.startswith(count):
            return message
        beside = message if room - len(count) - 2 >= SAYING // 2 else []
        return [(f"{count}  ", palette.base), *beside]
    return message if re.search(rf"(?<![\d.,]){re.escape(count)}(?![\d.,]*\d)", said) else [
        *message, (f"  {count}", palette.muted)]  # fmt: skip


def _finished(call: CallView, room: int, palette: Palette, detail: CallDetail, *, opened: bool) -> list[Piece]:
    outcome = call.outcome or Outcome.INTERRUPTED
    succeeded = outcome is Outcome.SUCCEEDED
    pictures = [one for one in call.artifacts if one.is_picture]
    files = _files(call, palette)
    if opened and (succeeded or (outcome.is_error and detail.tells_error)):
        return Line.trim(files, room)  # it stands below
    style = palette.base if succeeded else palette.error if outcome.is_error else palette.muted
    brief, rest = _brief(call, room, palette, style, detail)
    if not brief and pictures:
        brief = [(one_line(results.pictures_in_words(pictures), 80), style)]
    elif not brief and not files and succeeded:
        brief = [("no output", palette.muted)]
    rest = rest if brief else [(text.lstrip(), ink) for text, ink in rest]
    tail = [*rest, *([("  ", palette.base), *files] if files and (brief or rest) else files)]
    if rest and files and Line.cells(tail) > room // 2:
        tail = [("  ", palette.base), *files]  # that there are files says more than how long the result is
    taken = Line.cells(tail)
    if taken > room // 2:
        return Line.trim([*brief, *tail], room)
    return [*Line.trim(brief, room - taken), *tail]


def _brief(
    call: CallView, room: int, palette: Palette, style: Style, detail: CallDetail
) -> tuple[list[Piece], list[Piece]]:
    """The result or the error in one line, and how much more there is. An error's line is worth more than that."""
    if call.outcome is not Outcome.SUCCEEDED:
        if decided_by_you(call):
            return [], []
        line = results.own_error((call.error or results.shown_text(call))[:_BRIEF_SOURCE])
        twice = line.lower().startswith(Outcome.INTERRUPTED)
        said = [] if twice else AnsiPainter(style, palette).line(line.strip()[:600])
        return said, _rest(call, max(room - Line.cells(said), 0), palette, detail)
    body = detail.body
    said = brief(body, call.arguments, call.structured, palette, style)
    if call.is_agent:
        said = [(results.MARKS.sub("", text), ink) for text, ink in said]
    return said, [] if says_all(body) else _rest(call, room // 2, palette, detail)


def decided_by_you(call: CallView) -> bool:
    """Tell whether you ended the call yourself: the result explains that to the model at length."""
    return call.outcome in (Outcome.CANCELLED, Outcome.DENIED) and not call.error


def _rest(call: CallView, room: int, palette: Palette, detail: CallDetail) -> list[Piece]:
    """Say how much the result holds beyond its one line, in as many words as `room` allows."""
    body = detail.body
    page = body.page if call.artifacts else detail.own_page()
    if page.count <= 1 and page.bytes <= 400:
        return []
    more = f"  + {plural(page.count - 1, 'line')}" if page.count > 1 else ""
    measure = amounts.size(page.bytes)
    variants = (f"{more} · {measure}", more, f"  {measure}") if more else (f"  {measure}",)
    return [(text, palette.muted) for text in variants if len(text) <= room][:1]


def _files(call: CallView, palette: Palette) -> list[Piece]:
    if not call.artifacts:
        return []
    name = call.artifacts[0].name if len(call.artifacts) == 1 else plural(len(call.artifacts), "file")
    return [("▪ ", palette.muted), (one_line(name, 60), palette.secondary)]


ROOM = 200  # cells of a line: more than a screen has, so that little is cut
Told = list[tuple[str, str]]
"""The pieces of a line: text and the name of its ink."""


@dataclass(frozen=True, slots=True)
class ToldCall:
    """The line of a call, without its time; its result, and structured content that says more than it."""

    line: Told
    took: str
    result: ResultKind
    beside: ResultKind | None


@dataclass(frozen=True, slots=True)
class TellingCalls:
    """The calls of an answer in the words of the screen, for a page: the line above them, empty for one call, and each
    call by its id. Pieces have their ink by name, as a page has colours of its own."""

    header: Told
    calls: dict[str, ToldCall]

    @classmethod
    def of(cls, batch: BatchView, now: float, only: Iterable[CallView] | None = None) -> TellingCalls:
        """Tell them as they stand at `now`, all of them or `only` some."""
        group, (palette, names) = CallGroup(batch), _named()
        calls: dict[str, ToldCall] = {}
        for call in batch.calls if only is None else only:
            detail, spent = CallDetail(call), call_description.took(call, now)
            pieces = row(call, group, ROOM, palette, now, detail, filled=False)
            line = _told(pieces[:-1] if spent else pieces, names)
            beside = detail.beside
            calls[call.id] = ToldCall(line, spent, detail.body.found, None if beside is None else beside.found)
        above = BatchBlock(group).paint(ROOM, palette, now)
        header = [(one.text, one.style or palette.base) for painted in above for one in painted]
        return cls(_told(header, names), calls)


def _told(pieces: Iterable[Piece], names: dict[Color, str]) -> Told:
    told = [(text, names.get(style.color, "base") if style.color else "base") for text, style in pieces]
    while told and not told[-1][0].strip():
        told.pop()
    while told and not told[0][0].strip():
        told.pop(0)
    return told


@lru_cache(maxsize=1)
def _named() -> tuple[Palette, dict[Color, str]]:
    names = [one.name for one in fields(Palette) if one.type == "Style"]
    colors = [Color.from_rgb(number, 0, 0) for number in range(len(names) + 16)]
    inks: dict[str, Any] = {name: Style(color=color) for name, color in zip(names, colors, strict=False)}
    ansi = tuple(colors[len(names) :])
    known = dict(zip(colors, [*names, *(f"ansi{number}" for number in range(16))], strict=True))
    return Palette(syntax={}, ansi=ansi, still=True, draws=False, **inks), known

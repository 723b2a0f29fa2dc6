"""Write the newest of a call in one line: what it waits for, how far it is, or its result."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.style import Style

from console_app.domain import CallState, Outcome, amounts, one_line, plural
from console_app.domain.transcript import CallView, results
from console_app.tui.lineview.calls.detail import CallDetail
from console_app.tui.lineview.lines import Piece, crop, pieces_width
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.body import json_size
from console_app.tui.lineview.results.brief import brief, says_all
from console_app.tui.lineview.text.ansi import AnsiPainter
from console_app.tui.lineview.wording import number

QUIET_AFTER = 30.0  # seconds without progress after which a call is said to take long
ENDING_IN = 30.0  # seconds that are left without news, below which they are counted down
METER = 5
SAYING = 16  # cells of the newest line that say something
USUAL_WHY = "not pre-approved"  # why most calls ask, which the state says already
RUNNING = "running…"  # where nothing newer is known
_FULL, _EMPTY = "▰", "▱"
_PULSE_RATE = 5
_BRIEF_SOURCE = 4000  # characters of a result that its one line is made from


def news(
    call: CallView, room: int, palette: Palette, now: float, detail: CallDetail, *, opened: bool, named: bool = False
) -> list[Piece]:
    """The line as pieces that take at most `room` cells. `named`: the word of its state stands before it."""
    match call.state:
        case CallState.ANNOUNCED:
            pieces = _arriving(call, palette)
        case CallState.WAITING:
            why = one_line(call.why, 200)  # the board says it too: the beginning of it alone would say nothing
            pieces = [("" if why == USUAL_WHY or cell_len(why) > room else why, palette.muted)]
        case CallState.QUEUED:
            pieces = [(one_line(call.why, 200) or "in line", palette.muted)]
        case CallState.RUNNING if call.asks:
            pieces = _asking(call.question, palette, named=named)
        case CallState.RUNNING if call.asked:
            more = f" · and {len(call.asked) - 1} more" if len(call.asked) > 1 else ""
            pieces = [*_asking(call.asked[0], palette, named=named), (more, palette.muted)]
        case CallState.RUNNING:
            pieces = _running(call, room, palette, now)
        case CallState.FINISHED:
            return _finished(call, room, palette, detail, opened=opened)
    return crop(pieces, room)


def _asking(question: str, palette: Palette, *, named: bool) -> list[Piece]:
    words = one_line(question, 200)
    if named and words:
        return [(words, palette.muted)]
    return [("asks you", palette.warning), (f" · {words}" if words else "", palette.muted)]


def _arriving(call: CallView, palette: Palette) -> list[Piece]:
    if call.arguments is not None:
        return [("about to start", palette.muted)]
    if not call.arguments_text:
        return [("arguments arriving", palette.muted)]
    return [(f"arguments arriving · {amounts.size(len(call.arguments_text))}", palette.muted)]


def _running(call: CallView, room: int, palette: Palette, now: float) -> list[Piece]:
    pieces: list[Piece] = []
    meter = METER if room >= 48 else 0
    message = AnsiPainter(palette.base, palette).line(call.message[-400:].replace("\n", " ")) if call.message else []
    if call.progress is not None and call.total is not None and call.total > 0:
        share = min(max(call.progress / call.total, 0.0), 1.0)
        full = int(share * meter + 0.5)
        pieces += [(_FULL * full, palette.secondary), (_EMPTY * (meter - full), palette.faint),
                   (f"{' ' if meter else ''}{int(share * 100):>2} %  ", palette.strong)]  # fmt: skip
        pieces += _counted(call.progress, call.total, message, room - pieces_width(pieces), palette)
    elif call.progress is not None:
        pieces += [*_pulse(now, palette), (f"{number(call.progress)}  ", palette.strong), *message]
    elif message:
        pieces += message
    else:
        pieces.append((RUNNING, palette.muted))
    if call.dropped and room >= 2 * SAYING:
        note = f"  {call.dropped:,} {'lines too fast to keep' if room >= 4 * SAYING else 'dropped'}"
        pieces = [*crop(pieces, room - len(note)), (note, palette.muted)]
    quiet = now - max(call.news_at, call.started_at or 0.0)
    left = None if call.ends_at is None else call.ends_at - now
    if left is not None and left < min(ENDING_IN, (call.limit or ENDING_IN * 2) / 2):
        unless = " without progress" if call.limit is not None and call.limit - quiet <= left else ", whatever it sends"
        pieces = [
            (f"ends in {max(left, 0):.0f} s{unless}", palette.warning),
            (" · + gives it more time  ", palette.muted),
            *pieces,
        ]
    elif quiet > QUIET_AFTER:
        pieces = [("taking longer than expected", palette.warning), ("  ", palette.base), *pieces]
    return pieces


def _counted(done: float, total: float, message: list[Piece], room: int, palette: Palette) -> list[Piece]:
    """The message and `3 of 40`: once where the message says so itself, and first where it would be cut off."""
    count = f"{number(done)} of {number(total)}"
    said = "".join(text for text, _ in message).replace("/", " of ").replace("  ", " ")
    if not message:
        return [(count, palette.muted)]
    if pieces_width(message) > room:
        if said.startswith(count):
            return message
        beside = message if room - len(count) - 2 >= SAYING // 2 else []
        return [(f"{count}  ", palette.base), *beside]
    return message if re.search(rf"(?<![\d.,]){re.escape(count)}(?![\d.,]*\d)", said) else [
        *message, (f"  {count}", palette.muted)]  # fmt: skip


def _pulse(now: float, palette: Palette) -> list[Piece]:
    """Draw progress without an end: a light that wanders to and fro, or no light where nothing is to move."""
    if palette.still:
        return []
    way = METER * 2 - 2
    step = int(now * _PULSE_RATE) % way
    at = step if step < METER else way - step
    before, behind = (_EMPTY * at, palette.faint), (_EMPTY * (METER - 1 - at), palette.faint)
    return [piece for piece in (before, (_FULL, palette.secondary), behind, (" ", palette.base)) if piece[0]]


def _finished(call: CallView, room: int, palette: Palette, detail: CallDetail, *, opened: bool) -> list[Piece]:
    outcome = call.outcome or Outcome.INTERRUPTED
    succeeded = outcome is Outcome.SUCCEEDED
    pictures = [one for one in call.artifacts if one.is_picture]
    files = _files(call, palette)
    if opened and (succeeded or (outcome.is_error and detail.tells_error)):
        return crop(files, room)  # it stands below
    style = palette.base if succeeded else palette.error if outcome.is_error else palette.muted
    brief, rest = _brief(call, room, palette, style, detail)
    if not brief and pictures:
        brief = [(one_line(results.pictures_in_words(pictures), 80), style)]
    elif not brief and not files:
        brief = [("no output", palette.muted)]
    tail = [*rest, *([("  ", palette.base), *files] if files and (brief or rest) else files)]
    taken = pieces_width(tail)
    if taken > room // 2:
        return crop([*brief, *tail], room)
    return [*crop(brief, room - taken), *tail]


def _brief(
    call: CallView, room: int, palette: Palette, style: Style, detail: CallDetail
) -> tuple[list[Piece], list[Piece]]:
    """The result or the error in one line, and how much more there is. An error's line is worth more than that."""
    if call.outcome is not Outcome.SUCCEEDED:
        source = (call.error or _in_your_words(call) or results.shown_text(call))[:_BRIEF_SOURCE]
        line = results.own_error(source)
        said = AnsiPainter(style, palette).line(line.strip()[:600])
        return said, [] if line == _in_your_words(call) else _rest(
            call, max(room - pieces_width(said), 0), palette, detail
        )
    body = detail.body
    said = brief(body, call.arguments, call.structured, palette, style)
    whole = says_all(body) or (body.found.kind == "json" and body.page.bytes < 400 and pieces_width(said) <= room)
    return said, [] if whole else _rest(call, room // 2, palette, detail)


def _in_your_words(call: CallView) -> str:
    """Name your own decision in two words, since the result explains it to the model at length; "" for other
    outcomes."""
    return "by you" if call.outcome in (Outcome.CANCELLED, Outcome.DENIED) else ""


def _rest(call: CallView, room: int, palette: Palette, detail: CallDetail) -> list[Piece]:
    """Say how much the result holds beyond its one line, in as many words as `room` allows."""
    body = detail.body
    page = body.page if call.artifacts else detail.own_page()
    if page.count <= 1 and page.bytes <= 400:
        return []
    if body.found.kind == "json":  # its one line is no line of it
        more = f"  {json_size(body.found.value)}"
    else:
        more = f"  + {plural(page.count - 1, 'line')}" if page.count > 1 else ""
    measure = amounts.size(page.bytes)
    variants = (f"{more} · {measure}", more, f"  {measure}") if more else (f"  {measure}",)
    return [(text, palette.muted) for text in variants if len(text) <= room][:1]


def _files(call: CallView, palette: Palette) -> list[Piece]:
    if not call.artifacts:
        return []
    name = call.artifacts[0].name if len(call.artifacts) == 1 else plural(len(call.artifacts), "file")
    return [("▪ ", palette.muted), (one_line(name, 60), palette.secondary)]

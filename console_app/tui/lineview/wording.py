"""The words and glyphs of states, and how times and sizes are written. Every state has a glyph and a word."""

from __future__ import annotations

from console_app.domain.amounts import measured as measured
from console_app.domain.amounts import plural as plural
from console_app.domain.amounts import seconds as seconds
from console_app.domain.amounts import size as size
from console_app.domain.tools import CallState
from console_app.domain.transcript import CallView, VerdictWord

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPINNER_RATE = 10  # steps a second
STILL = "◐"  # in its place where nothing is to move

_STATES = {
    CallState.ANNOUNCED: ("…", "preparing"),
    CallState.WAITING: ("?", "needs approval"),
    CallState.QUEUED: ("·", "queued"),
    CallState.RUNNING: ("", "running"),
    CallState.FINISHED: ("·", "ended"),
}
NEEDS = ("needs approval", "needs input")
# In the order in which a batch counts them.
COUNTED = ("running", "preparing", "queued", *VerdictWord, *NEEDS)


def spinner(now: float | None) -> str:
    """The spinner's glyph at a time; all spinners turn together. None: one that doesn't turn."""
    return STILL if now is None else SPINNER[int(now * SPINNER_RATE) % len(SPINNER)]


def state_of(call: CallView, now: float | None = None) -> tuple[str, str]:
    """The glyph and the word of a call; `now` as for `spinner`."""
    if call.verdict is not None:
        return call.verdict.glyph, call.verdict.word
    if call.waits_for_you and call.state is not CallState.WAITING:
        return _STATES[CallState.WAITING][0], NEEDS[1]
    glyph, word = _STATES[call.state]
    return glyph or spinner(now), word


def counted_as(call: CallView) -> str:
    """The word under which a batch counts a call."""
    return state_of(call)[1]


def counted(count: int, word: str) -> str:
    """`3 done`, `2 need approval`."""
    return f"{count} {word.replace('needs', 'need', 1) if count > 1 else word}"


def number(value: float) -> str:
    """A count with thousands apart; a fraction with one digit."""
    return f"{value:,.0f}" if abs(value - round(value)) < 0.005 else f"{value:,.1f}"

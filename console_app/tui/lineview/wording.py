"""The words and glyphs of states, and how times and sizes are written. Every state has a glyph and a word."""

from __future__ import annotations

from console_app.domain import call_description as description
from console_app.domain.transcript import CallView, verdicts

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPINNER_RATE = 10  # steps a second
STILL = "◐"  # in its place where nothing is to move

# In the order in which a batch counts them.
COUNTED = ("running", "preparing", "queued", *verdicts.VerdictWord, *description.NEEDS)


def spinner(now: float | None) -> str:
    """The spinner's glyph at a time; all spinners turn together. None: one that doesn't turn."""
    return STILL if now is None else SPINNER[int(now * SPINNER_RATE) % len(SPINNER)]


def state_of(call: CallView, now: float | None = None) -> tuple[str, str]:
    """The glyph and the word of a call; `now` as for `spinner`."""
    glyph, word = description.state_of(call)
    return glyph or spinner(now), word


def counted(count: int, word: str) -> str:
    """`3 done`, `1 needs you`, `2 need approval`."""
    first, _, rest = word.partition(" ")
    if first in ("need", "needs"):
        return f"{count} {'need' if count > 1 else 'needs'} {rest}"
    return f"{count} {word}"


def number(value: float) -> str:
    """A count with thousands apart; a fraction with one digit."""
    return f"{value:,.0f}" if abs(value - round(value)) < 0.005 else f"{value:,.1f}"

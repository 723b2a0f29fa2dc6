"""The words and glyphs of states, and how times and sizes are written. Every state has a glyph and a word."""

from __future__ import annotations

from console_app.domain.tools import CallState, Outcome
from console_app.domain.transcript_parts import Call

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPINNER_RATE = 10  # steps a second

_STATES = {
    CallState.ANNOUNCED: ("…", "preparing"),
    CallState.WAITING: ("?", "waits for you"),
    CallState.QUEUED: ("·", "queued"),
    CallState.RUNNING: ("", "running"),
}
_OUTCOMES = {
    Outcome.SUCCEEDED: ("✓", "done"),
    Outcome.FAILED: ("✗", "failed"),
    Outcome.TIMED_OUT: ("✗", "timed out"),
    Outcome.CANCELLED: ("■", "cancelled"),
    Outcome.DENIED: ("⊘", "denied"),
    Outcome.BLOCKED: ("⊘", "blocked"),
    Outcome.SKIPPED: ("»", "skipped"),
    Outcome.INVALID: ("!", "invalid"),
    Outcome.INTERRUPTED: ("✗", "interrupted"),
}
# In the order in which a batch counts them.
COUNTED = ("running", "preparing", "queued", "done", "failed", "timed out", "invalid", "interrupted", "cancelled",
           "denied", "blocked", "skipped", "waits for you")  # fmt: skip


def spinner(now: float) -> str:
    """The spinner's glyph at a time; all spinners turn together."""
    return SPINNER[int(now * SPINNER_RATE) % len(SPINNER)]


def state_of(call: Call, now: float) -> tuple[str, str]:
    """The glyph and the word of a call."""
    if call.outcome is not None:
        return _OUTCOMES[call.outcome]
    glyph, word = _STATES.get(CallState.WAITING if call.waits_for_you else call.state, ("·", "ended"))
    return glyph or spinner(now), word


def seconds(value: float) -> str:
    """A duration: `0.4 s`, `12.3 s`, `2 m 05 s`, `1 h 02 m`."""
    value = max(value, 0.0)
    if value < 59.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} m"


def measured(value: float) -> str:
    """A duration that is over: as `seconds`, but the shortest in milliseconds."""
    return f"{max(value, 0) * 1000:.0f} ms" if value < 0.095 else seconds(value)


def size(count: int) -> str:
    """A number of bytes: `16 B`, `1.2 KB`, `9.8 MB`."""
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1000:.1f} KB"
    return f"{count / 1_000_000:.1f} MB" if count < 1_000_000_000 else f"{count / 1_000_000_000:.1f} GB"


def number(value: float) -> str:
    """A count with thousands apart; a fraction with one digit."""
    return f"{value:,.0f}" if abs(value - round(value)) < 0.005 else f"{value:,.1f}"


def plural(count: int, word: str) -> str:
    """`1 line`, `10,412 lines`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"

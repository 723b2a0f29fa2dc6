"""Tell a letter that was meant for a panel from the first of a word: two letters within 0.3 s are typing.

A letter that opens something else, or has a consequence, acts once no other came behind it; one with a consequence only
after the row has had the focus for half a second. No widget is needed, only a clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, Protocol

TOGETHER = 0.3  # seconds between two letters of a word, at most
SETTLED = 0.5  # seconds that a row has had the focus before a letter changes something that runs
TOO_EARLY = "{} counts once the row has had the focus for half a second. Press it again."
_WALKS = frozenset({"panel.previous", "panel.next", "find.next", "find.previous"})
_ACTS_AT_ONCE = frozenset({"panel.toggle", "panel.more", "panel.raw", "panel.filter", "panel.failed", "panel.help"})
_HAS_A_CONSEQUENCE = frozenset(
    {"panel.cancel", "panel.retry", "panel.retry_all", "panel.edit", "panel.send", "panel.background"}
)


class Timer(Protocol):
    """A call that comes after a while."""

    def stop(self) -> None:
        """Call it off."""
        ...


Later = Callable[[float, Callable[[], object]], Timer]
"""Runs something after so many seconds."""


class PanelLetters:
    """Judges the letters of one view. `later` has what was held back come when its time is over."""

    def __init__(self, later: Later, now: Callable[[], float] = time.monotonic) -> None:
        self._later, self._now = later, now
        self._first, self._at = "", float("-inf")
        self._held: Timer | None = None
        self._here_since = now()

    def moved(self) -> None:
        """Note that another row has the focus."""
        self._here_since = self._now()
        self._forget()

    def judge(self, letter: str, binding: str, act: Callable[[], object]) -> Literal["passes", "held", "early"] | str:
        """Say what becomes of a letter: it passes on to its binding, is held back until `act` runs, or came too early.
        Any other word is what was typed, for the prompt."""
        now, first = self._now(), self._first
        together = first != "" and now - self._at < TOGETHER
        if together and letter == first:  # the key is held down, or goes on
            return "passes" if binding in _ACTS_AT_ONCE else "held"
        if together:
            self._forget()
            return first + letter
        if binding in _WALKS:
            return "passes"
        self._forget()
        self._first, self._at = letter, now
        if binding in _ACTS_AT_ONCE:
            return "passes"
        if binding in _HAS_A_CONSEQUENCE and now - self._here_since < SETTLED:
            return "early"
        self._held = self._later(TOGETHER, act)
        return "held"

    def _forget(self) -> None:
        if self._held is not None:
            self._held.stop()
        self._first, self._held = "", None

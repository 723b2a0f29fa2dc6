"""Notices a model that asks for the same call again and again: counted over steps in a row, since a loop has no gap."""

from __future__ import annotations

FREE_REPEATS = 2  # after its first run a call may run this often again, in a row, before somebody is asked


class Repetition:
    """How many steps in a row have asked for a call. Equal calls of one answer count once."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], int] = {}
        self._now: dict[tuple[str, str], int] = {}

    def next_step(self) -> None:
        """A new answer begins; calls that the last one with calls didn't ask for are forgotten.

        A thought between two acts is no gap: who thinks aloud can go round in circles too.
        """
        if self._now:
            self._before, self._now = self._now, {}

    def times(self, name: str, arguments: str) -> int:
        """Counts this call, `arguments` in their canonical form; 1 for the first time in a row."""
        key = (name, arguments)
        self._now[key] = self._before.get(key, 0) + 1
        return self._now[key]

    def allow_again(self, name: str, arguments: str) -> None:
        """Somebody said that it is right: counting starts over."""
        self._now[name, arguments] = 1

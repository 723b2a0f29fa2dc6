"""Notices a model that asks for the same call again: in a row, which is a loop, or while the result it has stands.

Loops are counted over steps in a row, since a loop has no gap.
"""

from __future__ import annotations

from collections.abc import Sequence

from console_app.domain.tools import Outcome, ToolSpec

FREE_REPEATS = 2  # after its first run a call may run this often again, in a row, before somebody is asked


class Repetition:
    """Of one turn. How many steps in a row have asked for a call (equal calls of one answer count once), and which
    calls of tools that only read have a result that nothing has run to change since."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], int] = {}
        self._now: dict[tuple[str, str], int] = {}
        self._standing: set[tuple[str, str]] = set()

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

    def answered(self, ran: Sequence[tuple[ToolSpec, str, Outcome | None]]) -> None:
        """The calls of an answer that ran, with their arguments in canonical form. Beside one that may change things,
        no result of a reading one stands."""
        if any(not spec.annotations.read_only for spec, _, _ in ran):
            self._standing.clear()
            return
        self._standing.update(
            (spec.name, arguments) for spec, arguments, outcome in ran if outcome is Outcome.SUCCEEDED
        )

    def forget_answers(self) -> None:
        """What was answered may be asked again: the user said something, or the results are out of sight."""
        self._standing.clear()

    def stands(self, name: str, arguments: str) -> bool:
        """Whether the model has the answer of this call. Said once: who asks again after that means it."""
        key = (name, arguments)
        stands = key in self._standing
        self._standing.discard(key)
        return stands

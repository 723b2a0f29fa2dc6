"""The numbers by which calls are named: each call gets one when it is first told of, and no other call gets it again.

So what was typed about a number can never reach another call, however late it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console_app.domain import UsageError
from console_app.domain.transcript import CallView, Transcript


class CallNumbers:
    """Numbers the calls of one console, over all its sessions. `transcript` is that of the session that is open."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self._numbers: dict[tuple[int, str], int] = {}
        self._session = 0

    def another_session(self, transcript: Transcript) -> None:
        """Other calls are spoken of from here on."""
        self.transcript = transcript
        self._session += 1

    def of(self, call_id: str) -> int:
        return self._numbers.setdefault((self._session, call_id), len(self._numbers) + 1)

    def call(self, word: str) -> CallView:
        """Return the call of a typed number. Raises UsageError where there is none."""
        if word.isdecimal():
            for (session, call_id), number in self._numbers.items():
                if number == int(word) and session == self._session and call_id in self.transcript.calls:
                    return self.transcript.calls[call_id]
        if not word:
            raise UsageError("a call is named by its number", "/calls lists them.")
        raise UsageError(f"there is no call {word[:20]}", "/calls lists them.")

    def named(self, calls: Iterable[CallView]) -> str:
        """`call 3`, `calls 3, 4 and 7`."""
        numbers: Sequence[str] = [str(self.of(call.id)) for call in calls]
        if len(numbers) == 1:
            return f"call {numbers[0]}"
        return f"calls {', '.join(numbers[:-1])} and {numbers[-1]}"

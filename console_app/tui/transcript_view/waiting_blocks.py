"""What stands at the end of the conversation while you have to wait: for a turn to begin, for another try."""

from __future__ import annotations

import math
from collections.abc import Callable

from console_app.domain.events import RetryScheduled
from console_app.tui.transcript_view.notice_blocks import NoticeBlock
from console_app.tui.widgets.lines import Line
from console_app.tui.widgets.palette import Palette

Waits = Callable[[float], str]
"""What is waited for at a time, in words; "" for nothing."""


class RetryBlock(NoticeBlock):
    """Counts down to the next try of a request that failed; once it is due, it says which try it is."""

    def __init__(self, event: RetryScheduled) -> None:
        super().__init__("warning", "")
        self._attempt = 0
        self._due = 0.0
        self._why = ""
        self.again(event)

    @property
    def live(self) -> bool:
        return self._due > 0

    def again(self, event: RetryScheduled) -> None:
        """It failed once more."""
        of = f" of {event.most}" if event.most else ""
        self._attempt = f"attempt {event.attempt}{of}"
        self._due, self._why = event.at + event.delay, event.why.rstrip(".")
        self.touch()

    def over(self) -> None:
        """Nothing is counted any more: the answer came, or the turn ended."""
        self._due = 0.0
        self.text = f"{self._why}. Retried: {self._attempt}"
        self.touch()

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        if self.live:
            left = self._due - now
            when = f"in {left:.1f} s" if 0 < left < 10 else f"in {math.ceil(left)} s" if left > 0 else "now"
            self.text = f"{self._why}. Retrying {when} ({self._attempt})"
        return super().paint(width, palette, now)


class SentBlock(NoticeBlock):
    """Under a message whose turn has not begun: what that waits for. Nothing to say takes no line."""

    def __init__(self, waits: Waits) -> None:
        super().__init__("info", "")
        self._waits = waits

    @property
    def live(self) -> bool:
        return True

    @property
    def gap(self) -> int:
        return 0

    def estimate(self, width: int) -> int:
        return 1  # or a view that is full would never look whether there is something to say by now

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        self.text = self._waits(now)
        return super().paint(width, palette, now) if self.text else []

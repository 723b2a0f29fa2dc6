"""What stands at the end of the conversation while a model lets you wait: before another try, and in silence."""

from __future__ import annotations

import math

from console_app.domain.events import RetryScheduled
from console_app.tui.conversation.lines import Line
from console_app.tui.conversation.notice_blocks import NoticeBlock
from console_app.tui.palette import Palette


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
        self._attempt, self._due, self._why = event.attempt, event.at + event.delay, event.why.rstrip(".")
        self.touch()

    def over(self) -> None:
        """Nothing is counted any more: the answer came, or the turn ended."""
        self._due = 0.0
        self.text = f"{self._why}. Try {self._attempt}"
        self.touch()

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        if self.live:
            left = self._due - now
            when = f"in {left:.1f} s" if 0 < left < 10 else f"in {math.ceil(left)} s" if left > 0 else "now"
            self.text = f"{self._why}. Try {self._attempt} {when} · esc stops"
        return super().paint(width, palette, now)


class SilenceBlock(NoticeBlock):
    """Says that nothing has come since `since`, and counts."""

    def __init__(self, since: float) -> None:
        super().__init__("info", "")
        self._since = since

    @property
    def live(self) -> bool:
        return True

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        self.text = f"Still waiting for the model: {max(now - self._since, 0):.0f} s without a word · esc stops"
        return super().paint(width, palette, now)

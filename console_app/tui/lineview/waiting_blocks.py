"""What stands at the end of the conversation while you have to wait: for a turn to begin, for another try."""

from __future__ import annotations

from collections.abc import Callable

from console_app.domain.events import RetryScheduled
from console_app.tui.lineview.lines import Line
from console_app.tui.lineview.notice_blocks import NoticeBlock
from console_app.tui.lineview.palette import Palette

Waits = Callable[[float], str]
"""What is waited for at a time, in words; "" for nothing."""


class RetryBlock(NoticeBlock):
    """Why a request is tried again, and which try that is; when, the activity line counts down."""

    def __init__(self, event: RetryScheduled) -> None:
        super().__init__("warning", "")
        self.again(event)

    def again(self, event: RetryScheduled) -> None:
        """It failed once more."""
        self._attempt = f"attempt {event.attempt}" + (f" of {event.most}" if event.most else "")
        self._why = event.why.rstrip(".")
        self.text = f"{self._why}. Retrying: {self._attempt}"
        self.touch()

    def over(self, *, told: bool) -> None:
        """The answer came, or the turn ended; `told`: the error it ended with says why, and after how many tries."""
        self.text = "" if told else f"{self._why}. Retried: {self._attempt}"
        self.touch()

    @property
    def gap(self) -> int:
        return super().gap if self.text else 0

    def estimate(self, width: int) -> int:
        return super().estimate(width) if self.text else 0

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        return super().paint(width, palette, now) if self.text else []


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

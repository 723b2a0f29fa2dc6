"""Tells of a model that says nothing, and of requests that are tried again: rows that go away by themselves."""

from __future__ import annotations

from textual.timer import Timer

from console_app.domain import events as ev
from console_app.tui.conversation.view import ConversationView
from console_app.tui.conversation.waiting_blocks import RetryBlock, SilenceBlock

SILENCE = 30.0  # seconds before the first word of an answer that are worth a row


class Waiting:
    """Sees every event before it is shown."""

    def __init__(self, view: ConversationView) -> None:
        self._view = view
        self._since = 0.0
        self._timer: Timer | None = None
        self._silence: SilenceBlock | None = None
        self._retry: RetryBlock | None = None

    def heard(self, event: ev.Event) -> None:
        """Begins to wait with a request, and ends with the first sign of its answer."""
        match event:
            case ev.StepStarted():
                self._quiet()
                self._listen(event.at)
            case ev.RetryScheduled():
                self._quiet()
                self._retrying(event)
                self._listen(event.at + event.delay, event.delay)
            case ev.Notice() | ev.SessionStarted() | ev.TodoChanged() | ev.UsageReported():
                pass
            case _:
                self._quiet()
                if self._retry is not None:
                    self._retry.over()
                    self._view.changed(self._retry)
                    self._retry = None

    def _listen(self, since: float, delay: float = 0.0) -> None:
        self._since = since
        if self._view.is_attached:
            self._timer = self._view.set_timer(SILENCE + delay, self._silent)

    def _silent(self) -> None:
        self._silence = SilenceBlock(self._since)
        self._view.add_block(self._silence)

    def _quiet(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._silence is not None:
            self._view.remove_block(self._silence)
            self._silence = None

    def _retrying(self, event: ev.RetryScheduled) -> None:
        if self._retry is None or self._retry.index != len(self._view.blocks) - 1:
            self._retry = RetryBlock(event)
            self._view.add_block(self._retry)
        else:
            self._retry.again(event)
            self._view.changed(self._retry)

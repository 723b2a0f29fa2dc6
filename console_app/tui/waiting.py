"""Tells of a model that says nothing, and of requests that are tried again: rows that go away by themselves."""

from __future__ import annotations

from textual.timer import Timer

from console_app.domain import events as ev
from console_app.tui.conversation.view import ConversationView
from console_app.tui.conversation.waiting_blocks import RetryBlock, SilenceBlock

SILENCE = 30.0  # seconds without a sign of the answer that are worth a row


class Waiting:
    """Sees every event before it is shown.

    One timer a turn that looks again later, in place of one an event: tokens come by the hundred a second.
    """

    def __init__(self, view: ConversationView) -> None:
        self._view = view
        self._since: float | None = None  # the newest sign of an answer that is still awaited
        self._at_work: set[str] = set()  # calls that keep the step from ending, and tell of themselves
        self._timer: Timer | None = None
        self._silence: SilenceBlock | None = None
        self._retry: RetryBlock | None = None

    def heard(self, event: ev.Event) -> None:
        """Begins to wait with a request; each sign of its answer begins anew, and its end ends it."""
        match event:
            case ev.TextDelta() | ev.ReasoningDelta() | ev.TextRevised() | ev.ThoughtDelta() | ev.CallArguments():
                self._sign(event.at)
            case ev.StepStarted():
                self._at_work.clear()
                self._listen(event.at)
            case ev.RetryScheduled():
                self._quiet()
                self._retrying(event)
                self._listen(event.at + event.delay)
            case ev.CallReady():
                self._at_work.add(event.call_id)
                self._sign(event.at)
            case ev.CallFinished() | ev.CallDropped():
                self._at_work.discard(event.call_id)
                self._sign(event.at)
            case ev.MessageAdded() | ev.TurnFinished():
                self._quiet()
                self._tried()
                self._since = None
                if self._timer is not None and isinstance(event, ev.TurnFinished):
                    self._timer.stop()
                    self._timer = None
            case ev.Notice() | ev.SessionStarted() | ev.TodoChanged() | ev.UsageReported():
                pass
            case _:
                self._sign(event.at)

    def _sign(self, at: float) -> None:
        """The model answers. Cheap: it comes with every token."""
        if self._retry is not None:
            self._tried()
        if self._since is not None:
            self._since = at
            if self._silence is not None:
                self._listen(at)

    def _listen(self, since: float) -> None:
        self._since = since
        self._quiet()
        if self._timer is None and self._view.now - since < SILENCE:  # else it was stored long ago
            self._look_in(SILENCE)

    def _look_in(self, seconds: float) -> None:
        if self._view.is_attached:
            self._timer = self._view.set_timer(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._since is None or self._silence is not None:
            return
        left = self._since + SILENCE - self._view.now
        if left > 0 or self._at_work:
            self._look_in(left if left > 0 else SILENCE)
        else:
            self._silence = SilenceBlock(self._since)
            self._view.add_block(self._silence)

    def _quiet(self) -> None:
        if self._silence is not None:
            self._view.remove_block(self._silence)
            self._silence = None

    def _tried(self) -> None:
        if self._retry is not None:
            self._retry.over()
            self._view.changed(self._retry)
            self._retry = None

    def _retrying(self, event: ev.RetryScheduled) -> None:
        if self._retry is None or self._retry.index != len(self._view.blocks) - 1:
            self._retry = RetryBlock(event)
            self._view.add_block(self._retry)
        else:
            self._retry.again(event)
            self._view.changed(self._retry)

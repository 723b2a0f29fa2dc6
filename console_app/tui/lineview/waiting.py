"""Tells of requests that are tried again: a row that counts down, and stays as what happened."""

from __future__ import annotations

from typing import assert_never

from console_app.domain import events as ev
from console_app.tui.lineview.view import ConversationView
from console_app.tui.lineview.waiting_blocks import RetryBlock


class Waiting:
    """Sees every event before it is shown."""

    def __init__(self, view: ConversationView) -> None:
        self._view = view
        self._retry: RetryBlock | None = None

    def heard(self, event: ev.Event) -> None:
        """The first sign of an answer ends the waiting for another try. Cheap: it comes with every token."""
        match event:
            case ev.RetryScheduled():
                self._retrying(event)
            case ev.Notice() | ev.SessionStarted() | ev.TodoChanged() | ev.UsageReported():
                pass
            case (
                ev.TurnStarted() | ev.StepStarted() | ev.ReasoningDelta() | ev.TextDelta() | ev.TextRevised()
                | ev.ThoughtDelta() | ev.Thought() | ev.CallAnnounced() | ev.CallArguments() | ev.CallDropped()
                | ev.CallReady() | ev.ApprovalRequested() | ev.ApprovalResolved() | ev.CallQueued()
                | ev.CallStarted() | ev.CallProgress() | ev.CallLog() | ev.CallExtended() | ev.CallRestarted()
                | ev.QuestionAsked() | ev.CallAsked() | ev.CallAnswered() | ev.CallFinished() | ev.BatchFinished()
                | ev.AnswerKept() | ev.MessageAdded() | ev.TurnFinished() | ev.TurnUndone() | ev.HistoryCompacted()
            ):  # fmt: skip
                if self._retry is not None:
                    failed = isinstance(event, ev.TurnFinished) and event.outcome == "failed"
                    self._tried(self._retry, told=failed)
            case _:
                assert_never(event)

    def _tried(self, retry: RetryBlock, *, told: bool) -> None:
        retry.over(told=told)
        self._view.changed(retry)
        self._retry = None

    def _retrying(self, event: ev.RetryScheduled) -> None:
        if self._retry is None or self._retry.index != len(self._view.blocks) - 1:
            self._retry = RetryBlock(event)
            self._view.add_block(self._retry)
        else:
            self._retry.again(event)
            self._view.changed(self._retry)

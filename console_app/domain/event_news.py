"""The news that each event is, for boards, notifications, the pace of an answer and the status line."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Flag, auto

from console_app.domain import events as ev


class News(Flag):
    NOTHING = 0
    BEGINS = auto()  # a turn or a request begins, or is over: the model is waited for from here on
    THINKS = auto()  # a piece of what the model thinks
    WRITES = auto()  # a piece of what it writes, a call too
    RETRIES = auto()  # the request is sent again
    BESIDE = auto()  # it says nothing of the answer, which may still not have begun
    WAITS = auto()  # a call can't go on without the user
    DECIDED = auto()  # what waited has its answer
    OVER = auto()  # what a call waited for is void: its run is over
    ENDS = auto()  # the turn is over
    MOVES = auto()  # a call stands in a queue, runs or has ended
    TODO = auto()  # the to-do list is another
    FIGURES = auto()  # the model, the step or what was spent is another

    @classmethod
    def of(cls, event: ev.Event) -> News:
        """Return the news that an event is; one of an agent says nothing of the turn itself."""
        return (_OF_AGENTS if event.agent else NEWS)[type(event)]


NEWS: Mapping[type[ev.Event], News] = {
    ev.SessionStarted: News.FIGURES | News.BESIDE,
    ev.TurnStarted: News.BEGINS,
    ev.StepStarted: News.BEGINS | News.FIGURES,
    ev.ReasoningDelta: News.THINKS,
    ev.TextDelta: News.WRITES,
    ev.TextRevised: News.WRITES,
    ev.ThoughtDelta: News.THINKS,
    ev.Thought: News.NOTHING,
    ev.CallAnnounced: News.WRITES,
    ev.CallArguments: News.WRITES,
    ev.CallDropped: News.NOTHING,
    ev.CallReady: News.NOTHING,
    ev.ApprovalRequested: News.WAITS,
    ev.ApprovalResolved: News.DECIDED,
    ev.CallQueued: News.MOVES,
    ev.CallStarted: News.MOVES,
    ev.CallProgress: News.NOTHING,
    ev.CallLog: News.NOTHING,
    ev.CallOutput: News.NOTHING,
    ev.CallExtended: News.NOTHING,
    ev.CallDetached: News.MOVES,
    ev.CallRestarted: News.OVER,
    ev.QuestionAsked: News.WAITS,
    ev.CallAsked: News.WAITS,
    ev.CallAnswered: News.DECIDED,
    ev.CallFinished: News.OVER | News.MOVES,
    ev.BatchFinished: News.NOTHING,
    ev.TodoChanged: News.TODO | News.BESIDE,
    ev.AnswerKept: News.NOTHING,
    ev.MessageAdded: News.NOTHING,
    ev.UsageReported: News.FIGURES | News.BESIDE,
    ev.RetryScheduled: News.RETRIES,
    ev.Notice: News.BESIDE,
    ev.TurnFinished: News.BEGINS | News.ENDS | News.FIGURES,
    ev.TurnUndone: News.NOTHING,
    ev.HistoryCompacted: News.NOTHING,
}
_OUTSIDE = News.BESIDE | News.WAITS | News.DECIDED | News.OVER | News.MOVES | News.FIGURES
_OF_AGENTS = {kind: news & _OUTSIDE for kind, news in NEWS.items()}


def is_inside(event: ev.Event) -> bool:
    """Tell whether an event is only of an agent's own conversation: whoever shows the one above shows no more of it
    than the agent's call says."""
    return bool(event.agent) and not (call_of(event) and not isinstance(event, ev.UsageReported))


def is_whole_answer(event: ev.Event) -> bool:
    """Tell whether an event is the whole of an answer that calls nothing: no more of it is to come."""
    ends = isinstance(event, ev.MessageAdded) and event.role == "assistant" and not event.tool_calls
    return ends and not event.agent


def call_of(event: ev.Event) -> str:
    return getattr(event, "call_id", "")


def text_of(event: ev.Event) -> str:
    return getattr(event, "text", "") or getattr(event, "delta", "")

"""The events of one call and of its batch, from its name in the answer to its result. `events` has them all."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from console_app.domain.approvals import DecidedBy, Decision
from console_app.domain.base_event import BaseEvent, Level
from console_app.domain.tools import Artifact, CallOrigin, Outcome


class CallAnnounced(BaseEvent):
    """The name of a call is known; `index` is its place among the calls of the answer, from 0.

    With the origin `provider` the provider runs it itself, and its result is none of the history.
    """

    type: Literal["call.announced"] = "call.announced"
    call_id: str
    index: int
    name: str
    server: str = ""
    tool: str = ""
    origin: CallOrigin = "native"
    dialect: str = ""  # of a call that was read from text


class CallArguments(BaseEvent):
    shown_only: ClassVar[bool] = True
    type: Literal["call.arguments"] = "call.arguments"
    call_id: str
    delta: str


class CallDropped(BaseEvent):
    """What was announced proved to be no call (text protocols only): it has no result, its panel goes."""

    type: Literal["call.dropped"] = "call.dropped"
    call_id: str


class CallReady(BaseEvent):
    """The arguments of a call are complete."""

    type: Literal["call.ready"] = "call.ready"
    call_id: str
    arguments: dict[str, Any]
    raw: str = ""  # for a call read from text: the text it was read from
    repaired: tuple[str, ...] = ()


class ApprovalRequested(BaseEvent):
    type: Literal["approval.requested"] = "approval.requested"
    call_id: str
    why: str
    always: bool = False  # no rule and no mode could have let this call run


class ApprovalResolved(BaseEvent):
    """`arguments` is set when they were edited: it is what runs. Hashes tell what a person decided on: `definition` of
    the tool and its server, `displayed` of the lines that were displayed."""

    type: Literal["approval.resolved"] = "approval.resolved"
    call_id: str
    decision: Decision
    by: DecidedBy
    arguments: dict[str, Any] | None = None
    feedback: str | None = None
    rule: str | None = None
    definition: str | None = None
    displayed: str | None = None


class CallQueued(BaseEvent):
    type: Literal["call.queued"] = "call.queued"
    call_id: str
    why: str


class CallStarted(BaseEvent):
    """`limit`: seconds that it may run without news of it, None without limit."""

    type: Literal["call.started"] = "call.started"
    call_id: str
    limit: float | None = None


class CallProgress(BaseEvent):
    shown_only: ClassVar[bool] = True
    type: Literal["call.progress"] = "call.progress"
    call_id: str
    progress: float
    total: float | None = None
    message: str | None = None
    news: bool = True  # further than ever, or with words that are new: it puts the call's deadline off
    dropped: int = 0  # notices before it that nobody could follow: this one took their place


class CallLog(BaseEvent):
    shown_only: ClassVar[bool] = True
    type: Literal["call.log"] = "call.log"
    call_id: str
    level: Level = "info"
    text: str
    news: bool = True  # it puts the call's deadline off: neither said before, nor of a flood, nor maybe another's
    dropped: int = 0  # lines right before it that came too fast to keep
    sure: bool = True  # False: it may be of another call of its server, which didn't say


class CallExtended(BaseEvent):
    """The user gave a running call its whole time again, as news of it would."""

    type: Literal["call.extended"] = "call.extended"
    call_id: str


class CallRestarted(BaseEvent):
    """The user runs a call again: what came of it before is superseded, and the last `call.finished` counts.

    `attempt` counts from 1, so it is at least 2 here. `arguments` is set when they differ from those of the attempt
    before: it is what runs now.
    """

    type: Literal["call.restarted"] = "call.restarted"
    call_id: str
    attempt: int
    arguments: dict[str, Any] | None = None


class QuestionAsked(BaseEvent):
    """A running call asks the user; open until the call has finished. Words of one's own are always an answer."""

    type: Literal["question.asked"] = "question.asked"
    call_id: str
    question: str
    options: tuple[str, ...] = ()  # up to four answers to choose from


class CallAsked(BaseEvent):
    """A running call's server asks the user: for values, to open a page, for the model. Open until `call.answered`,
    or until the call has finished; there may be several."""

    type: Literal["call.asked"] = "call.asked"
    call_id: str
    what: str


class CallAnswered(BaseEvent):
    """A `call.asked` of the call is open no longer; `how` in a word or a few, as "accepted"."""

    type: Literal["call.answered"] = "call.answered"
    call_id: str
    what: str
    how: str


class CallFinished(BaseEvent):
    """How a call ended. The last one of a call counts: there are several only with `call.restarted` between."""

    type: Literal["call.finished"] = "call.finished"
    call_id: str
    outcome: Outcome
    content: str
    error: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    structured: dict[str, Any] | None = None  # what the tool gave beside `content`, where that doesn't say the same
    duration_ms: int = 0  # of its run; 0 when it never ran


class BatchFinished(BaseEvent):
    """All calls of an answer have ended: `wall_ms` from the first start to the last end, `summed_ms` of all runs."""

    type: Literal["batch.finished"] = "batch.finished"
    calls: int
    wall_ms: int
    summed_ms: int

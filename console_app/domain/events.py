"""Everything that happens in a turn, as one ordered stream of frozen events: shown, printed, stored, replayed and
compared, so pure data (no Future, class or widget). Events marked `shown_only` are painted but never stored: a later
event has what they add up to."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, TypeAdapter

from console_app.domain.amounts import plural
from console_app.domain.messages import AssistantMessage, Attachment, Reasoning, ThoughtLabel, ToolMessage, UserMessage
from console_app.domain.tools import Artifact, CallOrigin, Frozen, Outcome, ToolCall

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

OutputStream = Literal["stdout", "stderr", "text"]  # text: of both, or of a tool that has no streams

CONSOLE_ENDED = "The console ended before this turn did."
PROGRAM = "program"
"""The tool of Fanout whose calls make others: its id is the `parent` of theirs."""


class BaseEvent(Frozen):
    """The fields of every event: `seq` orders a session's events, `at` is seconds since the epoch (UTC).

    `agent` is the path of the agent in whose conversation it happened: its name, and before that the names of those
    that sent it, with `/`. It is empty for the conversation of the user.
    """

    shown_only: ClassVar[bool] = False

    session_id: str = ""
    turn: int = 0
    step: int = 0
    seq: int = 0
    at: float = 0.0
    agent: str = ""


class Untold(BaseEvent):
    """An event that only changes the state: faces read what came of it there, and none tells of the event itself."""


class Decision(StrEnum):
    """The answer to an approval request."""

    ALLOW = "allow"
    DENY = "deny"


class DecidedBy(StrEnum):
    """The one who answered an approval request."""

    USER = "user"
    RULE = "rule"
    MODE = "mode"
    LIMIT = "limit"  # nobody could, or nobody did in time
    HOOK = "hook"  # a program of the user's


class TodoStatus(StrEnum):
    """The progress of an item of the to-do list."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class TodoItem(Frozen):
    """An item; `content` is one line of text."""

    content: str
    status: TodoStatus = TodoStatus.PENDING


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
    parent: str = ""  # the program or agent that made it: then it joins no history above, but a provider's program's
    behind: int | None = None  # characters of the answer's text that stand before it; None: not known, all of them


class CallArguments(BaseEvent):
    shown_only: ClassVar[bool] = True
    type: Literal["call.arguments"] = "call.arguments"
    call_id: str
    delta: str


class CallDropped(BaseEvent):
    """An announced call proved to be none (text protocols), or a program's (it is announced anew): its panel goes, and
    it has no result."""

    type: Literal["call.dropped"] = "call.dropped"
    call_id: str


class CallReady(BaseEvent):
    """The arguments of a call are complete."""

    type: Literal["call.ready"] = "call.ready"
    call_id: str
    arguments: dict[str, Any]
    raw: str = ""  # for a call read from text: the text it was read from
    repaired: tuple[str, ...] = ()
    hooked: bool = False  # a hook put these arguments in place of the model's


class ApprovalRequested(BaseEvent):
    """`always`: no rule and no mode could have let this call run. `form` is how its text is written, where its model
    isn't known to write calls so: an approval may license the form. `passage` is what the model was given that says the
    call."""

    type: Literal["approval.requested"] = "approval.requested"
    call_id: str
    why: str
    always: bool = False
    form: str = ""
    passage: str = ""


class ApprovalResolved(BaseEvent):
    """`arguments` is set when they were edited: it is what runs. Hashes tell what a person decided on: `definition` of
    the tool and its server, `displayed` of the lines that were displayed. `licensed` is the form of text in which the
    model is known to write calls from now on."""

    type: Literal["approval.resolved"] = "approval.resolved"
    call_id: str
    decision: Decision
    by: DecidedBy
    arguments: dict[str, Any] | None = None
    feedback: str | None = None
    rule: str | None = None
    definition: str | None = None
    displayed: str | None = None
    licensed: str | None = None


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
    news: bool = True  # it puts the call's deadline off: neither said before nor of a flood
    dropped: int = 0  # lines right before it that came too fast to keep
    sure: bool = True  # False, in older sessions: it may be of another call of its server


class CallOutput(BaseEvent):
    """A piece of the output of a running call, at most 20 a second. `offset` counts the bytes of all its output before
    `text`, kept or not; the newest `dropped` of them came too fast to keep."""

    shown_only: ClassVar[bool] = True
    type: Literal["call.output"] = "call.output"
    call_id: str
    stream: OutputStream
    text: str
    offset: int
    dropped: int = 0
    news: bool = True  # it puts the call's deadline off


class CallExtended(BaseEvent):
    """The user gave a running call its whole time again, as news of it would; or its provider has said, with `limit`,
    how many seconds it has from now."""

    type: Literal["call.extended"] = "call.extended"
    call_id: str
    limit: float | None = None


class CallDetached(BaseEvent):
    """A running call went to the background: its answer waits for it no longer, and its result follows as a message."""

    type: Literal["call.detached"] = "call.detached"
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
    sure: bool = True  # False: another call of its server may be the one that asks, and none is known to wait


class CallAnswered(BaseEvent):
    """A `call.asked` of the call is open no longer; `how` in a word or a few, as "accepted"."""

    type: Literal["call.answered"] = "call.answered"
    call_id: str
    what: str
    how: str


class CallFinished(BaseEvent):
    """The end of a call. The last one of a call counts: there are several only with `call.restarted` between.

    `by_user`: the user wrote `content` in place of what the tool gave, in a fork of the session.
    """

    type: Literal["call.finished"] = "call.finished"
    call_id: str
    outcome: Outcome
    content: str
    error: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    structured: dict[str, Any] | None = None  # what the tool gave beside `content`, where that doesn't say the same
    duration_ms: int = 0  # of its run; 0 when it never ran
    by_user: bool = False


class BatchFinished(BaseEvent):
    """All calls of an answer have ended: `wall_ms` from the first start to the last end, `summed_ms` of all runs."""

    type: Literal["batch.finished"] = "batch.finished"
    calls: int
    wall_ms: int
    summed_ms: int


TurnOutcome = Literal["completed", "cancelled", "failed", "step_limit"]


class SessionStarted(Untold):
    """A conversation begins: the user's, or that of an agent, which is the work of the call `parent`."""

    type: Literal["session.started"] = "session.started"
    model: str
    provider: str
    protocol: str
    strategy: str
    policy: str
    tools: tuple[str, ...] = ()
    servers: dict[str, int] = Field(default_factory=dict)  # how many of them each server has
    native_callers: tuple[str, ...] = ()  # of a fork: the models that made native calls in what it was made of
    parent: str = ""
    folder: str = ""  # that an agent works in, where it has one of its own


class TurnStarted(BaseEvent):
    type: Literal["turn.started"] = "turn.started"
    prompt: str


class StepStarted(BaseEvent):
    type: Literal["step.started"] = "step.started"


class ReasoningDelta(BaseEvent):
    shown_only: ClassVar[bool] = True
    type: Literal["reasoning.delta"] = "reasoning.delta"
    text: str


class TextDelta(BaseEvent):
    shown_only: ClassVar[bool] = True
    type: Literal["text.delta"] = "text.delta"
    text: str


class TextRevised(BaseEvent):
    """Text shown before was not meant to be seen (reasoning without its opening tag): `text` replaces it all."""

    shown_only: ClassVar[bool] = True
    type: Literal["text.revised"] = "text.revised"
    text: str


class ThoughtDelta(BaseEvent):
    """More of a thought that is being written."""

    shown_only: ClassVar[bool] = True
    type: Literal["thought.delta"] = "thought.delta"
    label: ThoughtLabel
    text: str


class Thought(BaseEvent):
    """A whole thought, plan or observation of a strategy that thinks aloud; its deltas were only for the eyes."""

    type: Literal["thought.added"] = "thought.added"
    label: ThoughtLabel
    text: str


class TodoChanged(BaseEvent):
    """The whole to-do list as it is now."""

    type: Literal["todo.changed"] = "todo.changed"
    items: tuple[TodoItem, ...]
    by: Literal["model", "user"] = "model"


class AnswerKept(Untold):
    """A part of the answer being written that its `endpoint` wants back, kept as soon as it came: a piece of reasoning,
    or `provider_data`. This is the call's (`call_id`) or else the message's, and takes the place of the one before.

    The message that joins the history has all of it. `partial` reasoning may still grow: the next piece replaces it.
    """

    shown_only: ClassVar[bool] = True
    type: Literal["answer.kept"] = "answer.kept"
    endpoint: str = ""
    call_id: str = ""
    provider_data: dict[str, Any] = Field(default_factory=dict)
    reasoning: Reasoning | None = None
    partial: bool = False


class MessageAdded(BaseEvent):
    """The exact message that joins the history."""

    type: Literal["message.added"] = "message.added"
    role: Literal["user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    outcome: Outcome | None = None
    images: tuple[str, ...] = ()
    reasoning: tuple[Reasoning, ...] = ()
    interrupted: bool = False
    paused: bool = False
    endpoint: str = ""
    provider_data: dict[str, Any] = Field(default_factory=dict)
    origin: Literal["user", "fanout"] = "user"
    label: ThoughtLabel | None = None
    attachments: tuple[Attachment, ...] = ()
    source: str = ""
    tells: str = ""

    @classmethod
    def of(cls, message: UserMessage | AssistantMessage | ToolMessage) -> MessageAdded:
        """Return the event that adds `message`, and holds it: everybody who folds it in shares that one."""
        event = cls(**cls.fields_of(message))
        vars(event)["message"] = message
        return event

    @classmethod
    def fields_of(cls, message: UserMessage | AssistantMessage | ToolMessage) -> dict[str, Any]:
        """The event's own fields for `message`; `event.message` is the way back."""
        shared = {name: getattr(message, name) for name in type(message).model_fields if name in cls.model_fields}
        return {**shared, "tool_calls": shared.get("tool_calls") or None}

    @cached_property
    def message(self) -> UserMessage | AssistantMessage | ToolMessage:
        kind = {"user": UserMessage, "assistant": AssistantMessage, "tool": ToolMessage}[self.role]
        given: dict[str, Any] = {"tool_call_id": ""}  # which a stored message may lack
        given |= {name: value for name in kind.model_fields if (value := getattr(self, name, None)) is not None}
        return kind(**given)


class UsageReported(BaseEvent):
    """Tokens of one request. `cached_tokens` are part of the input; `cost` is in US dollars, None when unknown.

    `call_id` is set when a call's server asked the model (sampling), and not the conversation.
    """

    type: Literal["usage.reported"] = "usage.reported"
    call_id: str = ""
    input_tokens: int
    output_tokens: int
    cached_tokens: int | None = None
    cost: float | None = None


class RetryScheduled(BaseEvent):
    """The request failed before anything of the answer was shown, and is sent again after `delay` seconds."""

    type: Literal["retry.scheduled"] = "retry.scheduled"
    attempt: int
    delay: float
    why: str
    most: int | None = None  # tries there are at most, where that is known


class ShownCall(Frozen):
    """A call that an answer showed and did not make: `name` is the tool's on the wire, `arguments` are None where they
    could not be read."""

    name: str
    arguments: dict[str, Any] | None = None


class Notice(BaseEvent):
    """Something the user should know.

    `without_reasoning_of`, when not empty, is an endpoint, as its reasoning names its source: it refused that of the
    answers so far, which no request carries any more. `shortened` are calls, and how many characters of their results
    requests carry from now on: they were too much for the model, and stay whole in the history. `shown` is a call that
    the answer only showed, which you may run.
    """

    type: Literal["notice"] = "notice"
    level: Level = "info"
    text: str
    without_reasoning_of: str = ""
    shortened: dict[str, int] = Field(default_factory=dict)
    shown: ShownCall | None = None

    def to_user(self, key: str = "/run") -> str:
        """Return the text; where a call can be run, it names the `key` that runs it."""
        runs = self.shown is not None and self.shown.arguments is not None
        return f"{self.text} {key} runs it: it asks first." if runs else self.text


class TurnFinished(BaseEvent):
    type: Literal["turn.finished"] = "turn.finished"
    outcome: TurnOutcome
    error: str | None = None


class TurnUndone(BaseEvent):
    """The user took a turn back: it leaves the history and the screen, and stays stored. Always the newest left.

    `undone` is the number of that turn; what it cost stays counted.
    """

    type: Literal["turn.undone"] = "turn.undone"
    undone: int


class HistoryCompacted(BaseEvent):
    """From now on the model reads `summary` in place of the oldest `covers` messages, which stay stored and shown.

    `covers` of 0 takes the last compaction back. `automatic`: because the model's window was nearly full, or because a
    request was `refused` as too large for it.
    """

    type: Literal["history.compacted"] = "history.compacted"
    summary: str
    covers: int
    automatic: bool = False
    refused: bool = False

    @property
    def line(self) -> str:
        if not self.covers:
            return "Compaction taken back: the model reads the whole conversation again."
        return f"Compacted: the model reads a summary in place of the oldest {plural(self.covers, 'message')}."


Event = (
    SessionStarted
    | TurnStarted
    | StepStarted
    | ReasoningDelta
    | TextDelta
    | TextRevised
    | ThoughtDelta
    | Thought
    | CallAnnounced
    | CallArguments
    | CallDropped
    | CallReady
    | ApprovalRequested
    | ApprovalResolved
    | CallQueued
    | CallStarted
    | CallProgress
    | CallLog
    | CallOutput
    | CallExtended
    | CallDetached
    | CallRestarted
    | QuestionAsked
    | CallAsked
    | CallAnswered
    | TodoChanged
    | CallFinished
    | BatchFinished
    | AnswerKept
    | MessageAdded
    | UsageReported
    | RetryScheduled
    | Notice
    | TurnFinished
    | TurnUndone
    | HistoryCompacted
)
EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")], config={"defer_build": True})

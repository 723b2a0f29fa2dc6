"""The one fold from events to state: what both front ends, the store and replay know of a conversation.

`Transcript.apply` is called once an event, in order, and touches only what the event names, so a thousand calls cost
no more an event than one. The state is plain and mutable; the conversation's blocks read it when they paint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from console_app.domain import events as ev
from console_app.domain.errors import ContextOverflow
from console_app.domain.messages import AssistantMessage, ThoughtLabel, ToolMessage, UserMessage
from console_app.domain.todo import TodoItem
from console_app.domain.tools import Artifact, CallState, Outcome

LOG_LINES_KEPT = 500  # of a call, on screen; the newest


@dataclass(slots=True)
class LogLine:
    """One line that a call logged."""

    at: float
    level: ev.Level
    text: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """A run of a call that a later one superseded. `outcome` is None where it had not ended."""

    arguments: dict[str, Any] | None
    outcome: Outcome | None
    content: str
    error: str | None
    started_at: float | None
    finished_at: float | None
    duration_ms: int


@dataclass(slots=True)
class Call:
    """One call of an answer: its panel shows this. Times are `at` of the events, None where not reached."""

    id: str
    index: int
    name: str
    server: str
    tool: str
    origin: str
    announced_at: float
    state: CallState = CallState.ANNOUNCED
    arguments_text: str = ""
    arguments: dict[str, Any] | None = None
    edited: bool = False
    raw: str = ""
    repaired: tuple[str, ...] = ()
    why: str = ""  # why it waits or is queued
    waits: list[tuple[float, float | None]] = field(default_factory=list[tuple[float, float | None]])  # for you
    ready_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    news_at: float = 0.0
    limit: float | None = None  # seconds that it may run without news
    progress: float | None = None
    total: float | None = None
    message: str = ""
    log: list[LogLine] = field(default_factory=list[LogLine])
    outcome: Outcome | None = None
    content: str = ""
    error: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    structured: dict[str, Any] | None = None
    duration_ms: int = 0
    attempt: int = 1
    superseded: list[Attempt] = field(default_factory=list[Attempt])  # the oldest first
    question: str = ""  # what it asks the user, while and after it does
    options: tuple[str, ...] = ()
    asked: list[str] = field(default_factory=list[str])  # what its server asks the user and has no answer to yet

    @property
    def waits_for_you(self) -> bool:
        """Whether it can't go on without the user: an approval, an answer."""
        return self.state is CallState.WAITING or self.asks or (bool(self.asked) and self.state is CallState.RUNNING)

    @property
    def asks(self) -> bool:
        """Whether it waits for the user's answer."""
        return bool(self.question) and self.state is CallState.RUNNING

    @property
    def label(self) -> str:
        """`server · tool`, or the name the model used where no such tool is known."""
        return f"{self.server} · {self.tool}" if self.server else self.name


@dataclass(slots=True)
class Batch:
    """The calls of one answer, in call order."""

    calls: list[Call] = field(default_factory=list[Call])
    wall_ms: int | None = None
    summed_ms: int | None = None

    @property
    def started_at(self) -> float | None:
        """When its first call started to run, or None."""
        return min((c.started_at for c in self.calls if c.started_at is not None), default=None)

    @property
    def is_open(self) -> bool:
        """Whether a call has not ended yet."""
        return any(call.state is not CallState.FINISHED for call in self.calls)


@dataclass(slots=True)
class Step:
    """One answer of the model: its reasoning, its text, its calls."""

    number: int
    reasoning: str = ""
    batch: Batch = field(default_factory=Batch)
    interrupted: bool = False
    done: bool = False  # its message has joined the history
    thoughts: list[ev.Thought] = field(default_factory=list[ev.Thought])
    steered: list[UserMessage] = field(default_factory=list[UserMessage])  # what you said after it, while the turn ran
    thinking: str = ""  # a thought that is being written
    thinking_label: ThoughtLabel | None = None
    _text: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        """The visible text so far."""
        if len(self._text) > 1:
            self._text[:] = ["".join(self._text)]
        return self._text[0] if self._text else ""

    def add_text(self, text: str) -> None:
        """More text; joined only when read, so that a long answer costs no more a token than a short one."""
        self._text.append(text)

    def set_text(self, text: str) -> None:
        """The whole text, in place of what was there."""
        self._text[:] = [text]


@dataclass(slots=True)
class Turn:
    """A prompt and everything that came of it."""

    number: int
    prompt: str
    started_at: float
    begins: int = 0  # how many messages the history had before it
    message: UserMessage | None = None  # the prompt as it joined the history
    steps: list[Step] = field(default_factory=list[Step])
    outcome: ev.TurnOutcome | None = None
    error: str | None = None
    finished_at: float | None = None


@dataclass(slots=True)
class Usage:
    """Tokens and money of a session. `context` is the input and output of the newest request."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    context: int = 0
    stale: bool = False  # the context is another one since: of it no request has been answered


class Transcript:
    """State folded from events. Unknown call ids are ignored: a late event of a call can't break the screen."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.calls: dict[str, Call] = {}
        self.open_calls: dict[str, Call] = {}  # those without a result: few, where `calls` may be thousands
        self.history: list[UserMessage | AssistantMessage | ToolMessage] = []
        self.usage = Usage()
        self.session: ev.SessionStarted | None = None
        self.todo: tuple[TodoItem, ...] = ()
        self._compactions: list[ev.HistoryCompacted] = []

    @property
    def compactions(self) -> Sequence[ev.HistoryCompacted]:
        """Those that were not taken back, the oldest first."""
        return self._compactions

    @property
    def compaction(self) -> ev.HistoryCompacted | None:
        """What the model reads in place of older messages, if anything."""
        return self._compactions[-1] if self._compactions else None

    @property
    def overflowed(self) -> bool:
        """Whether the newest turn ended by a request that was too large for the model."""
        turn = self.turn
        return turn is not None and turn.error is not None and turn.error.startswith(f"{ContextOverflow.title}:")

    @property
    def turn(self) -> Turn | None:
        """The newest turn."""
        return self.turns[-1] if self.turns else None

    @property
    def step(self) -> Step | None:
        """The newest step of the newest turn."""
        return self.turns[-1].steps[-1] if self.turns and self.turns[-1].steps else None

    def apply(self, event: ev.Event) -> None:
        """Folds one event in."""
        match event:
            case ev.SessionStarted():
                self.session = event
            case ev.TurnStarted():
                self.turns.append(Turn(event.turn, event.prompt, event.at, len(self.history)))
            case ev.StepStarted():
                if self.turns:
                    self.turns[-1].steps.append(Step(event.step))
            case ev.ReasoningDelta():
                if step := self.step:
                    step.reasoning += event.text
            case ev.TextDelta():
                if step := self.step:
                    step.add_text(event.text)
            case ev.TextRevised():
                if step := self.step:
                    step.set_text(event.text)
            case ev.ThoughtDelta():
                if step := self.step:
                    step.thinking += event.text
                    step.thinking_label = event.label
            case ev.Thought():
                if step := self.step:
                    step.thoughts.append(event)
                    step.thinking, step.thinking_label = "", None
            case ev.TodoChanged():
                self.todo = event.items
            case ev.MessageAdded():
                self._message(event)
            case ev.UsageReported():
                self._usage(event)
            case ev.BatchFinished():
                if step := self.step:
                    step.batch.wall_ms, step.batch.summed_ms = event.wall_ms, event.summed_ms
            case ev.TurnFinished():
                if turn := self.turn:
                    turn.outcome, turn.error, turn.finished_at = event.outcome, event.error, event.at
            case ev.TurnUndone():
                self._undone(event)
            case ev.HistoryCompacted():
                self.usage.stale = True
                if event.covers:
                    self._compactions.append(event)
                elif self._compactions:
                    self._compactions.pop()
            case ev.RetryScheduled() | ev.Notice():
                pass
            case ev.CallAnnounced():
                self._announced(event)
            case ev.CallDropped():
                if (call := self._forget(event.call_id)) and (step := self.step):
                    step.batch.calls[:] = [other for other in step.batch.calls if other is not call]
            case _:
                if call := self.calls.get(event.call_id):
                    _apply_to_call(call, event)
                    self._keep_if_open(call)

    def _keep_if_open(self, call: Call) -> None:
        if call.state is CallState.FINISHED:
            self.open_calls.pop(call.id, None)
        else:
            self.open_calls[call.id] = call

    def _message(self, event: ev.MessageAdded) -> None:
        message = event.message
        self.history.append(message)
        if isinstance(message, UserMessage):
            if (turn := self.turn) is not None and message.origin == "user":
                if turn.message is None:
                    turn.message = message
                elif turn.steps:
                    turn.steps[-1].steered.append(message)
            return
        if isinstance(message, ToolMessage):
            # One text, and not two alike: results can be megabytes, and read from a file they came twice.
            if (call := self.calls.get(message.tool_call_id)) is not None and call.content == message.content:
                call.content = message.content
            return
        step = self.step
        if step is not None:
            if step.done:
                # A second message of one answer: what the model gave to `finished`, after the calls beside it.
                step = Step(step.number)
                self.turns[-1].steps.append(step)
            # The stored message is the truth; the deltas before it were only for the eyes.
            if message.label is None:
                step.set_text(message.content)
            step.interrupted, step.done = message.interrupted, True
            if not step.reasoning:
                step.reasoning = "\n\n".join(part.text for part in message.reasoning if part.text)

    def _undone(self, event: ev.TurnUndone) -> None:
        turn = self.turn
        if turn is None or turn.number != event.undone:
            return
        self.turns.pop()
        self.usage.stale = True
        del self.history[turn.begins :]
        self._compactions = [one for one in self._compactions if one.covers <= len(self.history)]
        for step in turn.steps:
            for call in step.batch.calls:
                self._forget(call.id)

    def _usage(self, event: ev.UsageReported) -> None:
        usage = self.usage
        usage.input_tokens += event.input_tokens
        usage.output_tokens += event.output_tokens
        usage.cached_tokens += event.cached_tokens or 0
        if not event.call_id:
            usage.context, usage.stale = event.input_tokens + event.output_tokens, False
        if event.cost is not None:
            usage.cost = (usage.cost or 0.0) + event.cost

    def _announced(self, event: ev.CallAnnounced) -> None:
        step = self.step
        if step is None or event.call_id in self.calls:
            return
        call = Call(
            event.call_id,
            event.index,
            event.name,
            event.server,
            event.tool,
            event.origin,
            event.at,
            news_at=event.at,
        )
        self.calls[event.call_id] = call
        self.open_calls[event.call_id] = call
        step.batch.calls.append(call)

    def _forget(self, call_id: str) -> Call | None:
        self.open_calls.pop(call_id, None)
        return self.calls.pop(call_id, None)


def _apply_to_call(call: Call, event: Any) -> None:
    call.news_at = event.at
    _CALL_EVENTS[type(event)](call, event)


def _arguments(call: Call, event: ev.CallArguments) -> None:
    call.arguments_text += event.delta


def _ready(call: Call, event: ev.CallReady) -> None:
    call.arguments, call.ready_at = event.arguments, event.at
    call.raw, call.repaired = event.raw, event.repaired


def _requested(call: Call, event: ev.ApprovalRequested) -> None:
    call.state, call.why = CallState.WAITING, event.why
    call.waits.append((event.at, None))


def _waited(call: Call, until: float) -> None:
    if call.waits and call.waits[-1][1] is None:
        call.waits[-1] = (call.waits[-1][0], until)


def _resolved(call: Call, event: ev.ApprovalResolved) -> None:
    call.state, call.why = CallState.ANNOUNCED, ""
    _waited(call, event.at)
    if event.arguments is not None:
        call.arguments, call.edited = event.arguments, True


def _queued(call: Call, event: ev.CallQueued) -> None:
    call.state, call.why = CallState.QUEUED, event.why


def _started(call: Call, event: ev.CallStarted) -> None:
    call.state, call.why, call.started_at, call.limit = CallState.RUNNING, "", event.at, event.limit


def _restarted(call: Call, event: ev.CallRestarted) -> None:
    call.superseded.append(
        Attempt(
            call.arguments,
            call.outcome,
            call.content,
            call.error,
            call.started_at,
            call.finished_at,
            call.duration_ms,
        )
    )
    call.attempt, call.state, call.why = event.attempt, CallState.ANNOUNCED, ""
    if event.arguments is not None:
        call.arguments, call.edited = event.arguments, True
    call.started_at = call.finished_at = call.progress = call.total = call.outcome = call.error = None
    call.message, call.content, call.artifacts, call.duration_ms, call.question = "", "", (), 0, ""
    call.asked.clear()
    _waited(call, event.at)


def _asked(call: Call, event: ev.QuestionAsked) -> None:
    call.question, call.options = event.question, event.options


def _server_asked(call: Call, event: ev.CallAsked) -> None:
    if not call.asked:
        call.waits.append((event.at, None))
    call.asked.append(event.what)


def _server_answered(call: Call, event: ev.CallAnswered) -> None:
    if event.what in call.asked:
        call.asked.remove(event.what)
    if not call.asked:
        _waited(call, event.at)


def _progress(call: Call, event: ev.CallProgress) -> None:
    call.progress, call.total = event.progress, event.total
    if event.message is not None:
        call.message = event.message


def _log(call: Call, event: ev.CallLog) -> None:
    call.log.append(LogLine(event.at, event.level, event.text))
    call.message = event.text
    if len(call.log) > LOG_LINES_KEPT:
        del call.log[: LOG_LINES_KEPT // 5]


def _finished(call: Call, event: ev.CallFinished) -> None:
    if call.state is CallState.FINISHED:
        return  # one result a run: the first stands
    _waited(call, event.at)
    call.state, call.outcome, call.finished_at = CallState.FINISHED, event.outcome, event.at
    call.content, call.error, call.artifacts = event.content, event.error, event.artifacts
    call.duration_ms, call.structured = event.duration_ms, event.structured
    if call.arguments is not None:
        call.arguments_text = ""  # read, they are kept as `arguments`


_CALL_EVENTS: dict[type, Any] = {
    ev.CallArguments: _arguments,
    ev.CallReady: _ready,
    ev.ApprovalRequested: _requested,
    ev.ApprovalResolved: _resolved,
    ev.CallQueued: _queued,
    ev.CallStarted: _started,
    ev.CallProgress: _progress,
    ev.CallLog: _log,
    ev.CallRestarted: _restarted,
    ev.QuestionAsked: _asked,
    ev.CallAsked: _server_asked,
    ev.CallAnswered: _server_answered,
    ev.CallFinished: _finished,
}

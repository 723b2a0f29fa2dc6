"""The state of a conversation, as `Transcript` folds it from events: turns, steps, batches, calls."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from console_app.domain import events as ev
from console_app.domain import safe_text
from console_app.domain.messages import Reasoning, ThoughtLabel, UserMessage
from console_app.domain.tools import AGENT, OWN_SERVER, Artifact, CallOrigin, CallState, Outcome
from console_app.domain.transcript.verdicts import YOURS, Verdict, verdict_of
from console_app.records import dataclass, field

MOST_KEPT = 2**16  # characters of a running call
KEPT_AFTER_THE_END = 2**13


class OutputTail:
    """The newest output of one call. `received` are the bytes of it so far, kept or not."""

    __slots__ = ("_length", "_pieces", "_stream", "received")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._stream: ev.OutputStream = "text"
        self.received = 0

    def __str__(self) -> str:
        if len(self._pieces) > 1:
            self._pieces[:] = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def add(self, stream: ev.OutputStream, text: str, offset: int) -> None:
        """Add what came `offset` bytes after the beginning; a line says how much is missing before it."""
        missing = offset - self.received
        self.received = max(offset, self.received) + safe_text.size_of(text)
        in_a_line = bool(self._pieces) and not self._pieces[-1].endswith("\n")
        lead = "\n" if in_a_line and (missing > 0 or stream != self._stream) else ""
        lead += f"[{missing:,} bytes came too fast to keep]\n" if missing > 0 else ""
        self._stream = stream
        text = lead + text
        self._pieces.append(text)
        self._length += len(text)
        if self._length > 2 * MOST_KEPT:
            self.cut(MOST_KEPT)

    def cut(self, most: int = KEPT_AFTER_THE_END) -> None:
        """Keep the newest `most` characters of it, from the beginning of a line on where one begins there."""
        text = str(self)
        if len(text) > most:
            start = text.find("\n", len(text) - most) + 1
            text = text[start or len(text) - most :]
        self._pieces, self._length = [text], len(text)

    def lines(self, most: int = MOST_KEPT) -> list[str]:
        return safe_text.written_lines(str(self), most)

    def plain_lines(self, most: int) -> list[str]:
        return safe_text.plain_lines(str(self), most)


GO_ON = 'What came before stays: write "go on", and the model goes on from there.'


@dataclass(slots=True)
class LogLine:
    at: float
    level: ev.Level
    text: str
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class SupersededRun:
    """A run of a call that a later one superseded. `outcome` is None where it had not ended."""

    arguments: dict[str, Any] | None
    outcome: Outcome | None
    content: str
    error: str | None
    started_at: float | None
    finished_at: float | None
    duration_ms: int


class GrowingText:
    """A text that comes in pieces; joined only when read, so that a long one costs no more a piece than a short one."""

    __slots__ = ("_pieces",)

    def __init__(self, text: str = "") -> None:
        self._pieces: list[str] = [text] if text else []

    def __str__(self) -> str:
        if len(self._pieces) > 1:
            self._pieces[:] = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def __len__(self) -> int:
        return len(str(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GrowingText) and str(self) == str(other)

    def __repr__(self) -> str:
        return f"GrowingText({str(self)!r})"

    __hash__ = None  # type: ignore[assignment]  it changes

    def add(self, piece: str) -> None:
        self._pieces.append(piece)

    def set(self, text: str) -> None:
        self._pieces[:] = [text]


@dataclass(slots=True)
class AgentWork:
    """The figures of an agent, with those that it sent. `tail` is the newest of its words."""

    steps: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float | None = None
    tail: str = ""
    waiting: set[str] = field(default_factory=set[str])  # calls that wait for the user
    turns: list[TurnView] = field(default_factory=list["TurnView"])  # its conversation, as it goes on


@dataclass(slots=True)
class CallView:
    """A call of an answer: its panel shows this. Times are `at` of the events, None where not reached."""

    id: str
    index: int
    name: str
    server: str
    tool: str
    origin: CallOrigin
    announced_at: float
    state: CallState = CallState.ANNOUNCED
    dialect: str = ""  # of a call that was read from text
    parent: str = ""  # the id of the program or agent that made it
    step: int = 0  # the number of the answer that it is of
    behind: int | None = None  # characters of that answer's text that stand before it; None: all of them
    joins: bool = True  # its result is one of the history: neither its provider runs it, nor a program here made it
    agent: str = ""  # the path of the agent in whose conversation it is
    runs: str = ""  # the path of the agent whose work it is
    work: AgentWork | None = None  # of that agent
    depth: int = 0  # how many calls it stands below
    folder: str = ""  # that its agent works in, where that has one of its own
    arriving: GrowingText = field(default_factory=GrowingText)  # the arguments as they come; none once they are read
    arguments: dict[str, Any] | None = None
    edited: bool = False
    written: dict[str, Any] | None = None  # the arguments as the model wrote them
    raw: str = ""
    repaired: tuple[str, ...] = ()
    hooked: bool = False  # a hook changed its arguments
    why: str = ""  # why it waits or is queued
    always_asks: bool = False  # no rule and no mode could let it run
    form: str = ""  # how its text is written, where an approval may license that
    passage: str = ""  # of what the model was given, that makes it ask
    waits: list[tuple[float, float | None]] = field(default_factory=list[tuple[float, float | None]])  # for you
    decided: list[ev.ApprovalResolved] = field(default_factory=list[ev.ApprovalResolved])  # who let it run, or not
    ready_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    news_at: float = 0.0
    counts_from: float = 0.0  # since when the most is counted that it may take, whatever news it sends
    limit: float | None = None  # seconds that it may run without news
    progress: float | None = None
    total: float | None = None
    message: str = ""
    detached: bool = False  # it went to the background
    output: OutputTail | None = None  # the newest, None before there is any
    log: list[LogLine] = field(default_factory=list[LogLine])  # the newest
    logged: int = 0  # lines in all: those of `log`, older ones, and those that were dropped
    dropped: int = 0  # lines that came too fast to be kept
    outcome: Outcome | None = None
    content: str = ""
    error: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    structured: dict[str, Any] | None = None
    duration_ms: int = 0
    by_user: bool = False  # the user wrote `content` in place of what the tool gave
    attempt: int = 1
    superseded: list[SupersededRun] = field(default_factory=list[SupersededRun])  # the oldest first
    question: str = ""  # what it asks the user, while and after it does
    options: tuple[str, ...] = ()
    provider_data: dict[str, Any] = field(default_factory=dict[str, Any])  # what its endpoint wants back with it
    asked: list[str] = field(default_factory=list[str])  # what its server asks the user and has no answer to yet
    _judged: tuple[Outcome, str, Verdict] | None = field(default=None, compare=False)

    @property
    def verdict(self) -> Verdict | None:
        if self.outcome is None:
            return None
        if self.by_user:
            return YOURS
        if (judged := self._judged) is None or judged[0] is not self.outcome or judged[1] is not self.content:
            verdict = verdict_of(self.outcome, self.arguments, self.content, self.structured)
            self._judged = judged = self.outcome, self.content, verdict
        return judged[2]

    @property
    def went_wrong(self) -> bool:
        """Tell whether something went wrong with it that nobody decided."""
        return self.verdict is not None and self.verdict.needs_an_eye

    @property
    def arguments_text(self) -> str:
        return str(self.arriving)

    @property
    def waits_for_you(self) -> bool:
        return self.state is CallState.WAITING or self.asks or (bool(self.asked) and self.state is CallState.RUNNING)

    @property
    def asks(self) -> bool:
        return bool(self.question) and self.state is CallState.RUNNING

    # Times its limit that a call may take whatever news it sends: two hours with the usual five minutes.
    MOST_LIMITS: ClassVar = 24

    @classmethod
    def end_by(cls, news_at: float, counts_from: float, limit: float) -> float:
        """Return when a call ends: `limit` seconds after its news, or MOST_LIMITS times that after `counts_from`."""
        return min(news_at + limit, counts_from + limit * cls.MOST_LIMITS)

    @property
    def ends_at(self) -> float | None:
        if self.limit is None or self.state is not CallState.RUNNING or self.asked:
            return None
        begun = self.started_at or 0.0
        return self.end_by(max(self.news_at, begun), max(self.counts_from, begun), self.limit)

    @property
    def is_own(self) -> bool:
        return self.server == OWN_SERVER

    @property
    def is_agent(self) -> bool:
        return bool(self.runs) or (self.is_own and self.tool == AGENT)

    @property
    def agent_name(self) -> str:
        """Return the name of the agent whose work it is, or that the call asks for; "" for none."""
        if self.runs or self.arguments is None:
            return self.runs.rpartition("/")[2]
        return str(self.arguments.get("name") or self.arguments.get("kind") or "general")

    @property
    def was_cut_off(self) -> bool:
        """Tell whether something else than the user or its own failure ended the call, and it can run again."""
        own = self.is_agent or self.tool == ev.PROGRAM  # which have their own calls run again
        return self.was_cut and not self.agent and (own if self.is_own else self.joins)

    @property
    def was_cut(self) -> bool:
        """Tell whether the end of Fanout, or of waiting for it, ended the call."""
        return self.outcome is Outcome.INTERRUPTED

    @property
    def indent(self) -> str:
        return "  " * self.depth

    @property
    def label(self) -> str:
        return f"{self.server} · {self.tool}" if self.server else self.name


@dataclass(slots=True)
class BatchView:
    calls: list[CallView] = field(default_factory=list[CallView])
    wall_ms: int | None = None
    summed_ms: int | None = None

    @property
    def is_open(self) -> bool:
        return any(call.state is not CallState.FINISHED for call in self.calls)


class AnswerPart(NamedTuple):
    """A piece of an answer's text, from character `begin` of it on, and the calls that stand right behind it."""

    begin: int
    text: str
    calls: list[CallView]


@dataclass(slots=True)
class StepView:
    """An answer of the model: its reasoning, its text, its calls."""

    number: int
    batch: BatchView = field(default_factory=BatchView)
    interrupted: bool = False
    done: bool = False  # its message has joined the history
    thoughts: list[ev.Thought] = field(default_factory=list[ev.Thought])
    steered: list[UserMessage] = field(default_factory=list[UserMessage])  # what you said after it, while the turn ran
    thinking_label: ThoughtLabel | None = None
    visible: GrowingText = field(default_factory=GrowingText)
    thinking_aloud: GrowingText = field(default_factory=GrowingText)  # a thought that is being written
    reasoned: GrowingText = field(default_factory=GrowingText)
    # The parts that `endpoint` wants back, until the message that has them comes; the last piece may still grow.
    endpoint: str = ""
    provider_data: dict[str, Any] = field(default_factory=dict[str, Any])
    kept: list[Reasoning] = field(default_factory=list[Reasoning])
    kept_partial: bool = False

    @property
    def text(self) -> str:
        return str(self.visible)

    @property
    def parts(self) -> list[AnswerPart]:
        """The text and the calls in the order in which they stood. A call that another made stands behind that one."""
        text, at = self.text, 0
        found, here = [AnswerPart(0, "", [])], {call.id for call in self.batch.calls}
        for call in self.batch.calls:
            place = at if call.parent in here else len(text) if call.behind is None else call.behind
            behind = max(min(place, len(text)), at)
            if not text[at:behind].isspace() and behind > at:
                found.append(AnswerPart(at, text[at:behind].lstrip("\n" if at else ""), []))
            at = behind
            found[-1].calls.append(call)
        if text[at:].strip() or (text and not at):
            found.append(AnswerPart(at, text[at:].lstrip("\n" if at else ""), []))
        return found if found[0].calls else found[1:]

    @property
    def thinking(self) -> str:
        return str(self.thinking_aloud)

    @property
    def reasoning(self) -> str:
        return str(self.reasoned)


@dataclass(slots=True)
class TurnView:
    number: int
    prompt: str
    started_at: float
    begins: int = 0  # how many messages the history had before it
    message: UserMessage | None = None  # the prompt as it joined the history
    steps: list[StepView] = field(default_factory=list[StepView])
    outcome: ev.TurnOutcome | None = None
    error: str | None = None
    finished_at: float | None = None
    tokens: int = 0  # input and output of its requests so far
    cost: float | None = None  # None: no price is known

    @property
    def calls(self) -> list[CallView]:
        return [call for step in self.steps for call in step.batch.calls]

    @property
    def steps_with_calls(self) -> list[StepView]:
        return [step for step in self.steps if step.batch.calls]

    @property
    def is_live(self) -> bool:
        return self.outcome is None or any(call.state is not CallState.FINISHED for call in self.calls)

    def reach(self, now: float) -> tuple[float, float]:
        calls = self.calls
        begin = min([call.announced_at for call in calls], default=self.started_at)
        last = max([now if call.finished_at is None else call.finished_at for call in calls], default=begin + 1.0)
        return begin, max(last, begin + 0.001)

    @property
    def cut_off(self) -> list[CallView]:
        return [call for call in self.calls if call.was_cut_off]

    @property
    def without_success(self) -> list[CallView]:
        """The calls that did not succeed, where all of the turn failed or no answer follows to speak of them."""
        calls = self.calls
        wrong = [one for one in calls if one.verdict is not None and not (one.verdict.is_good or one.by_user)]
        failed = all(one.outcome is not None and one.outcome.is_error for one in calls)
        return wrong if (failed and len(wrong) == len(calls)) or self.steps[-1].batch.calls else []

    @property
    def broke_off(self) -> bool:
        """Tell whether the turn failed after the model said or called something, and no call of it can be run again."""
        return (
            self.outcome == "failed" and any(step.text or step.batch.calls for step in self.steps) and not self.cut_off
        )


@dataclass(slots=True)
class SessionUsage:
    """Tokens and money of a session. `context` is the input and output of the newest request."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    context: int = 0
    stale: bool = False  # the context is another one since: of it no request has been answered

    @property
    def known_context(self) -> int:
        return 0 if self.stale else self.context

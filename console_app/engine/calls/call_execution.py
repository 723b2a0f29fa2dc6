"""A call from its announcement to its one result: the state that the batch, the executor and the turn share."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from console_app.domain import Decision, Outcome, ToolCall, ToolMessage, ToolResult, ToolSpec, safe_text
from console_app.domain import events as ev
from console_app.domain.transcript import ToModel
from console_app.engine.calls.slots import Ticket
from console_app.records import dataclass, field

PAUSE = 0.05  # seconds that each event takes: 20 a second
MOST_AT_ONCE = 2**15  # characters of an event
PLENTY = 2**23  # bytes of a call, beyond which of each pause only a little of the newest is told
MOST_THEN = 2**10
_RUNS = 3  # pieces of other streams that are told each as an event; of more the streams are not told apart


# Takes a piece of output, the bytes before it, and how many of the newest of those were not told.
TellOutput = Callable[[ev.OutputStream, str, int, int], None]


class _Run(NamedTuple):
    stream: ev.OutputStream
    text: str
    dropped: int  # bytes right before it


class GatheredOutput:
    def __init__(self, tell: TellOutput) -> None:
        self._tell = tell
        self._pieces: deque[_Run] = deque()
        self._waiting = 0  # characters of them
        self._bytes = 0  # told or dropped
        self._timer: asyncio.TimerHandle | None = None
        self._free_at = 0.0

    def add(self, stream: ev.OutputStream, text: str, dropped: int = 0) -> None:
        """Take a piece, to tell it with those that come in the same pause. `dropped` bytes before it never came."""
        text = safe_text.encodable(text)
        self._pieces.append(_Run(stream, text, dropped))
        self._waiting += len(text)
        while self._waiting > 2 * MOST_AT_ONCE and len(self._pieces) > 1:
            oldest, following = self._pieces.popleft(), self._pieces.popleft()
            lost = following.dropped + oldest.dropped + safe_text.size_of(oldest.text)
            self._pieces.appendleft(following._replace(dropped=lost))
            self._waiting -= len(oldest.text)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(self._free_at, loop.time()), self.flush)

    def flush(self) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        runs = self._runs()
        self._pieces.clear()
        self._waiting = 0
        for stream, text, dropped in runs:
            most = MOST_AT_ONCE if self._bytes < PLENTY else MOST_THEN
            kept = text[-most:]
            dropped += safe_text.size_of(text[: len(text) - len(kept)])
            offset = self._bytes + dropped
            self._bytes = offset + safe_text.size_of(kept)
            self._tell(stream, kept, offset, dropped)
        self._free_at = asyncio.get_running_loop().time() + PAUSE * len(runs)

    def _runs(self) -> list[_Run]:
        """Join pieces of one stream; where many are left, join all behind the last gap."""
        runs: list[_Run] = []
        for many in (False, True):
            runs.clear()
            for piece in self._pieces:
                last = runs[-1] if runs else None
                if last is not None and not piece.dropped and (many or last.stream == piece.stream):
                    stream = last.stream if last.stream == piece.stream else "text"
                    runs[-1] = _Run(stream, last.text + piece.text, last.dropped)
                elif last is not None and many:
                    lost = last.dropped + safe_text.size_of(last.text) + piece.dropped
                    runs[-1] = piece._replace(dropped=lost)
                else:
                    runs.append(piece)
            if len(runs) <= _RUNS:
                break
        return runs


CallNews = ev.CallProgress | ev.CallLog | ev.CallOutput  # the only events that a newer one of their call makes up for
MOST_SENT = 50
_FLOOD = 500  # lines beyond a steady rate of them that are no news any more
_STEADY = 50.0  # lines a second
_LINE_LENGTH = 400


@dataclass(frozen=True, slots=True)
class Resolution:
    decision: Decision
    by: ev.DecidedBy
    arguments: dict[str, Any] | None = None  # set when they were edited
    feedback: str | None = None
    rule: str | None = None
    definition: str | None = None  # hash of the tool and its server, as a person saw them
    displayed: str | None = None  # hash of the lines that the person was shown
    licensed: bool = False  # the person said that the model writes calls so


@dataclass(slots=True, eq=False)
class CallExecution:
    """A call of the answer that is being worked on. Times are the engine's monotonic clock, in seconds."""

    id: str
    index: int
    name: str  # as the model wrote it
    spec: ToolSpec | None  # None: no such tool
    origin: Literal["native", "text"] = "native"
    dialect: str = ""  # how a call read from text was written
    parent: str = ""  # the id of the program that made it
    written: str = "{}"  # the model's arguments, as they join the history
    arguments: dict[str, Any] | None = None  # what runs; None until they were read
    raw: str = ""
    received: list[str] = field(default_factory=list[str])  # its arguments as they arrive
    repaired: tuple[str, ...] = ()
    provider_data: dict[str, Any] = field(default_factory=dict[str, Any])  # to go back to the endpoint that gave it
    left_out: tuple[str, ...] = ()  # arguments of the model that don't run
    why: str = ""  # why its agent asks for it, where no rule does
    must_ask: str = ""  # why a person has to approve it, whatever rules and modes say
    passage: str = ""  # of what the model was given, that makes it ask
    unlicensed: str = ""  # the same, until its model is known to write calls in its dialect
    advice: str = ""  # tells the model how to write it, where nobody is there to ask
    hook_allows: bool = False  # a hook spares it the question of the mode
    hooked: dict[str, Any] | None = None  # arguments that a hook put in place of the model's
    hooked_context: str = ""  # words of a hook for the model
    closed: bool = False  # its arguments are complete, or known to be broken
    taken_up: bool = False  # it goes on at its server, and only its result is fetched
    dispatched: bool = False
    released: bool = False  # waits for no other call any more
    awaited: asyncio.Future[ToolResult] | None = None  # of the program or agent here that made it
    detached: bool = False  # it went to the background: no answer waits for it
    attempt: int = 1  # from 1; the user may run a call again
    runs_before: int = 0  # attempts that were started and then superseded
    resolution: Resolution | None = None
    ticket: Ticket | None = None
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None
    started_at: float | None = None
    news_at: float = 0.0
    counts_from: float = 0.0  # when it started, or a person last gave it its whole time
    furthest: float | None = None  # the most progress it has reported
    flood: float = 0.0  # lines that came faster than at the steady rate, at most twice _FLOOD
    line_at: float = 0.0  # when the newest of them came
    holds: int = 0  # people who are asked on its behalf: its deadline doesn't run meanwhile
    ended_at: float | None = None
    result: ToolResult | None = None
    before: ToolResult | None = None  # of its last attempt that ran
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    sent: deque[str] = field(default_factory=lambda: deque[str](maxlen=MOST_SENT))
    output: GatheredOutput | None = None  # of its run
    heard: deque[int] = field(default_factory=lambda: deque[int](maxlen=MOST_SENT))  # hashes of its newest lines

    @property
    def asks(self) -> str:
        return "; ".join(filter(None, (self.unlicensed, self.must_ask)))

    @property
    def is_quotation(self) -> bool:
        answer = self.resolution
        denied = answer is not None and answer.decision is Decision.DENY and answer.by is ev.DecidedBy.USER
        return denied and bool(self.unlicensed and self.raw)

    @property
    def ran(self) -> bool:
        return self.started_at is not None

    @property
    def duration(self) -> float:
        """Return the seconds of its run; 0 when it never ran or still runs."""
        if self.started_at is None or self.ended_at is None:
            return 0.0
        return self.ended_at - self.started_at

    @property
    def edited(self) -> dict[str, Any] | None:
        return self.resolution.arguments if self.resolution else None

    def keep(self, line: str) -> None:
        line = " ".join(line.split())[:_LINE_LENGTH]
        if line and (not self.sent or self.sent[-1] != line):
            self.sent.append(line)

    def says_news(self, line: str, now: float, dropped: int = 0) -> bool:
        """Tell whether a line puts the call's deadline off: a new one does, but in a flood (`dropped`)."""
        self.flood = min(max(0.0, self.flood - (now - self.line_at) * _STEADY) + 1 + dropped, 2 * _FLOOD)
        self.line_at = now
        if (known := hash(line)) in self.heard:
            return False
        self.heard.append(known)
        if self.flood > _FLOOD:
            return False
        self.news_at = now
        return True

    def advances(self, progress: float, now: float) -> bool:
        if self.furthest is not None and progress <= self.furthest:
            return False
        self.furthest, self.news_at = progress, now
        return True

    def again(self, edited: dict[str, Any] | None = None) -> CallExecution:
        """Return the next attempt: `edited` arguments are approved, the same stay approved if they were."""
        resolution = self.resolution if self.resolution and self.resolution.decision is Decision.ALLOW else None
        if edited is not None:
            resolution = Resolution(
                Decision.ALLOW, ev.DecidedBy.USER, self.edited if edited == self.arguments else edited
            )
        return CallExecution(
            self.id,
            self.index,
            self.name,
            self.spec,
            self.origin,
            self.dialect,
            self.parent,
            written=self.written,
            arguments=self.arguments if edited is None else edited,
            raw=self.raw,
            received=self.received,
            repaired=self.repaired,
            provider_data=self.provider_data,
            left_out=self.left_out,
            must_ask=self.asks,
            hooked=self.hooked if edited is None else None,
            passage=self.passage,
            closed=True,
            awaited=self.awaited,
            resolution=None if self.asks and edited is None else resolution,
            attempt=self.attempt + 1,
            runs_before=self.runs_before + self.ran,
        )

    def as_tool_call(self, model: str) -> ToolCall:
        return ToolCall(
            id=self.id,
            name=self.name,
            arguments=self.written,
            origin=self.origin,
            raw=self.raw,
            repaired=self.repaired,
            model=model,
            provider_data=self.provider_data,
            whole=self.arguments is not None,
        )

    def as_message(self) -> ToolMessage:
        result = self.result
        if result is None and not self.detached:
            raise RuntimeError(f"call {self.id} has no result yet")
        return ToolMessage(
            tool_call_id=self.id,
            content=result.content if result else ToModel.IN_BACKGROUND,
            name=self.name,
            outcome=result.outcome if result else Outcome.SUCCEEDED,
            images=tuple(one.path for one in result.artifacts if one.is_picture) if result else (),
        )

    @property
    def outcome(self) -> Outcome | None:
        return self.result.outcome if self.result else None

"""A batch as data: an item that is a whole turn, its result, and the fold from events to progress. All of it is plain
JSON, so that an item may run in another process and its result be read years later."""

from __future__ import annotations

import hashlib
import heapq
import json
import re
import time
from array import array
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, assert_never

from pydantic import ConfigDict, Field, TypeAdapter

from console_app.domain.amounts import plural, tokens
from console_app.domain.safe_text import one_line
from console_app.domain.tools import CallState, Frozen, Outcome
from console_app.domain.transcript.results import ComparedCall, as_json, call_differences, text_difference
from console_app.records import dataclass, field

# `invalid`: the answer doesn't fit its schema. `approval`: a call needed one, and nobody could give it. `interrupted`:
# it was cut short after it may have changed something, and doesn't run again by itself.
ItemStatus = Literal[
    "completed", "failed", "invalid", "step_limit", "timed_out", "approval", "cancelled", "interrupted"
]
RESULT_VERSION = 1  # of `ItemResult`: a reader may refuse a higher one
RunState = Literal["starting", "running", "stopping", "ended"]
CUT_SHORT = "cut short after it began a call that may change something; --rerun-changes runs it again"
_RATE_OVER = 60.0  # seconds that the rate is taken of
_SLOWEST = 5
_CAUSES, _CAUSES_TOLD = 50, 8  # that are told apart, and that a summary names
_NOTICES = 20
_BARS, _BAR = 10, 30  # and the characters of the longest
_CHANGING = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?|“[^”]*”|'[^']*'|\"[^\"]*\"", re.IGNORECASE)


class GivenCall(Frozen):
    """A call that an item runs without a model."""

    tool: str  # SERVER.TOOL
    arguments: dict[str, Any] = Field(default_factory=dict)


class WorkItem(Frozen):
    """An item, ready to run: its template is filled in. `source` is where it was written, as `items.jsonl:3`."""

    id: str
    prompt: str = ""
    model: str = ""  # PROVIDER/MODEL; "": the run's
    system: str | None = None  # in place of the run's system prompt
    attachments: tuple[str, ...] = ()  # paths of files and folders
    allowed_tools: tuple[str, ...] | None = None  # patterns of SERVER.TOOL: it is offered no others; None: all
    answer_schema: dict[str, Any] | None = None  # JSON Schema that its answer has to fit
    calls: tuple[GivenCall, ...] = ()  # these run, and no model is asked
    max_price: float | None = None  # US dollars that are left for it
    source: str = ""

    @cached_property
    def digest(self) -> str:
        """The hash of the item's content, whatever its id and source: 16 hexadecimal digits."""
        content = self.model_dump(exclude={"id", "source", "max_price"}, exclude_defaults=True)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


class ItemUsage(Frozen):
    """Tokens of all requests of an item; `cost` is in US dollars, None where no price is known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None


class ItemCall(Frozen):
    """A call of an item, with how it ended. `content` is what the model read."""

    server: str
    tool: str
    arguments: dict[str, Any] | None = None
    outcome: Outcome
    content: str = ""
    error: str | None = None
    duration_ms: int = 0

    @property
    def compared(self) -> ComparedCall:
        return ComparedCall(f"{self.server}.{self.tool}", self.outcome, self.arguments, self.content)


class ItemResult(Frozen):
    """The result of an item: one line of the results file. Where several lines have one id, the last one counts.

    `item` is the item's `digest`. `structured` is the answer as JSON, where the item asked for a schema. Times are
    seconds since 1970.
    """

    version: int = RESULT_VERSION
    id: str
    item: str
    status: ItemStatus
    answer: str = ""
    structured: Any = None
    error: str | None = None
    model: str = ""
    calls: tuple[ItemCall, ...] = ()
    usage: ItemUsage = ItemUsage()
    started_at: float = 0.0
    finished_at: float = 0.0
    tries: int = 1  # answers that were asked for: 2 where the first one didn't fit its schema
    source: str = ""

    @classmethod
    def cancelled(cls, item: WorkItem) -> ItemResult:
        now = time.time()
        return cls(
            id=item.id, item=item.digest, status="cancelled", source=item.source, started_at=now, finished_at=now
        )

    @classmethod
    def interrupted(cls, item: WorkItem) -> ItemResult:
        return cls(id=item.id, item=item.digest, status="interrupted", error=CUT_SHORT, source=item.source)

    @property
    def ok(self) -> bool:
        return self.status == "completed"

    @property
    def seconds(self) -> float:
        return max(self.finished_at - self.started_at, 0.0)

    def differences(self, other: ItemResult) -> Iterator[str]:
        if self.item != other.item:
            yield "the item is another: its prompt, model or tools changed"
        if self.status != other.status:
            yield f"status: {self.status} → {other.status}"
        yield from text_difference("error", self.error or "", other.error or "")
        yield from text_difference("answer", self.answer, other.answer)
        yield from text_difference("structured", as_json(self.structured), as_json(other.structured))
        yield from call_differences(*([one.compared for one in calls] for calls in (self.calls, other.calls)))


class ItemStarted(Frozen):
    """An item began to run."""

    type: Literal["item.started"] = "item.started"
    item: str
    model: str = ""
    at: float = 0.0


class ItemCallChanged(Frozen):
    """A call of a running item came to another state. `read_only` is what its server says of the tool."""

    type: Literal["item.call"] = "item.call"
    item: str
    call_id: str
    label: str  # SERVER.TOOL, or the name that the model used
    state: CallState
    outcome: Outcome | None = None
    read_only: bool = False
    at: float = 0.0


class ItemTurnEvent(Frozen):
    """An event of the turn of an item that is watched: `event` is one of `domain.events`, as JSON."""

    type: Literal["item.event"] = "item.event"
    item: str
    event: dict[str, Any]


class EngineNotice(Frozen):
    """Something the user should know of the engine: a worker that was lost, an endpoint that is slowed down."""

    type: Literal["engine.notice"] = "engine.notice"
    text: str


BatchEvent = ItemStarted | ItemCallChanged | ItemTurnEvent | EngineNotice
BATCH_EVENT: TypeAdapter[BatchEvent] = TypeAdapter(
    Annotated[BatchEvent, Field(discriminator="type")], config=ConfigDict(defer_build=True)
)


class Lane(Frozen):
    """A call of a running item."""

    label: str
    state: CallState
    outcome: Outcome | None = None


class RunningItem(Frozen):
    """An item that runs, with the calls of its turn in their order."""

    id: str
    model: str = ""
    started_at: float
    lanes: tuple[Lane, ...] = ()


class Cause(Frozen):
    """A reason why items failed, in the words of the first of them, which is `example`."""

    status: ItemStatus
    words: str
    count: int
    example: str


class Bar(Frozen):
    """Items that took up to so many seconds, and longer than the bar before."""

    up_to: float
    count: int


class Slow(Frozen):
    """An item of those that took longest."""

    id: str
    seconds: float


class BatchSnapshot(Frozen):
    """A batch as it is now: what `fanout batch status --json` prints. Times are seconds since 1970."""

    version: int = 1
    name: str = ""
    results: str = ""  # the path of the results file
    pid: int = 0
    state: RunState = "starting"
    ending: str = ""  # why it stopped before its last item, if it did
    total: int = 0  # items, those of earlier runs too
    earlier: int = 0  # whose results were there before
    counts: dict[ItemStatus, int] = Field(default_factory=dict)  # of this run
    running: tuple[RunningItem, ...] = ()
    usage: ItemUsage = ItemUsage()
    calls: int = 0
    failed_calls: int = 0
    started_at: float = 0.0
    at: float = 0.0
    rate: float | None = None  # items a second, lately
    seconds_left: float | None = None
    paused: float = 0.0  # seconds for which every endpoint holds its requests back, as it was asked to
    histogram: tuple[Bar, ...] = ()
    slowest: tuple[Slow, ...] = ()
    causes: tuple[Cause, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def ended(self) -> int:
        return sum(self.counts.values())

    @property
    def failed(self) -> int:
        return self.ended - self.counts.get("completed", 0)

    @property
    def left(self) -> int:
        return max(self.total - self.earlier - self.ended - len(self.running), 0)

    def summary(self) -> Iterator[str]:
        counts = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in self.counts.items())
        before = f" ({self.earlier} from before)" if self.earlier else ""
        yield f"{self.ended + self.earlier} of {plural(self.total, 'item')} done{before}: {counts or 'none ran'}."
        if self.ending:
            yield f"Stopped: {self.ending}."
        if self.ended:
            took = duration(max(self.at - self.started_at, 0.0))
            rate = f", {self.rate:.1f} items a second" if self.rate else ""
            yield f"It took {took}{rate}; {plural(self.calls, 'call')}, {self.failed_calls} of them without success."
        if self.usage.input_tokens or self.usage.output_tokens:
            priced = f", {money(self.usage.cost)}" if self.usage.cost is not None else ", price not known"
            yield f"Tokens: {self.usage.input_tokens:,} in, {self.usage.output_tokens:,} out{priced}."
        if self.histogram:
            yield "Durations:"
            most = max(bar.count for bar in self.histogram)
            for bar in self.histogram:
                drawn = "█" * max(round(bar.count / most * _BAR), 1 if bar.count else 0)
                yield f"  up to {duration(bar.up_to):>8} {bar.count:>7} {drawn}"
        if self.slowest:
            yield (
                "Slowest: " + ", ".join(f"{one_line(one.id, 40)} {duration(one.seconds)}" for one in self.slowest) + "."
            )
        if self.causes:
            yield "Failures:"
            for cause in self.causes[:_CAUSES_TOLD]:
                status = cause.status.replace("_", " ")
                yield f"  {cause.count:>5} {status}: {cause.words} (as {one_line(cause.example, 40)})"
            if (more := len(self.causes) - _CAUSES_TOLD) > 0:
                yield f"  and {more} other causes"
        yield from (f"Note: {one_line(text, 200)}" for text in self.notices)

    @property
    def line(self) -> str:
        parts = [f"{self.ended + self.earlier}/{self.total} done"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.running:
            parts.append(f"{len(self.running)} running")
        if self.rate:
            parts.append(f"{self.rate:.1f}/s" if self.rate >= 0.1 else f"{self.rate * 60:.1f}/min")
        if self.paused >= 1:
            parts.append(f"asked to wait {duration(self.paused)}")
        if self.seconds_left is not None:
            parts.append(f"{duration(self.seconds_left)} left")
        if self.usage.input_tokens or self.usage.output_tokens:
            parts.append(f"{tokens(self.usage.input_tokens + self.usage.output_tokens)} tokens")
        if self.usage.cost is not None:
            parts.append(money(self.usage.cost))
        if self.state == "stopping":
            parts.append("stopping")
        return " · ".join(parts)


@dataclass(slots=True)
class _Running:
    model: str
    started_at: float
    lanes: dict[str, Lane] = field(default_factory=dict[str, Lane])


class BatchProgress:
    """The progress of a batch, folded from its events and results.

    It keeps no results: its size is that of what runs, and a number an item. `total` counts all items, `earlier` those
    whose results were there before.
    """

    def __init__(self, total: int, earlier: int = 0) -> None:
        self.total = total
        self.earlier = earlier
        self.state: RunState = "starting"
        self.ending = ""
        self.usage = ItemUsage()
        self.calls = self.failed_calls = 0
        self.counts: Counter[ItemStatus] = Counter()
        self._started_at = 0.0
        self._running: dict[str, _Running] = {}
        self._ends: deque[float] = deque()
        self._durations = array("f")
        self._slowest: list[tuple[float, str]] = []
        self._causes: dict[str, Cause] = {}
        self._notices: deque[str] = deque(maxlen=_NOTICES)

    def begin(self, now: float) -> None:
        self.state, self._started_at = "running", now

    def apply(self, event: BatchEvent) -> None:
        match event:
            case ItemStarted():
                self._running.setdefault(event.item, _Running(event.model, event.at))
            case ItemCallChanged():
                if (running := self._running.get(event.item)) is not None:
                    running.lanes[event.call_id] = Lane(label=event.label, state=event.state, outcome=event.outcome)
            case EngineNotice():
                self._notices.append(event.text)
            case ItemTurnEvent():
                pass
            case _:
                assert_never(event)

    def finished(self, result: ItemResult) -> None:
        self._running.pop(result.id, None)
        self.counts[result.status] += 1
        spent, one = self.usage, result.usage
        self.usage = ItemUsage(
            input_tokens=spent.input_tokens + one.input_tokens,
            output_tokens=spent.output_tokens + one.output_tokens,
            cached_tokens=spent.cached_tokens + one.cached_tokens,
            cost=spent.cost if one.cost is None else (spent.cost or 0.0) + one.cost,
        )
        self.calls += len(result.calls)
        self.failed_calls += sum(call.outcome is not Outcome.SUCCEEDED for call in result.calls)
        self._durations.append(result.seconds)
        self._ends.append(result.finished_at)
        (heapq.heappushpop if len(self._slowest) >= _SLOWEST else heapq.heappush)(
            self._slowest, (result.seconds, result.id)
        )
        if not result.ok:
            words = one_line(result.error or result.status, 200)
            key = f"{result.status} {_CHANGING.sub('…', words)[:120]}"
            if key not in self._causes and len(self._causes) >= _CAUSES:
                key, words = f"{result.status} ", "other causes"
            known = self._causes.get(key) or Cause(status=result.status, words=words, count=0, example=result.id)
            self._causes[key] = known.model_copy(update={"count": known.count + 1})

    def forget(self, item_id: str) -> None:
        """Drop an item whose result doesn't count: it will run again another time."""
        self._running.pop(item_id, None)

    def notice(self, text: str) -> None:
        self._notices.append(text)

    def snapshot(self, now: float, *, name: str = "", results: str = "", pid: int = 0) -> BatchSnapshot:
        while self._ends and self._ends[0] < now - _RATE_OVER:
            self._ends.popleft()
        passed = min(now - self._started_at, _RATE_OVER)
        rate = len(self._ends) / passed if self._ends and passed > 0 else None
        todo = self.total - self.earlier - sum(self.counts.values())
        return BatchSnapshot(
            name=name,
            results=results,
            pid=pid,
            state=self.state,
            ending=self.ending,
            total=self.total,
            earlier=self.earlier,
            counts=dict(self.counts),
            running=tuple(
                RunningItem(id=name, model=one.model, started_at=one.started_at, lanes=tuple(one.lanes.values()))
                for name, one in self._running.items()
            ),
            usage=self.usage,
            calls=self.calls,
            failed_calls=self.failed_calls,
            started_at=self._started_at,
            at=now,
            rate=rate,
            seconds_left=todo / rate if rate and self.state == "running" else None,
            slowest=tuple(Slow(id=name, seconds=took) for took, name in sorted(self._slowest, reverse=True)),
            causes=tuple(sorted(self._causes.values(), key=lambda cause: -cause.count)),
            notices=tuple(self._notices),
        )

    def ended(self, now: float, *, name: str = "", results: str = "") -> BatchSnapshot:
        """Return the last snapshot, with the histogram, which looks at every item."""
        passed = now - self._started_at
        rate = len(self._durations) / passed if self._durations and passed > 0 else None
        update = {"histogram": histogram(self._durations), "rate": rate}
        return self.snapshot(now, name=name, results=results).model_copy(update=update)


def histogram(seconds: Sequence[float]) -> tuple[Bar, ...]:
    """Durations in bars that are each 1, 2 or 5 times a power of ten longer than the last, at most `_BARS`."""
    if not seconds:
        return ()
    edges, edge, step = list[float](), 0.001, 0
    while edge < max(seconds):
        edges.append(edge)
        step += 1
        edge = (1, 2, 5)[step % 3] * 10 ** (step // 3) / 1000
    edges = [*edges, edge][-_BARS:]
    counts = Counter(next(place for place, edge in enumerate(edges) if one <= edge) for one in seconds)
    first = min(counts)
    return tuple(Bar(up_to=edges[place], count=counts[place]) for place in range(first, len(edges)))


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < 10:
        return f"{seconds:.2g} s" if seconds < 1 else f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def money(cost: float | None) -> str:
    """Dollars with as many digits as tell anything; "" where no price is known."""
    if cost is None:
        return ""
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}"

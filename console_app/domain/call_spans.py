"""From calls to stretches of time: when the arguments of each came, when it waited for you, was queued, and ran.

Pure: it reads the transcript and the time, so the screen, the exports and the tests all see the same figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from console_app.domain.call_times import covered, elapsed, runs
from console_app.domain.tools import CallState
from console_app.domain.transcript_parts import CallView, StepView, TurnView

Phase = Literal["arguments", "queue", "wait", "run"]
PHASES: tuple[Phase, ...] = ("arguments", "queue", "wait", "run")  # as they follow each other
WORDS: dict[Phase, str] = {
    "arguments": "arguments arrive",
    "queue": "queued",
    "wait": "needs you",
    "run": "runs",
}


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a call's time, in seconds since the epoch. `superseded`: a run that was run again."""

    phase: Phase
    begin: float
    end: float
    superseded: bool = False

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Figures:
    """Sums over calls, in seconds. `wall` is from the first start to the last end of each answer, added up, and
    `summed` how long they ran; what only waited for a person is in neither. `waited` is how long a person was waited
    for: once, however many calls did."""

    calls: int
    wall: float
    summed: float
    waited: float
    queued: float

    @property
    def saved(self) -> float:
        """How much longer the same runs would have taken one after the other."""
        return max(self.summed - self.wall, 0.0)


def spans_of(call: CallView, now: float) -> list[Span]:
    """The spans of a call up to `now`, in time order; without those of no length, but with its runs."""
    end = now if call.finished_at is None else call.finished_at
    ready = call.ready_at if call.ready_at is not None else call.started_at if call.started_at is not None else end
    spans = [Span("arguments", call.announced_at, ready)]
    at, first = ready, True
    for attempt in call.superseded:
        if attempt.started_at is not None:
            stop = attempt.finished_at if attempt.finished_at is not None else attempt.started_at
            spans += _before(call, at, attempt.started_at, queue=first)
            spans.append(Span("run", attempt.started_at, max(stop, attempt.started_at), superseded=True))
            at, first = max(stop, attempt.started_at), False
    # Between two runs a call is over, not queued: only what asked you again is drawn there.
    spans += _before(call, at, end if call.started_at is None else call.started_at, queue=first)
    if call.started_at is not None:
        spans.append(Span("run", call.started_at, max(end, call.started_at)))
        spans += _before(call, call.started_at, end, queue=False)  # its server asked you while it ran
    return [span for span in spans if span.phase == "run" or span.end > span.begin]


def _before(call: CallView, begin: float, end: float, *, queue: bool) -> Iterator[Span]:
    """What went on in a stretch beside a run: waiting for you, and the rest in the queue."""
    at = begin
    for since, until in call.waits:
        start, stop = max(since, at), min(end if until is None else until, end)
        if stop <= start:
            continue
        if queue:
            yield Span("queue", at, start)
        yield Span("wait", start, stop)
        at = stop
    if queue:
        yield Span("queue", at, end)


def steps_with_calls(turn: TurnView) -> list[StepView]:
    """The answers of a turn that called something."""
    return [step for step in turn.steps if step.batch.calls]


def figures(turn: TurnView, now: float) -> Figures:
    """The sums of a turn."""
    parts = [step_figures(step.batch.calls, now) for step in steps_with_calls(turn)]
    return Figures(
        sum(part.calls for part in parts),
        sum(part.wall for part in parts),
        sum(part.summed for part in parts),
        sum(part.waited for part in parts),
        sum(part.queued for part in parts),
    )


def step_figures(calls: Sequence[CallView], now: float) -> Figures:
    """The sums of the calls of one answer."""
    spans = [span for call in calls for span in spans_of(call, now)]
    ran = [stretch for call in calls for stretch in runs(call, now)]
    summed = sum(end - begin for begin, end in ran)
    waited = covered((span.begin, span.end) for span in spans if span.phase == "wait")
    queued = sum(span.seconds for span in spans if span.phase == "queue")
    return Figures(len(calls), elapsed(calls, now), summed, waited, queued)


def reach(turn: TurnView, now: float) -> tuple[float, float]:
    """When the chart of a turn begins and ends: from the first call that was announced to the last that ended."""
    calls = [call for step in turn.steps for call in step.batch.calls]
    begin = min((call.announced_at for call in calls), default=turn.started_at)
    ends = [now if call.finished_at is None else call.finished_at for call in calls]
    return begin, max(*ends, begin + 0.001) if ends else begin + 1.0


def is_live(turn: TurnView) -> bool:
    """Whether the chart of a turn still moves."""
    return turn.outcome is None or any(
        call.state is not CallState.FINISHED for step in turn.steps for call in step.batch.calls
    )

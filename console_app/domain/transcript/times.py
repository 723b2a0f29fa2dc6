"""The time of calls: when arguments came, when each waited for you, was queued, and ran. Times are seconds since the
epoch; a stretch that still goes on ends at `now`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from console_app.domain.transcript.views import CallView, TurnView
from console_app.records import astuple, dataclass

Stretch = tuple[float, float]


def runs(call: CallView, now: float) -> Iterator[Stretch]:
    if call.started_at is None:
        return
    at, end = call.started_at, _end(call, now)
    for since, until in call.waits:
        stop = end if until is None else until
        if stop > at and since < end:
            yield at, max(since, at)
            at = stop
    yield at, max(end, at)


def joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    found: list[Stretch] = []
    for begin, end in sorted(stretches):
        if end <= begin:
            continue
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def covered(stretches: Iterable[Stretch]) -> float:
    return sum(end - begin for begin, end in joined(stretches))


def only_waiting(calls: Sequence[CallView], now: float) -> list[Stretch]:
    waits = joined(stretch for call in calls for stretch in _stood_still(call, now))
    if not waits:
        return []
    found: list[Stretch] = []
    ran = joined(stretch for call in calls for stretch in runs(call, now))
    place = 0
    for begin, end in waits:
        while place < len(ran) and ran[place][1] <= begin:
            place += 1
        at = begin
        for since, until in ran[place:]:
            if since >= end:
                break
            found.append((at, max(since, at)))
            at = until
        found.append((at, end))
    return [(begin, end) for begin, end in found if end > begin]


def _stood_still(call: CallView, now: float) -> Iterator[Stretch]:
    end = _end(call, now)
    for since, until in call.waits:
        yield since, min(now if until is None else until, end)
    again = [*(run.started_at for run in call.superseded[1:]), call.started_at]
    for run, started_at in zip(call.superseded, again, strict=False):
        if run.finished_at is not None:
            yield run.finished_at, end if started_at is None else started_at


def elapsed(calls: Sequence[CallView], now: float) -> float:
    """Return the time from the first start to the last end, without what only waited for a person."""
    first, last = math.inf, -math.inf
    for call in calls:  # each frame, and of thousands of calls
        if call.waits or call.superseded:
            return _elapsed_beside_waits(calls, now)
        if (begun := call.started_at) is not None:
            end = now if call.finished_at is None else call.finished_at
            first = begun if begun < first else first
            last = end if end > last else last
    return max(last - first, 0.0)


def _elapsed_beside_waits(calls: Sequence[CallView], now: float) -> float:
    ran = [stretch for call in calls for stretch in runs(call, now)]
    if not ran:
        return 0.0
    first, last = min(begin for begin, _ in ran), max(end for _, end in ran)
    waited = ((max(begin, first), min(end, last)) for begin, end in only_waiting(calls, now))
    return last - first - sum(max(end - begin, 0.0) for begin, end in waited)


def _end(call: CallView, now: float) -> float:
    return now if call.finished_at is None else call.finished_at


Phase = Literal["arguments", "queue", "wait", "run"]
PHASES: Mapping[Phase, str] = {  # as they follow each other, in the words of the states
    "arguments": "preparing",
    "queue": "queued",
    "wait": "needs you",
    "run": "running",
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
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Figures:
    """Sums over calls, in seconds: `wall` from each answer's first start to its last end, `summed` of all runs, both
    without waiting for a person. `waited` counts once, however many calls did."""

    calls: int
    wall: float
    summed: float
    waited: float
    queued: float

    @property
    def saved(self) -> float:
        return max(self.summed - self.wall, 0.0)


def spans_of(call: CallView, now: float) -> list[Span]:
    end = _end(call, now)
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


def figures(turn: TurnView, now: float) -> Figures:
    parts = [step_figures(step.batch.calls, now) for step in turn.steps_with_calls]
    return Figures(*(sum(one) for one in zip((0,) * 5, *map(astuple, parts), strict=True)))


def step_figures(calls: Sequence[CallView], now: float) -> Figures:
    """The sums of the calls of one answer."""
    summed = queued = 0.0
    waits: list[Stretch] = []
    first, last, beside = math.inf, -math.inf, False
    for call in calls:  # each frame, and of thousands of calls
        begun, ready, end = call.started_at, call.ready_at, now if call.finished_at is None else call.finished_at
        if call.waits or call.superseded:
            beside = True
            summed += sum(end - begin for begin, end in runs(call, now))
            spans = spans_of(call, now)
            waits += [(span.begin, span.end) for span in spans if span.phase == "wait"]
            queued += sum(span.seconds for span in spans if span.phase == "queue")
            continue
        if begun is not None:
            summed += end - begun if end > begun else 0.0
            first = begun if begun < first else first
            last = end if end > last else last
            end = begun
        queued += end - ready if ready is not None and end > ready else 0.0
    wall = _elapsed_beside_waits(calls, now) if beside else max(last - first, 0.0)
    return Figures(len(calls), wall, summed, covered(waits), queued)

"""When calls ran, and when nothing went on but waiting for a person: what lanes, savings and the timeline are made of.

Times are `at` of events, seconds since the epoch; a stretch that still goes on ends at `now`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from console_app.domain.transcript_parts import CallView

Stretch = tuple[float, float]


def runs(call: CallView, now: float) -> Iterator[Stretch]:
    """When a call ran, without the time in which it waited for a person: nothing is saved by waiting."""
    if call.started_at is None:
        return
    at, end = call.started_at, now if call.finished_at is None else call.finished_at
    for since, until in call.waits:
        stop = end if until is None else until
        if stop > at and since < end:
            yield at, max(since, at)
            at = stop
    yield at, max(end, at)


def joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    """The same time as stretches that don't touch, in order; those of no length are none."""
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
    """The time in which at least one of them goes on."""
    return sum(end - begin for begin, end in joined(stretches))


def only_waiting(calls: Sequence[CallView], now: float) -> list[Stretch]:
    """When a call waited for a person and none ran, as stretches that don't touch, in order."""
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
    """When a call waited for a person: for what it asked, and, once over, for being run again."""
    end = now if call.finished_at is None else call.finished_at
    for since, until in call.waits:
        yield since, min(now if until is None else until, end)
    again = [*(run.started_at for run in call.superseded[1:]), call.started_at]
    for run, started_at in zip(call.superseded, again, strict=False):
        if run.finished_at is not None:
            yield run.finished_at, end if started_at is None else started_at


def elapsed(calls: Sequence[CallView], now: float) -> float:
    """From the first start to the last end, without what only waited for a person."""
    ran = [stretch for call in calls for stretch in runs(call, now)]
    if not ran:
        return 0.0
    first, last = min(begin for begin, _ in ran), max(end for _, end in ran)
    waited = ((max(begin, first), min(end, last)) for begin, end in only_waiting(calls, now))
    return last - first - sum(max(end - begin, 0.0) for begin, end in waited)


@dataclass(frozen=True, slots=True)
class OwnTime:
    """The time of a batch from `begin` to `end` without `left_out`, in which only a person was waited for."""

    begin: float
    end: float
    left_out: tuple[Stretch, ...] = ()

    @property
    def seconds(self) -> float:
        """How long it is; never nothing."""
        return max(self._own(self.end), 0.001)

    def share(self, at: float) -> float:
        """Where a moment lies, from 0 to 1."""
        return min(max(self._own(at) / self.seconds, 0.0), 1.0)

    def _own(self, at: float) -> float:
        """Seconds from the begin to a moment that count."""
        place = bisect_right(self.left_out, (at, float("inf")))
        return at - self.begin - sum(min(end, at) - begin for begin, end in self.left_out[:place])

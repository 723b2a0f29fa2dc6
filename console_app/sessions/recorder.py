"""Stored before shown: reads a turn's events in slices, stores each, and only then hands it on. Where only text
streams, a slice comes no more often than the screen is painted, so a token costs a part of a transaction. Deltas are
joined to drafts; of progress, log lines and output a few a second are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from itertools import chain
from typing import Protocol

from console_app.domain import chunks as ch
from console_app.domain import events as ev
from console_app.domain import ports, safe_text
from console_app.sessions import tables

STORED_TOGETHER = 256  # events of one transaction at most
MOST_OUTPUT = 4096  # characters of each piece of output that is stored
SAMPLES = 10  # progress, log lines and output of a call that are stored in a second
PAUSE = 0.02  # seconds between two transactions of nothing but text and progress; a frame takes more than twice that
Drafted = (
    ev.TextDelta | ev.ReasoningDelta | ev.ThoughtDelta | ev.TextRevised | ev.CallArguments
)  # what is kept until the message it adds up to is stored


class EventSource(Protocol):
    """An activity that gives its events in slices (engine.Turn)."""

    async def next_slice(self, limit: int, pause: float = 0.0) -> Sequence[ev.Event]:
        """Return all events that are there, at least one and at most `limit`; empty at the end. Text and progress may
        gather for `pause` seconds before, and all else is given at once."""
        ...


class Recorder:
    """Stores events in `store` (None: not saved) before it gives them."""

    def __init__(self, store: ports.SessionStore | None) -> None:
        self._store = store

    async def one(self, event: ev.Event) -> None:
        if self._store is not None:
            await self._store.append(to_store([event]))

    async def slices(self, source: EventSource) -> AsyncIterator[Sequence[ev.Event]]:
        if self._store is None:
            while events := await source.next_slice(ch.SLICE):
                yield events
            return
        sampling, pause = StoredSamples(), 0.0
        while events := await source.next_slice(STORED_TOGETHER, pause):
            if stored := to_store(events, sampling):
                await self._store.append(stored)
            for at in range(0, len(events), ch.SLICE):
                yield events[at : at + ch.SLICE]
            pause = PAUSE * (len(events) < STORED_TOGETHER and all(event.shown_only for event in events))


class StoredSamples:
    """Chooses news of calls to store: `SAMPLES` of each at once, and as many a second after. Other output goes with the
    next, as far as `MOST_OUTPUT` has room."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}  # by call: how many may be stored now, and when that was so
        self._output: dict[str, ev.CallOutput] = {}  # by call: the newest that is not stored yet

    def of(self, event: ev.Event) -> Sequence[ev.Event]:
        if isinstance(event, ev.CallFinished | ev.CallRestarted) and event.call_id in self._output:
            return self._output.pop(event.call_id), event
        if not isinstance(event, tables.Sampled):
            return (event,)
        if isinstance(event, ev.CallOutput):
            event = _joined(self._output.pop(event.call_id, None), event)
        left, at = self._left.get(event.call_id, (SAMPLES, event.at))
        left = min(left + (event.at - at) * SAMPLES, SAMPLES)
        self._left[event.call_id] = (left - 1 if left >= 1 else left), event.at
        if left >= 1:
            return (event,)
        if isinstance(event, ev.CallOutput):
            self._output[event.call_id] = event
        return ()


def _joined(before: ev.CallOutput | None, event: ev.CallOutput) -> ev.CallOutput:
    if before is None or before.offset + safe_text.size_of(before.text) != event.offset:
        return event
    whole = before.text + event.text
    text = whole[-MOST_OUTPUT:]
    cut = safe_text.size_of(whole[: len(whole) - len(text)])
    stream = before.stream if before.stream == event.stream else "text"
    dropped = before.dropped + cut
    return event.model_copy(update={"text": text, "stream": stream, "offset": before.offset + cut, "dropped": dropped})


def to_store(events: Sequence[ev.Event], sampling: StoredSamples | None = None) -> list[ev.Event]:
    """Return what of a slice is stored: deltas joined to drafts, news as `sampling` says, all others."""
    sampling = sampling or StoredSamples()
    stored: list[ev.Event] = []
    pieces: list[str] = []  # of the draft that is last in `stored`

    def join() -> None:
        if len(pieces) > 1:
            draft = stored[-1]
            field = "delta" if isinstance(draft, ev.CallArguments) else "text"
            stored[-1] = draft.model_copy(update={field: "".join(pieces)})
        pieces.clear()

    for event in chain.from_iterable(map(sampling.of, events)):
        if not (pieces and isinstance(event, Drafted) and _continues(stored[-1], event)):
            join()
            stored.append(event)
        if isinstance(event, Drafted):
            pieces.append(event.delta if isinstance(event, ev.CallArguments) else event.text)
    join()
    return stored


def _continues(last: ev.Event, event: ev.Event) -> bool:
    if last.agent != event.agent:
        return False
    match last, event:
        case (ev.TextDelta(), ev.TextDelta()) | (ev.ReasoningDelta(), ev.ReasoningDelta()):
            return True
        case (ev.ThoughtDelta(), ev.ThoughtDelta()):
            return last.label == event.label
        case (ev.CallArguments(), ev.CallArguments()):
            return last.call_id == event.call_id
        case _:
            return False

"""Stored before shown: reads a turn's events in slices, stores each slice, and only then hands it on.

A slice is what has arrived when the reader comes round, and where only text streams it comes round no more often than
the screen is painted: so a token costs a part of a transaction and not one of its own. Deltas that follow each other
are kept as one draft; of progress and log lines each call has a few a second kept, for replay.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from console_app.domain import chunks as ch
from console_app.domain import events as ev
from console_app.domain import ports
from console_app.sessions import tables

STORED_TOGETHER = 256  # events of one transaction at most
SAMPLES = 10  # progress and log lines of a call that are stored in a second
PAUSE = 0.02  # seconds between two transactions of nothing but text and progress; a frame takes more than twice that
Drafted = (
    ev.TextDelta | ev.ReasoningDelta | ev.ThoughtDelta | ev.TextRevised | ev.CallArguments
)  # what is kept until the message it adds up to is stored


class EventSource(Protocol):
    """An activity that gives its events in slices (engine.Turn)."""

    async def next_slice(self, limit: int) -> Sequence[ev.Event]:
        """Return all events that are there, at least one and at most `limit`; empty at the end."""
        ...


class Recorder:
    """Stores events in `store`, None for a session that is not saved, before it gives them."""

    def __init__(self, store: ports.SessionStore | None) -> None:
        self._store = store

    async def one(self, event: ev.Event) -> None:
        """Store an event that belongs to nothing that goes on."""
        if self._store is not None:
            await self._store.append(to_store([event]))

    async def slices(self, source: EventSource) -> AsyncIterator[Sequence[ev.Event]]:
        """Yield the events of `source` in slices, each stored before it is given."""
        if self._store is None:
            while events := await source.next_slice(ch.SLICE):
                yield events
            return
        sampling = StoredSamples()
        while events := await source.next_slice(STORED_TOGETHER):
            if stored := to_store(events, sampling):
                await self._store.append(stored)
            for at in range(0, len(events), ch.SLICE):
                yield events[at : at + ch.SLICE]
            if len(events) < STORED_TOGETHER and all(event.shown_only for event in events):
                await asyncio.sleep(PAUSE)


class StoredSamples:
    """Chooses the progress and log lines of a turn to store: `SAMPLES` of each call at once, and as many a second
    after."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}  # by call: how many may be stored now, and when that was so

    def keeps(self, event: tables.Sampled) -> bool:
        """Return whether this one is stored."""
        left, at = self._left.get(event.call_id, (SAMPLES, event.at))
        left = min(left + (event.at - at) * SAMPLES, SAMPLES)
        self._left[event.call_id] = (left - 1 if left >= 1 else left), event.at
        return left >= 1


def to_store(events: Sequence[ev.Event], sampling: StoredSamples | None = None) -> list[ev.Event]:
    """Return what of a slice is stored: deltas joined to drafts, progress and log lines as `sampling` says, all
    others."""
    sampling = sampling or StoredSamples()
    stored: list[ev.Event] = []
    pieces: list[str] = []  # of the draft that is last in `stored`

    def join() -> None:
        if len(pieces) > 1:
            draft = stored[-1]
            field = "delta" if isinstance(draft, ev.CallArguments) else "text"
            stored[-1] = draft.model_copy(update={field: "".join(pieces)})
        pieces.clear()

    for event in events:
        if isinstance(event, tables.Sampled) and not sampling.keeps(event):
            continue
        if not (pieces and isinstance(event, Drafted) and _continues(stored[-1], event)):
            join()
            stored.append(event)
        if isinstance(event, Drafted):
            pieces.append(event.delta if isinstance(event, ev.CallArguments) else event.text)
    join()
    return stored


def _continues(last: ev.Event, event: ev.Event) -> bool:
    """Return whether `event` is more of the same draft."""
    match last, event:
        case (ev.TextDelta(), ev.TextDelta()) | (ev.ReasoningDelta(), ev.ReasoningDelta()):
            return True
        case (ev.ThoughtDelta(), ev.ThoughtDelta()):
            return last.label == event.label
        case (ev.CallArguments(), ev.CallArguments()):
            return last.call_id == event.call_id
        case _:
            return False

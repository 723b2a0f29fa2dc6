"""The one queue between a turn and whoever shows it: ordered, never blocking the sender, closed by the turn's end.

Two things keep a slow reader from costing memory, and from hearing of an end long after it, without end: the answer is
read no further than `HIGH` events, or `MOST` characters of text or arguments, ahead of it (`room`), and beyond `FLOOD`
events of progress and log lines the newest of each call alone waits (`held_news`).
"""

from __future__ import annotations

import asyncio
from collections import deque

from console_app.domain import events as ev

HIGH = 512
MOST = 2**14
FLOOD = 4096


class Outbox:
    """A queue of events with one reader."""

    def __init__(self) -> None:
        self._events: deque[ev.Event] = deque()
        self._characters = 0  # of what is being written among them
        self._closed = False
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def put(self, event: ev.Event) -> None:
        """Adds an event; what comes after `close` is dropped."""
        if self._closed:
            return
        self._events.append(event)
        self._arrived.set()
        self._characters += _length(event)
        if self._is_full:
            self._room.clear()

    @property
    def _is_full(self) -> bool:
        return len(self._events) >= HIGH or self._characters >= MOST

    def _taken(self) -> ev.Event:
        event = self._events.popleft()
        self._characters -= _length(event)
        if not self._is_full:
            self._room.set()
        return event

    @property
    def closed(self) -> bool:
        """Whether nothing more is taken."""
        return self._closed

    def __len__(self) -> int:
        return len(self._events)

    @property
    def flooded(self) -> bool:
        """Whether the reader is so far behind that only what must be known should still be queued."""
        return len(self._events) >= FLOOD

    def close(self) -> None:
        """No more events: the reader gets what is queued, then None."""
        self._closed = True
        self._arrived.set()
        self._room.set()

    async def get(self) -> ev.Event | None:
        """The next event, or None at the end."""
        while not self._events:
            if self._closed:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        return self._taken()

    async def take(self, limit: int) -> list[ev.Event]:
        """The next event and what is queued behind it, at most `limit`; empty at the end."""
        first = await self.get()
        if first is None:
            return []
        return [first, *(self._taken() for _ in range(min(limit - 1, len(self._events))))]

    async def room(self) -> None:
        """Lets others run, and waits until the reader has caught up."""
        if self._room.is_set():
            await asyncio.sleep(0)
        else:
            await self._room.wait()


def _length(event: ev.Event) -> int:
    match event:
        case ev.TextDelta() | ev.ReasoningDelta() | ev.ThoughtDelta() | ev.TextRevised():
            return len(event.text)
        case ev.CallArguments():
            return len(event.delta)
        case _:
            return 0

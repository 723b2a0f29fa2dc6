"""Plays a stored session again with its real timing: each event when it came, at a speed you choose.

What the model streamed is stored as whole messages, so an answer appears at once, before the calls that it made; calls
start, wait and end as they did, and so does what they reported meanwhile (`recorder.SAMPLES` a second).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from console_app.domain import events as ev

LONGEST_PAUSE = 3.0  # seconds of the recording between two turns: what you thought about meanwhile is left out


class Replay:
    """The events of a session and a clock that tells the time of the recording while they play.

    A recording hands in a `clock` and a `sleep` that it drives, in seconds.
    """

    def __init__(
        self,
        events: Sequence[ev.Event],
        speed: float = 1.0,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._events = _with_texts(events)
        self._speed = speed
        self._at = events[0].at if events else 0.0
        self._clock = clock
        self._sleep = sleep
        self._since = clock()

    @property
    def session(self) -> ev.SessionStarted | None:
        """Return how the conversation began: its model, servers and tools then."""
        started = (one for one in self._events if isinstance(one, ev.SessionStarted) and not one.agent)
        return next(started, None)

    def now(self) -> float:
        """The time in the recording, seconds since the epoch."""
        return self._at + (self._clock() - self._since) * self._speed

    async def play(self) -> AsyncIterator[ev.Event]:
        """Yield each event in its time."""
        self._since = self._clock()
        ended = True
        before = self._at
        for event in self._events:
            if event.at < before:  # the clock was set back, or another console went on with the session
                self._at -= before - event.at
            before = event.at
            ahead = event.at - self.now()
            if ended and ahead > LONGEST_PAUSE:
                self._at += ahead - LONGEST_PAUSE
                ahead = LONGEST_PAUSE
            await self._sleep(max(ahead, 0.0) / self._speed)
            ended = isinstance(event, ev.TurnFinished | ev.SessionStarted) and not event.agent
            yield event


def _with_texts(events: Sequence[ev.Event]) -> Sequence[ev.Event]:
    """Put the text of each answer before its calls, where it stood: its message was stored behind them."""
    before: dict[int, ev.TextDelta] = {}  # by the place of the first call of an answer
    first: dict[str, int] = {}  # by agent: the place of the first call of its newest answer
    for at, event in enumerate(events):
        if isinstance(event, ev.CallAnnounced) and not event.parent:
            first.setdefault(event.agent, at)
        elif isinstance(event, ev.StepStarted | ev.TextDelta):
            first.pop(event.agent, None)
        elif isinstance(event, ev.MessageAdded) and event.role == "assistant":
            place = first.pop(event.agent, None)
            if place is not None and event.content and event.tool_calls and event.label is None:
                call = events[place]
                fields = {name: getattr(call, name) for name in ("session_id", "turn", "step", "seq", "at", "agent")}
                before[place] = ev.TextDelta(text=event.content, **fields)
    return [one for at, event in enumerate(events) for one in ([before[at]] if at in before else []) + [event]]

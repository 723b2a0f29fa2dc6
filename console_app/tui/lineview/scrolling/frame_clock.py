"""The one clock of the conversation's view: it runs while something changes or moves, and rests after each frame."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from textual.timer import Timer
from textual.widget import Widget

FRAME = 1 / 20  # seconds between frames while something changes
LIVE_EVERY = 2  # frames between two looks of what only spins or counts
CALM_EVERY = 20  # the same where nothing is to move: elapsed times go on, a second at a time
REST = 7  # the view rests so many times as long as a frame took: its paint, and what Textual makes of it


class FrameClock:
    """Paints one widget frame by frame. `start` is called once the widget is mounted."""

    def __init__(self, widget: Widget, paint: Callable[[bool], bool]) -> None:
        """`paint` is told whether to paint things that only move, and returns False when nothing moves."""
        self.running = False
        self.live_every = LIVE_EVERY
        self.gives_way: Callable[[], bool] = lambda: False  # whether a frame waits for something more urgent
        self._widget = widget
        self._paint = paint
        self._timer: Timer | None = None
        self._ticks = 0
        self._live_due = False
        self._resting_until = 0.0
        self._looked = asyncio.Event()

    def start(self) -> None:
        self._timer = self._widget.set_interval(FRAME, self._tick, pause=True)

    def stand_still(self) -> None:
        """No frame comes by itself any more: someone else, who drives time, paints each."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def wake(self) -> None:
        """Something may move from now on. Cheap."""
        if self._timer is None or self.running:
            return
        self.running = True
        self._timer.resume()
        self._widget.call_next(self._tick)

    async def until(self, painted: Callable[[], bool], most: float) -> None:
        """Returns behind the frame that painted the last of it, at once if none is to come, or after `most` seconds.
        Who changes something wakes it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(most):
                while self._timer is not None and not painted():
                    self._looked.clear()
                    await self._looked.wait()

    def took(self, seconds: float) -> None:
        """Add to the processor time that the newest frame took."""
        self._resting_until += seconds * (1 + REST)

    def _tick(self) -> None:
        now, begin = time.monotonic(), time.thread_time()
        if not self.running or self._timer is None:
            return
        self._ticks += 1
        self._live_due = self._live_due or self._ticks % self.live_every == 0
        if now < self._resting_until or self.gives_way():
            return
        live, self._live_due = self._live_due, False
        moves = self._paint(live)
        self._looked.set()
        if not moves:
            self.running = False
            self._timer.pause()
        self._resting_until = now
        self.took(time.thread_time() - begin)

"""Record a session: the console plays it without a terminal, in a time that passes only from one screen to the next.

So a recording does not depend on how fast this machine is, and a minute of it takes seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextvars import copy_context
from functools import partial

from console_app.console import Services, Timers, Timing
from console_app.domain import Event
from console_app.records import dataclass
from console_app.sessions import Replay
from console_app.tui import FanoutApp
from console_app.tui.lineview import ConversationView
from console_app.tui.recording.svg import Recording, Row, Screen, row_of
from console_app.tui.textual_internals import lines_of

SIZE = (100, 30)  # columns and rows
EVERY = 1 / 8  # seconds between two looks at the screen
BEFORE = 0.75  # seconds of the empty console
AFTER = 3.0  # seconds that the end is seen before it begins again
LONGEST = 180.0  # seconds that are recorded
_MESSAGES = 60  # rounds of the loop between two looks: a message goes through a dozen widgets
_STILL = 3  # looks that have to be alike


@dataclass(eq=False)
class Due:
    """Holds a function to call at a time, unless it is stopped."""

    at: float
    run: Callable[[], object]
    timers: Timers
    stopped: bool = False

    def stop(self) -> None:
        self.stopped = True


class SteppedTime(Timing):
    """Time that passes when it is told to. One sleeper at a time: the replay."""

    def __init__(self) -> None:
        self._now = 0.0
        self._due = 0.0
        self._wakes: asyncio.Event | None = None
        self.rests = asyncio.Event()  # nothing more happens at this time
        self.ended = False
        self._laters: list[Due] = []

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            return
        self._due, self._wakes = self._now + seconds, asyncio.Event()
        self.rests.set()
        await self._wakes.wait()

    def later(self, timers: Timers, seconds: float, run: Callable[[], object]) -> Due:
        due = Due(self._now + seconds, partial(copy_context().run, run), timers)
        self._laters.append(due)
        return due

    def end(self) -> None:
        self.ended = True
        self.rests.set()

    async def pass_by(self, seconds: float) -> None:
        """Let time pass, and run everything that falls due, in its order."""
        end = self._now + seconds
        await self.rests.wait()
        while not self.ended and self._wakes is not None and self._due <= end:
            self._now = self._due
            self.rests.clear()
            self._wakes.set()
            await self.rests.wait()
        self._now = end
        for due in [one for one in self._laters if one.at <= end]:
            self._laters.remove(due)
            if not due.stopped and due.timers.is_running:
                due.run()


class SteppedReplay(Replay):
    """A replay in stepped time, which says when it has ended."""

    def __init__(self, events: Sequence[Event], speed: float, time: SteppedTime) -> None:
        super().__init__(events, speed, clock=time.now, sleep=time.sleep)
        self._stepped = time

    async def play(self) -> AsyncIterator[Event]:
        try:
            await self._stepped.sleep(BEFORE)
            async for event in super().play():
                yield event
        finally:
            self._stepped.end()


async def record(
    events: Sequence[Event],
    services: Callable[[Replay, Timing], Services],
    *,
    size: tuple[int, int] | None = None,
    speed: float = 1.0,
) -> Recording:
    """Play `events` in a console on `services`; `size` is columns and rows. Raises what ends the console."""
    size = size or SIZE
    time = SteppedTime()
    app = FanoutApp(services(SteppedReplay(events, speed, time), time))
    screens: list[Screen] = []
    async with app.run_test(size=size):
        view = app.screen.query_one(ConversationView)
        view.frames.stand_still()
        while not time.ended and time.now() < LONGEST:
            await time.pass_by(EVERY)
            rows = await _settled(app, view)
            if not screens or rows != screens[-1].rows:
                screens.append(Screen(round(max(time.now() - EVERY, 0.0), 3), rows))
        cut = not time.ended
        app.exit()
    return Recording(*size, tuple(screens), round(time.now() + AFTER, 3), cut)


async def _settled(app: FanoutApp, view: ConversationView) -> tuple[Row, ...]:
    """Return the screen once all messages are through, and what they set going, however many rounds that takes."""
    rows, same = _rows(app), 0
    while same < _STILL:
        for _ in range(_MESSAGES):
            await asyncio.sleep(0)
        view.paint_frame()
        view.slices.finish_all()
        before, rows = rows, _rows(app)
        same = same + 1 if rows == before else 0
    return rows


def _rows(app: FanoutApp) -> tuple[Row, ...]:
    return tuple(row_of(line) for line in lines_of(app.screen))

"""Work that takes longer than a key may wait, done in slices of a few milliseconds while the widget goes on."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Protocol

from textual.widget import Widget

SLICE = 0.006  # seconds of work between two looks at what else there is to do
REST = 0.003  # seconds behind each, in which a key goes all its way
RESTS = 4  # such looks, at most, at whether it still does
log = logging.getLogger(__name__)


class Sliced(Protocol):
    """Something with work left."""

    @property
    def unfinished(self) -> bool: ...

    def lay_out(self) -> None: ...


class Slices:
    """Works slice by slice through what one widget has to do."""

    def __init__(self, widget: Widget, done: Callable[[Sliced], None]) -> None:
        """`done` is called behind each slice."""
        self._widget = widget
        self._done = done
        self._waiting: dict[Sliced, None] = {}
        self._running = False
        self.gives_way: Callable[[], bool] = lambda: False  # whether something is more urgent

    @property
    def unfinished(self) -> bool:
        return bool(self._waiting)

    def add(self, work: Sliced) -> None:
        self._waiting[work] = None
        if not self._running:
            self._running = True
            self._widget.run_worker(self._run, group="slices")

    async def finish(self, work: Sliced) -> None:
        while self._done_some(work, SLICE):
            await self._rest()

    async def make_way(self) -> None:
        """Leave the loop to what is more urgent, a few times: a key that is held down stops nothing."""
        for _ in range(RESTS):
            if not self.gives_way():
                return
            await asyncio.sleep(REST)

    async def _rest(self) -> None:
        await asyncio.sleep(REST)
        await self.make_way()

    def finish_all(self) -> None:
        """Finish everything at once, where no key is waited for."""
        for work in [*self._waiting]:
            self._done_some(work, float("inf"))

    async def _run(self) -> None:
        try:
            while self._waiting:
                self._done_some(next(iter(self._waiting)), SLICE)
                await self._rest()
        finally:
            self._running = False

    def _done_some(self, work: Sliced, seconds: float) -> bool:
        """Do some of the work, and tell whether some is left that can be done."""
        end = time.monotonic() + seconds
        try:
            while work.unfinished and time.monotonic() < end:
                work.lay_out()
            left = work.unfinished
        except Exception:
            log.exception("the console went on after an internal error: a part was not laid out")
            left = False
        if not left:
            self._waiting.pop(work, None)
        self._done(work)
        return left

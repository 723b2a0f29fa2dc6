"""Tells of a run while it goes on: a line a second for people, a file for other terminals, which may stop it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from console_app.batch.run import BatchRun
from console_app.batch.status_files import StatusFile
from console_app.domain.batch import BatchSnapshot
from console_app.domain.steady_time import steady_time

_TICK = 1.0  # seconds between two lines, and two looks of other terminals
_QUIET = 10  # of these, after which a line is repeated that says nothing new


class Telling:
    """Of one run. `snapshot`, `watch`, `stop_item` and `stop_all` are for a front end that shows it."""

    def __init__(self, run: BatchRun, status: StatusFile, results: str, paused: Callable[[], float]) -> None:
        """`paused` gives for how many seconds the endpoints hold everything back."""
        self.watch = run.watch
        self.stop_item = run.stop_item
        self._run = run
        self._status = status
        self._results = results
        self._paused = paused

    def snapshot(self) -> BatchSnapshot:
        """As it is now."""
        progress = self._run.progress
        now = progress.snapshot(steady_time(), name=self._status.name, results=self._results, pid=os.getpid())
        return now.model_copy(update={"paused": self._paused()})

    def stop_all(self) -> None:
        """Stops the run; what is running runs again another time."""
        self._run.stop("now", "stopped by hand")

    async def until_ended(self, tell: Callable[[str], None] | None) -> BatchSnapshot:
        """Runs it to its end, and returns the last that there is to say of it. None tells no lines."""
        running = asyncio.create_task(self._run.run(), name="batch")
        last, since = "", 0
        try:
            while not running.done():
                snapshot = self.snapshot()
                text, since = snapshot.line, since + 1
                if tell is not None and (text != last or since >= _QUIET):
                    tell(text)
                    last, since = text, 0
                await self._status.publish(snapshot)
                if await self._status.stop_asked():
                    self._run.stop("now", "asked to, from another terminal")
                await asyncio.wait((running,), timeout=_TICK)
            await running
        finally:
            running.cancel()
            ended = self._run.progress.ended(steady_time(), name=self._status.name, results=self._results)
            await self._status.publish(ended)
        return ended

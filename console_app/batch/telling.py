"""Tells of a run while it goes on: a line a second for people, a file for other terminals, which may stop it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from console_app.batch import summary
from console_app.batch.run import BatchRun
from console_app.batch.status_files import StatusFile
from console_app.domain.batch_progress import BatchSnapshot
from console_app.domain.steady_time import steady_time

_TICK = 1.0  # seconds between two lines, and two looks of other terminals
_QUIET = 10  # of these, after which a line is repeated that says nothing new


async def told(run: BatchRun, status: StatusFile, results: str, tell: Callable[[str], None]) -> BatchSnapshot:
    """Runs it to its end, and returns the last that there is to say of it."""
    running = asyncio.create_task(run.run(), name="batch")
    last, since = "", 0
    try:
        while not running.done():
            snapshot = run.progress.snapshot(steady_time(), name=status.name, results=results, pid=os.getpid())
            text, since = summary.line(snapshot), since + 1
            if text != last or since >= _QUIET:
                tell(text)
                last, since = text, 0
            await status.publish(snapshot)
            if await status.stop_asked():
                run.stop("now", "asked to, from another terminal")
            await asyncio.wait((running,), timeout=_TICK)
        await running
    finally:
        running.cancel()
        ended = run.progress.ended(steady_time(), name=status.name, results=results)
        await status.publish(ended)
    return ended

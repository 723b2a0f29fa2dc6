"""Ends of a run from outside, by a signal or a turn's time limit, and how long such an end may take.

The first signal asks the run to end, and a deadline ends the process if it can't.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import TypeVar

from console_app.domain.ending_signals import ending_signals

DEADLINE = 4.5  # seconds from the first signal to the end of the process, whatever hangs
LEAVING = 2.0  # seconds from the end of the work to that of the process, whatever thread still hangs
HURRIED = 1.5  # seconds that servers and threads get, all in all, once a limit or a signal has ended the work
T = TypeVar("T")


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    APPROVAL = 3  # one was needed, and nobody could give it
    TIME_LIMIT = 124
    INTERRUPTED = 130


class TimeToEnd:
    """Budgets all that a run waits for at its end. Without `begin` each may take its own time."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self._until = 0.0

    def begin(self, since: float | None = None) -> None:
        """Begin at `since` of `time.monotonic`, now if None: the work was ended from outside. Only the first counts."""
        if not self.begun.is_set():
            self._until = (time.monotonic() if since is None else since) + HURRIED
            self.begun.set()

    def left(self, most: float, least: float = 0.2) -> float:
        """Return the seconds that something may take which would otherwise get `most`."""
        return max(least, min(most, self._until - time.monotonic())) if self.begun.is_set() else most


class Interrupts:
    """A context in which `ending_signals` set `asked` and call `on_interrupt`, in place of killing the process.
    `to_end` begins once the work has ended for a signal or a time limit."""

    class Interrupted(Exception):
        """The user asked the program to end."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.to_end = TimeToEnd()
        self.on_interrupt: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._signals = ending_signals()

    def __enter__(self) -> Interrupts:
        for number in self._signals:
            self._loop.add_signal_handler(number, self._received)
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._signals:
            self._loop.remove_signal_handler(number)
            if self.asked.is_set():
                signal.signal(number, signal.SIG_IGN)  # the process is ending anyway, within the deadline

    async def race(self, work: Awaitable[T]) -> T:
        """Return the result of `work`, or raise Interrupted as soon as a signal comes; `work` is cancelled then."""
        task, asked = asyncio.ensure_future(work), asyncio.ensure_future(self.asked.wait())
        try:
            await asyncio.wait((task, asked), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise self.Interrupted
            return task.result()
        finally:
            task.cancel()
            asked.cancel()
            await asyncio.wait((task, asked), timeout=1)

    def leave(self, code: int) -> None:
        """End the process soon: all is written and closed."""
        self.end_within(code, self.to_end.left(LEAVING))

    @staticmethod
    def end_within(code: int, seconds: float = DEADLINE) -> None:
        """End the process at the latest then, past whatever thread Python would wait for."""
        timer = threading.Timer(seconds, os._exit, (code,))
        timer.daemon = True
        timer.start()

    def _received(self) -> None:
        if self.asked.is_set():
            return
        self.asked.set()
        # Whatever hangs from here on (a server, a reader of the pipe), the process ends in time.
        self.end_within(Exit.INTERRUPTED)
        if self.on_interrupt is not None:
            self.on_interrupt()
        else:
            self.to_end.begin()

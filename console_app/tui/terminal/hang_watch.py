"""Ends a program whose event loop hangs, when it is told to stop and doesn't hear it.

In the console's raw mode Ctrl+C and Ctrl+D are keys, which the loop reads: one that hangs could only be killed from
elsewhere. So the thread that reads the terminal counts them until the loop shows that it goes on.
"""

from __future__ import annotations

import logging
import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable

HANGS = 3.0  # seconds without a sign of the loop, from the second key on, after which the program is ended
# Ctrl+C and Ctrl+D, plain and as terminals with the kitty protocol send them.
_KEYS = (b"\x03", b"\x04", b"\x1b[99;5u", b"\x1b[100;5u")

log = logging.getLogger(__name__)


class HangWatch:
    """Looks at what is typed. `end` is called, from a thread, when two such keys weren't taken for `HANGS` seconds."""

    def __init__(self, loop: AbstractEventLoop, end: Callable[[], None]) -> None:
        self._loop = loop
        self._end = end
        self._untaken = 0
        self._timer: threading.Timer | None = None

    def typed(self, data: bytes) -> None:
        """Take more input from the thread that reads the terminal."""
        if not (keys := sum(data.count(key) for key in _KEYS)):
            return
        self._untaken += keys
        try:
            self._loop.call_soon_threadsafe(self._taken)
        except RuntimeError:
            return  # the loop is closed: the program is ending
        if self._untaken > 1 and self._timer is None:
            self._timer = threading.Timer(HANGS, self._look)
            self._timer.daemon = True
            self._timer.start()

    def _taken(self) -> None:
        self._untaken = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if self._untaken:
            log.error("the console hangs, and was ended from the keyboard")
            self._end()

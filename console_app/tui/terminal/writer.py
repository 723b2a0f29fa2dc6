"""Writes to the terminal from a thread of its own: one that is slow, stopped or gone never holds up the console.

Textual's own writer waits for the terminal once thirty writes are queued, and for ever when a write fails. Here the
queue grows up to a limit; beyond it frames are dropped, and the whole screen is painted again once there is room. What
can wait (`Behind`) is written when no frame does.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

FULL = 8_000_000  # bytes waiting before frames are dropped: minutes of frames, or one screen that is copied
SHORT = 64  # bytes of what is never dropped: the sequences that switch modes
PATIENCE = 2.0  # seconds that the end of the program waits for a terminal that doesn't read

log = logging.getLogger(__name__)


class Behind(Protocol):
    """Holds text to be written while nothing else waits, a piece at a time."""

    @property
    def pending(self) -> bool: ...

    def take(self) -> str: ...


class TerminalWriter:
    """An ordered queue of text for a descriptor. `recovered` and `lost` are called from the thread, once each time."""

    def __init__(
        self,
        descriptor: int,
        *,
        recovered: Callable[[], None],
        lost: Callable[[], None],
        behind: Behind | None = None,
    ) -> None:
        self._descriptor = descriptor
        self._recovered = recovered
        self._lost = lost
        self._behind = behind
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._dropped = False
        self._stopped = False
        self._gone = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="terminal-output", daemon=True)

    def start(self) -> None:
        """Begins to write."""
        self._thread.start()

    def write(self, text: str) -> None:
        """Queues `text`; returns at once. Characters that are no Unicode are replaced."""
        data = text.encode("utf-8", "replace")
        with self._changed:
            if self._gone or self._stopped:
                return
            if self._size + len(data) > FULL and len(data) > SHORT and self._waiting:
                self._dropped = True
                return
            self._waiting.append(data)
            self._size += len(data)
            self._changed.notify()

    @property
    def waiting(self) -> int:
        """Bytes that the terminal has not read."""
        return self._size

    def wake(self) -> None:
        """There is something behind the queue."""
        with self._changed:
            self._changed.notify()

    def stop(self) -> None:
        """Writes what is queued, waiting a little while for a terminal that reads slowly."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(PATIENCE)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._stopped or self._pending)
                if self._stopped and not self._waiting:
                    return
                data = b"".join(self._waiting)
                self._waiting.clear()
                size = len(data)
            if not data and self._behind is not None:
                data = self._behind.take().encode()
            try:
                _write_all(self._descriptor, data)
            except OSError as error:
                log.info("the terminal can't be written any more: %s", error)
                with self._changed:
                    self._gone = True
                    self._waiting.clear()
                self._lost()
                return
            with self._changed:
                self._size -= size
                again, self._dropped = self._dropped, False
            if again:
                self._recovered()

    @property
    def _pending(self) -> bool:
        return self._behind is not None and self._behind.pending


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view[:65_536]) :]

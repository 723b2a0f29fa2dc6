"""Writes standard output and error from a thread, so that a reader who stops reading can't stop the program.

A write to a full pipe blocks; on the event loop it would also block the running calls and the signal handlers. The
descriptors are written directly: a blocked writer then holds no lock that the interpreter needs to end.
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
import stat
import threading
from collections import deque

from console_app.config.secrets import Redactor
from console_app.domain import visible

STDOUT, STDERR = 1, 2
_FULL = 1_000_000  # bytes waiting before `drain` holds the producer back


class OutputStreams:
    """Holds two ordered streams. `lost` is set (on the event loop) when nobody reads standard output any more.
    `redactor` is applied to every error line and every report. The text of a conversation goes out as it was said."""

    def __init__(self, stdout: int = STDOUT, stderr: int = STDERR, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        self.lost = asyncio.Event()
        self.failure = ""  # why standard output can't be written, unless its reader just went away
        self._loop = asyncio.get_running_loop()
        self._stdout, self._stderr = stdout, stderr
        self.one_terminal = os.isatty(stdout) and os.isatty(stderr)  # where a line may come in the middle of another
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._size = 0
        self._hurried = False
        self._closed = False
        self._changed = threading.Condition()
        self._drained = asyncio.Event()
        self._broken: set[int] = set()
        # A pipe's writing end becomes "readable" when its reader goes away: known at once, not with the next write.
        self._watched = stat.S_ISFIFO(os.fstat(stdout).st_mode)
        if self._watched:
            self._loop.add_reader(stdout, self._reader_left)
        self._thread = threading.Thread(target=self._work, name="output", daemon=True)
        self._thread.start()

    def out(self, text: str) -> None:
        """Queue `text`, already safe, for standard output."""
        self._put(self._stdout, text)

    def error_line(self, text: str) -> None:
        """Queue one line for standard error; the foreign in it is made visible."""
        self._put(self._stderr, visible(self._redactor.clean(text)).rstrip("\n") + "\n")

    def report(self, line: str) -> None:
        """Queue a line about servers, settings or this machine, already safe, for standard output."""
        self.out(self._redactor.clean(line) + "\n")

    async def drain(self) -> None:
        """Wait while more than `_FULL` bytes are queued: a slow reader slows the turn and doesn't fill the memory."""
        while self._size > _FULL and not self.lost.is_set() and not self._hurried:
            self._drained.clear()
            await self._drained.wait()

    def hurry(self) -> None:
        """Wait no longer for a slow reader: the run is being interrupted."""
        self._hurried = True
        self._drained.set()

    async def finish(self) -> None:
        """Wait until everything is written, or can't be."""
        self._hurried = False
        while self._size and not self._hurried:  # what is for standard error too, where nobody reads the rest
            self._drained.clear()
            await self._drained.wait()

    def close(self) -> None:
        """Let the thread end once everything is written. Wait for nothing."""
        self._unwatch()
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _reader_left(self) -> None:
        self._unwatch()
        self.lost.set()
        self._drained.set()

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            self._loop.remove_reader(self._stdout)

    def _put(self, descriptor: int, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        with self._changed:
            self._waiting.append((descriptor, data))
            self._size += len(data)
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    if self._closed:
                        return
                    self._changed.wait()
                descriptor, data = self._waiting.popleft()
                while self._waiting and self._waiting[0][0] == descriptor and len(data) < _FULL:
                    data += self._waiting.popleft()[1]  # many small events become one write
            if descriptor not in self._broken:
                self._write(descriptor, data)
            with self._changed:
                self._size -= len(data)
            self._tell(self._drained)

    def _write(self, descriptor: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(descriptor, rest) :]
            except BlockingIOError:  # a terminal that another program set to non-blocking
                select.select([], [descriptor], [])
            except OSError as error:
                self._broken.add(descriptor)
                if descriptor == self._stdout:
                    if error.errno != errno.EPIPE:
                        self.failure = f"can't write to standard output: {error.strerror or error}"
                    self._tell(self.lost)
                return

    def _tell(self, event: asyncio.Event) -> None:
        try:
            self._loop.call_soon_threadsafe(event.set)
        except RuntimeError:
            pass  # the loop has ended: nobody waits any more

"""The consoles that run, one a page, each on a pseudo-terminal of its own: how many there may be, and which page shows
which.

A page that goes ends its console at once, or, where consoles are kept, after so many minutes without one. Until then a
page that knows its ID shows it again.

The terminal is what guards: the console draws through the same driver as everywhere, and nothing else is sent. The
console leads a session of its own, so that the system hangs it up when this process ends, however it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import pty
import secrets
import signal
import socket
import struct
import sys
import termios
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, cast

from console_app.config.machine import BrowserPage, child_programs

READ_BYTES: Final = 1 << 16
GRACE: Final = 4.0  # seconds from the hang-up to SIGKILL: one more than the console itself takes at most
TAKEN_OVER: Final = b"\n"
_IN_TERMINAL: Final = (  # becomes the console on its terminal, which is made its own: both are hung up together
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, '-P', '-m', 'console_app', *sys.argv[1:]])"
)

Size = tuple[int, int]
"""Columns and rows."""


class TerminalProcess:
    """A running console; `start` makes one."""

    def __init__(self, process: asyncio.subprocess.Process, terminal: int, channel: socket.socket) -> None:
        self._process, self._terminal, self._channel = process, terminal, channel
        self._open = True
        self._waiting: set[asyncio.Future[None]] = set()
        self._ended = asyncio.create_task(process.wait())
        self._ended.add_done_callback(self._wake)

    @classmethod
    async def start(
        cls, size: Size, *, arguments: Sequence[str], environ: Mapping[str, str], cwd: Path
    ) -> TerminalProcess:
        """Start `fanout arguments`: a program and its arguments, no shell. Raises OSError."""
        terminal, inside = pty.openpty()
        ours, theirs = socket.socketpair()
        try:
            os.set_blocking(terminal, False)
            _set_size(terminal, size)
            process = await child_programs.start(
                *(sys.executable, "-P", "-c", _IN_TERMINAL, *arguments),
                stdin=inside,
                stdout=inside,
                stderr=inside,
                env={**environ, BrowserPage.CHANNEL: str(theirs.fileno())},
                cwd=cwd,
                pass_fds=(theirs.fileno(),),
            )
        except BaseException:
            os.close(terminal)
            ours.close()
            raise
        finally:
            os.close(inside)
            theirs.close()
        return cls(process, terminal, ours)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def output(self) -> AsyncIterator[bytes]:
        """Yield what the console draws, until it has ended, whoever else may have its terminal still."""
        loop = asyncio.get_running_loop()
        while self._open:
            try:
                data = os.read(self._terminal, READ_BYTES)
            except BlockingIOError:
                if self._ended.done():
                    return
                await self._ready(loop.add_reader, loop.remove_reader)
                continue
            except OSError:  # EIO: the console has closed its end
                return
            if not data:
                return
            yield data

    async def write(self, data: bytes) -> None:
        """Write what is typed. Waits for a console that doesn't read; one that has ended takes it no more."""
        loop = asyncio.get_running_loop()
        while data and self._open and not self._ended.done():
            try:
                data = data[os.write(self._terminal, data) :]
            except BlockingIOError:
                await self._ready(loop.add_writer, loop.remove_writer)
            except OSError:
                return

    async def asked(self) -> AsyncIterator[dict[str, Any]]:
        """Yield what the console asks of its page: {"open": URL} and {"file": PATH}, until it has ended."""
        reader, writer = await asyncio.open_connection(sock=self._channel.dup())
        try:
            while line := await reader.readline():
                found: object = json.loads(line)
                if isinstance(found, dict):
                    yield cast("dict[str, Any]", found)
        except (ValueError, ConnectionError):
            return
        finally:
            writer.close()

    def resize(self, size: Size) -> None:
        if self._open:
            _set_size(self._terminal, size)

    def show_again(self) -> None:
        """Have everything painted again: another page shows it, on which nothing is painted yet."""
        with contextlib.suppress(OSError):
            self._channel.send(TAKEN_OVER, socket.MSG_DONTWAIT)

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    async def end(self) -> None:
        """Hang the console up, and end it by force where that is not enough. `output` has to be read meanwhile."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGHUP)
            try:
                await asyncio.wait_for(self._process.wait(), GRACE)
            except TimeoutError:
                self._process.kill()
                await self._process.wait()

    def close(self) -> None:
        """Close the terminal. Nobody may be waiting in `output` or `write`."""
        if self._open:
            self._open = False
            os.close(self._terminal)
            self._channel.close()

    async def _ready(self, add: Callable[..., Any], remove: Callable[[int], Any]) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(ready)
        add(self._terminal, _set, ready)
        try:
            await ready
        finally:
            self._waiting.discard(ready)
            remove(self._terminal)

    def _wake(self, _ended: asyncio.Task[int]) -> None:
        for ready in self._waiting:
            _set(ready)


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


def _set_size(terminal: int, size: Size) -> None:
    columns, rows = size
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


LEAST: Final[Size] = (20, 6)
MOST: Final[Size] = (1000, 400)

log = logging.getLogger(__name__)
Starts = Callable[[Size], Awaitable[TerminalProcess]]


class TooManyConsolesError(Exception):
    """No more consoles may run."""


class Viewer(Protocol):
    """The page that shows a console. Sending may wait for a slow page; to one that is gone it does nothing."""

    async def draw(self, data: bytes) -> None: ...

    async def tell(self, message: Mapping[str, Any]) -> None:
        """Tell the page anything else."""


class RunningConsole:
    """A console and the page that shows it, if any."""

    def __init__(self, process: TerminalProcess, *, keep: float, forget: Callable[[], object]) -> None:
        self.id = secrets.token_urlsafe(16)
        self.process = process
        self._keep, self._forget = keep, forget
        self._viewer: Viewer | None = None
        self._giving_up: asyncio.TimerHandle | None = None
        self._end: asyncio.Task[None] | None = None
        self.done = asyncio.create_task(self._run())

    @property
    def ending(self) -> bool:
        return self._end is not None

    async def show_on(self, viewer: Viewer) -> None:
        before, self._viewer = self._viewer, viewer
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
        if before is not None:
            await before.tell({"moved": True})

    def gone(self, viewer: Viewer) -> None:
        if viewer is not self._viewer:
            return
        self._viewer = None
        if self._keep:
            self._giving_up = asyncio.get_running_loop().call_later(self._keep, self.end)
        else:
            self.end()

    def end(self) -> None:
        if self._end is None and not self.done.done():
            self._end = asyncio.create_task(self.process.end())

    async def _run(self) -> None:
        asked = asyncio.create_task(self._pass_on_what_is_asked())
        try:
            async for data in self.process.output():
                if self._viewer is not None:
                    await self._viewer.draw(data)
            code = await self.process.wait()
            await asked
        finally:
            asked.cancel()
            if self._giving_up is not None:
                self._giving_up.cancel()
            if self._end is not None:
                await self._end
            self.process.close()
            self._forget()
        if self._viewer is not None:
            await self._viewer.tell({"ended": code})

    async def _pass_on_what_is_asked(self) -> None:
        async for message in self.process.asked():
            if self._viewer is not None:
                await self._viewer.tell(message)


class Consoles:
    """All that run; `most` at a time, each kept `keep` seconds without a page."""

    def __init__(self, start: Starts, *, most: int, keep: float) -> None:
        self._start, self._most, self.keep = start, most, keep
        self._running: dict[str, RunningConsole] = {}
        self._starting = 0

    def __len__(self) -> int:
        return len(self._running) + self._starting

    def find(self, known: str) -> RunningConsole | None:
        """Return the one of that ID, if it is kept and not about to end."""
        console = self._running.get(known) if self.keep else None
        return None if console is None or console.ending else console

    async def start(self, size: Size) -> RunningConsole:
        """Start a console, if need be in place of one that is about to end. Raises TooManyConsolesError, OSError."""
        while len(self) >= self._most:
            ending = [console.done for console in self._running.values() if console.ending]
            if not ending:
                raise TooManyConsolesError
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
        self._starting += 1
        try:
            process = await self._start(size)
        finally:
            self._starting -= 1
        console = RunningConsole(process, keep=self.keep, forget=lambda: self._running.pop(console.id, None))
        self._running[console.id] = console
        log.info("console %d started", process.pid)
        return console

    async def close(self) -> None:
        running = list(self._running.values())
        for console in running:
            console.end()
        for console in running:
            with contextlib.suppress(Exception):  # one that failed has ended too
                await console.done


def within_limits(columns: float, rows: float) -> Size:
    return (
        min(max(int(columns), LEAST[0]), MOST[0]),
        min(max(int(rows), LEAST[1]), MOST[1]),
    )

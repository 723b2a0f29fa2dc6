"""A console on a pseudo-terminal of its own: its bytes, its size, what it asks of its page, and its end.

The terminal is what guards: the console draws through the same driver as everywhere, and nothing else is sent. The
console leads a session of its own, so that the system hangs it up when this process ends, however it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import signal
import socket
import struct
import sys
import termios
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from console_app.config.machine import CHANNEL

READ_BYTES: Final = 1 << 16
GRACE: Final = 4.0  # seconds from the hang-up to SIGKILL: one more than the console itself takes at most
TAKEN_OVER: Final = b"\n"

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
        cls, arguments: Sequence[str], *, environ: Mapping[str, str], cwd: Path, size: Size
    ) -> TerminalProcess:
        """Start `fanout arguments`: a program and its arguments, no shell. Raises OSError."""
        terminal, inside = pty.openpty()
        ours, theirs = socket.socketpair()
        try:
            os.set_blocking(terminal, False)
            _set_size(terminal, size)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "console_app.web.in_terminal", *arguments),
                stdin=inside,
                stdout=inside,
                stderr=inside,
                env={**environ, CHANNEL: str(theirs.fileno())},
                cwd=cwd,
                start_new_session=True,
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
        """The console's process."""
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
        """Give the terminal the size that the page has now."""
        if self._open:
            _set_size(self._terminal, size)

    def show_again(self) -> None:
        """Have everything painted again: another page shows it, on which nothing is painted yet."""
        with contextlib.suppress(OSError):
            self._channel.send(TAKEN_OVER, socket.MSG_DONTWAIT)

    async def wait(self) -> int:
        """Return the exit code, once it has ended."""
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
        """Wait until the terminal is ready, or the console has ended."""
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

"""The program of a server: started under a keeper of its own, spoken to line by line, and ended with all its children.

Nothing here knows MCP or loads its SDK, so a server starts up while the SDK is still being imported. The event loop's
subprocess protocol is used directly: it tells of the exit at once, even while a grandchild holds the pipes open.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, cast

from console_app.mcp_client.transport.lines import LineSplitter, Oversized, weight
from console_app.records import dataclass, field

log = logging.getLogger(__name__)

MARKER = "FANOUT_SERVER_OF"  # in the environment of every server, so that its descendants can be found
_PROGRAM = Path(__file__).with_name("guard_process.py")
_CLOSE_SECONDS = 1.5
_KEEPER: Final = Path(__file__).with_name("server_keeper.py")
_AFTER_EOF: Final = 0.8  # seconds to leave by itself once its stdin is closed,
_HURRIED: Final = 0.2  # and when there is no time for that
_AFTER_CONTROL: Final = 1.5  # that its keeper may take to end it and all its children
_LAST_OUTPUT: Final = 0.2  # seconds for output still in the pipe after the exit
READ_AHEAD: Final = 4 * 1024 * 1024  # bytes that lines take which nobody has taken yet, before reading pauses
_WRITE_BEHIND: Final = 64 * 1024 * 1024  # bytes a server may leave unread on its stdin before it counts as stuck


class Guard:
    """Sees to it that no server outlives the console, not even one killed by SIGKILL: it holds the guard process's
    pipe."""

    def __init__(self) -> None:
        self.token = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._process: subprocess.Popen[bytes] | None = None
        self._groups: set[int] = set()
        self.hurried = False  # servers get hardly any time to leave by themselves

    def start(self) -> None:
        """Start the guard process, again if it died. Without one, servers still end with an orderly close."""
        if self._process is not None and self._process.poll() is None:
            return
        command = [sys.executable, "-I", "-S", str(_PROGRAM), f"{MARKER}={self.token}"]
        try:
            # A session of its own: neither Ctrl+C nor the end of the terminal may reach it before its work is done.
            pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=nowhere, stderr=nowhere, cwd="/", env={}, start_new_session=True
            )
        except OSError as error:
            log.warning("no guard for the servers' processes: %s", error)
            return
        for group in self._groups:
            self._write(f"+{group}")

    def watch(self, group: int) -> None:
        self._groups.add(group)
        self._write(f"+{group}")

    def forget(self, group: int) -> None:
        self._groups.discard(group)
        self._write(f"-{group}")

    def _write(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            os.write(self._process.stdin.fileno(), f"{line}\n".encode())
        except OSError as error:
            log.warning("the guard process is gone: %s", error)

    async def close(self) -> None:
        """Let the guard end what is left of all servers, and wait for it."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.to_thread(process.wait, _CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            log.warning("the guard process %d is still at work", process.pid)


@dataclass(frozen=True, slots=True)
class Program:
    """A program to start: a command on the search path of `environment`, which is all of it; `folder` "" is our own."""

    command: str
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    folder: str = ""


class Log(Protocol):
    """Takes what a server writes to standard error, and lines of our own about it."""

    @property
    def last_line(self) -> str: ...  # that says something

    def write(self, data: bytes) -> None: ...

    def write_line(self, text: str) -> None: ...

    def flush(self) -> None: ...  # the server writes no more

    def close(self) -> None: ...


class ServerProcess(asyncio.SubprocessProtocol):
    """A running server program. Made by `start`, ended by `stop`."""

    def __init__(self, log: Log, guard: Guard, control: int) -> None:
        self._log = log
        self._guard = guard
        self._control = control  # our end of the pipe that has the keeper end everything once it is closed
        self._splitter = LineSplitter()
        self._lines: deque[bytes | Oversized] = deque()
        self.waiting = 0  # bytes that the lines take which nobody has taken yet
        self._paused = False
        self._arrived = asyncio.Event()
        self._exited = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None
        self.output_ended = False  # nothing more comes: it has exited, or closed its stdout
        self.pid = 0

    @classmethod
    async def start(cls, program: Program, log: Log, guard: Guard) -> ServerProcess:
        """Start the program. Raises OSError or ValueError when the system can't."""
        loop = asyncio.get_running_loop()
        environment = {**program.environment, MARKER: guard.token}  # by which its descendants are found
        kept, control = os.pipe()
        failed, failure = os.pipe()
        python, given = (sys.executable, "-I", "-S"), str(int("LC_CTYPE" in environment))
        process = cls(log, guard, control)
        with os.fdopen(failed, "rb") as said:
            try:
                try:
                    await to_the_end(  # cancelled half-way, the loop would leave pipes of the program open
                        loop.subprocess_exec(
                            lambda: process,
                            *(*python, str(_KEEPER), str(kept), str(failure), given),
                            *(program.command, *program.arguments),
                            env=environment,
                            cwd=program.folder or None,
                            start_new_session=True,
                            pass_fds=(kept, failure),
                        )
                    )
                finally:
                    os.close(kept)
                    os.close(failure)
                if number := await asyncio.to_thread(said.read):
                    raise OSError(int(number), os.strerror(int(number)), program.command)
            except BaseException:
                await to_the_end(process.stop())
                raise
        return process

    # What the event loop tells us.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport before any output comes: a flood has to be held back from its first byte."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self.pid = self._transport.get_pid()
        self._guard.watch(self.pid)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            self._log.write(data)
            return
        self._keep(self._splitter.feed(data))
        if self.waiting > READ_AHEAD and not self._paused:
            self._paused = True
            self._stdout().pause_reading()
        self._arrived.set()

    def _keep(self, lines: Sequence[bytes | Oversized]) -> None:
        self._lines.extend(lines)
        self.waiting += sum(map(weight, lines))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._end_output()
        else:
            self._log.flush()

    def process_exited(self) -> None:
        self._exited.set()
        asyncio.get_running_loop().call_later(_LAST_OUTPUT, self._end_output)

    def _end_output(self) -> None:
        self._keep(self._splitter.end())
        self.output_ended = True
        self._arrived.set()

    # What the transport above uses.

    def send(self, data: bytes) -> None:
        """Write without waiting. Raises BrokenPipeError when the server can't be written to any more."""
        pipe = cast("asyncio.WriteTransport | None", self._pipe(0))
        if pipe is None or pipe.is_closing() or self._exited.is_set():
            raise BrokenPipeError
        if pipe.get_write_buffer_size() > _WRITE_BEHIND:
            raise BrokenPipeError("it does not read its input")
        pipe.write(data)

    async def receive(self) -> bytes | Oversized | None:
        while not self._lines:
            if self.output_ended:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        line = self._lines.popleft()
        self.waiting -= weight(line)
        if self._paused and self.waiting <= READ_AHEAD // 2:
            self._paused = False
            self._stdout().resume_reading()
        return line

    @property
    def exit_code(self) -> int | None:
        """The code it exited with, negative for a signal; None while it runs."""
        return self._transport.get_returncode() if self._transport else None

    async def exit_reason(self, patience: float = 0.5) -> str:
        """Say in one line why it ended: `exited with code 1: no such module`. Wait a moment for the exit to show."""
        try:
            await asyncio.wait_for(self._exited.wait(), patience)
        except TimeoutError:
            return "closed its output"
        await asyncio.sleep(0)  # stderr's last bytes are taken in the same turn of the loop as the exit
        last_line = self._log.last_line[:200]
        return describe_exit(self.exit_code) + (f": {last_line}" if last_line else "")

    async def stop(self) -> None:
        """End the program and all below it: end of input, then SIGTERM, then SIGKILL. At most some two seconds."""
        if self._transport is None:
            os.close(self._control)
            return
        stdin = cast("asyncio.WriteTransport | None", self._pipe(0))
        if stdin is not None:
            stdin.close()
        if self._paused:
            self._stdout().resume_reading()  # a server blocked on its output can't see the end of its input
            self._paused = False
        await self._gone(_HURRIED if self._guard.hurried else _AFTER_EOF)
        if self._control >= 0:
            os.close(self._control)
            self._control = -1
        await self._gone(_AFTER_CONTROL)
        self._guard.forget(self.pid)
        self._end_output()
        try:
            self._transport.close()
        except PermissionError:
            pass  # a program that changed its user: it is not ours to end
        self._log.close()

    async def _gone(self, patience: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._exited.wait(), patience)

    def _pipe(self, fd: int) -> asyncio.BaseTransport | None:
        return self._transport.get_pipe_transport(fd) if self._transport else None

    def _stdout(self) -> asyncio.ReadTransport:
        return cast("asyncio.ReadTransport", self._pipe(1))


def describe_exit(code: int | None) -> str:
    """Return `exited with code 3`, or the name of the signal that ended it."""
    if code is None:
        return "ended"
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


async def to_the_end(work: Coroutine[Any, Any, object]) -> None:
    """Wait for `work` even when cancelled meanwhile: half started or ended, a server's program would be left behind."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled

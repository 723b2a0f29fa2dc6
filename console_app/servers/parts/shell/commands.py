"""A command that runs, and its output: told live, kept in a file up to a limit, and given with its head and tail."""

from __future__ import annotations

import asyncio
import errno
import os
import pty
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

Stream = Literal["stdout", "stderr"]
Tell = Callable[[int, Mapping[str, Any]], None]
TICK: Final = 0.05  # seconds between two pieces of live output
MOST_LIVE: Final = 16_384  # bytes of a stream in one of them; of more the newest are told
MOST_READ: Final = 1 << 20  # bytes of a stream that are read in a tick: a flood waits in its pipe
MOST_KEPT: Final = 20_000_000  # bytes in the file
MOST_OUTPUT: Final = 200_000_000  # bytes; a command that writes more is ended
HEAD, TAIL = 8_000, 16_000  # bytes of a longer output that its result holds
ALIVE: Final = 10.0  # seconds of silence after which a sign of life is sent
_BINARY: Final = 0.1  # of more than a few bytes, beyond which it is no text; of random ones it is 0.14
_FEW: Final = 100
_MOST_STARTS: Final = 3  # of a command whose sandbox could not be made: what a service had there was gone
_OVERWRITTEN: Final = re.compile(r"[^\n\r]*\r+(?!\n|\r|$)")  # each state of a progress bar but the last


@dataclass(slots=True)
class _Source:
    """A stream. `waiting` are its newest bytes that were not told yet; `skipped` came before them and won't be."""

    name: Stream
    descriptor: int
    waiting: bytearray = field(default_factory=bytearray)
    skipped: int = 0
    budget: int = MOST_READ
    reading: bool = True


Begin = Callable[[], tuple[int, int, Mapping[Stream, int]]]


class RunningCommand:
    """A command, from its start on. `begin` starts it, and returns its keeper's status and control, and what its output
    comes from."""

    def __init__(self, number: int, command: str, file: Path, begin: Begin) -> None:
        self.number, self.command, self.file = number, command, file
        self.code: int | None = None
        self.why = ""  # it was ended by us
        self.put_right: list[str] = []  # under protected names
        self._begin, self._starts = begin, 0
        self._started = time.monotonic()
        self._ended: float | None = None
        self._passed = 0  # bytes of all streams that were told, or won't be
        self.tell: Tell | None = None
        self._start()
        self.task = asyncio.get_running_loop().create_task(self._watch())

    def _start(self) -> None:
        self._status, self._control, reads = self._begin()
        self._starts += 1
        self._sources = [_Source(name, descriptor) for name, descriptor in reads.items()]
        self.size, self.unkept = 0, ""
        self._head, self._tail, self._kept = bytearray(), bytearray(), 0
        self._odd = 0
        self._gone, self._told = asyncio.Event(), b""
        self._file = self.file.open("wb", buffering=0)
        loop = asyncio.get_running_loop()
        loop.add_reader(self._status, self._hear)
        for source in self._sources:
            os.set_blocking(source.descriptor, False)
            loop.add_reader(source.descriptor, self._read, source)

    @property
    def seconds(self) -> float:
        return (time.monotonic() if self._ended is None else self._ended) - self._started

    def end(self, why: str) -> None:
        """Have all of it ended: SIGTERM, and SIGKILL a second later. `why` is said in its result."""
        if self.code is None and not self.why:
            self.why = why
            with suppress(OSError):
                os.write(self._control, b"\n")

    async def ended(self, seconds: float | None) -> bool:
        """Wait for its end, for so long; tell whether it has ended."""
        done, _ = await asyncio.wait({self.task}, timeout=seconds)
        return bool(done)

    def text(self, offset: int = 0, most: int = HEAD + TAIL) -> tuple[str, int]:
        """Return its output from byte `offset` of the file on, and where the rest begins."""
        with self.file.open("rb") as file:
            file.seek(offset)
            data = file.read(most)
        cut = len(data)
        if offset + cut < self._kept:
            cut = data.rfind(b"\n") + 1 or _whole(data)
        return data[:cut].decode("utf-8", "replace"), offset + cut

    def shown(self) -> str:
        """Return the output as the result has it: whole, or its head and tail and how to read on."""
        if self.size > _FEW and self._odd > self.size * _BINARY:
            return f"[binary output, {self.size:,} bytes: {self._where()}]"
        if self.size <= HEAD + TAIL:
            return _OVERWRITTEN.sub("", bytes(self._head + self._tail).decode("utf-8", "replace"))
        head, tail = self._head[: _whole(self._head)], self._tail[-TAIL:]
        left = self.size - len(head) - len(tail)
        rest = f"[… {left:,} bytes are left out: {self._where()}, and `output` with run={self.number} reads on]"
        first, last = (_OVERWRITTEN.sub("", part.decode("utf-8", "replace")) for part in (head, tail))
        return f"{first}\n{rest}\n{last.lstrip('�')}"

    def _where(self) -> str:
        if self.unkept:
            return self.unkept
        return f"{'all' if self._kept == self.size else f'the first {self._kept:,} bytes'} of it in {self.file}"

    async def _watch(self) -> None:
        try:
            while await self._ran() and self._starts < _MOST_STARTS and not self.why:
                self._let_go()
                self._start()
        finally:
            self._let_go()
            self._ended = time.monotonic()
            told = self._told.split()
            self.code = int(told[0]) if told and told[0].isdigit() else 137

    async def _ran(self) -> bool:
        """Wait for the end of the command. Tell whether it never began, so that it may start anew."""
        loop = asyncio.get_running_loop()
        last = self._started
        while not self._gone.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._gone.wait(), TICK)
            now = time.monotonic()
            if not self._gone.is_set() and self._tell_waiting(alive=now - last >= ALIVE):
                last = now
            for source in self._sources:
                source.budget = MOST_READ
                if not source.reading and source.descriptor >= 0:
                    source.reading = True
                    loop.add_reader(source.descriptor, self._read, source)
            if self.size > MOST_OUTPUT:
                self.end(f"ended because it wrote more than {MOST_OUTPUT // 1_000_000} MB")
        for source in self._sources:  # what is left in the pipes: nobody writes any more
            source.budget = MOST_READ
            while source.descriptor >= 0 and source.budget > 0:
                before = self.size
                self._read(source)
                if self.size == before:
                    break
        if unbegun := b" " in self._told:
            return unbegun  # its output is bubblewrap's
        self._tell_waiting()
        return False

    def _let_go(self) -> None:
        for source in self._sources:
            self._close(source)
        asyncio.get_running_loop().remove_reader(self._status)
        os.close(self._status)
        os.close(self._control)
        self._file.close()

    def _hear(self) -> None:
        with suppress(BlockingIOError):
            data = os.read(self._status, 64)
            self._told += data
            if not data or b"\n" in data:
                self._gone.set()
                asyncio.get_running_loop().remove_reader(self._status)

    def _read(self, source: _Source) -> None:
        try:
            data = os.read(source.descriptor, 65_536)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.EIO:  # the end of a terminal
                raise
            data = b""
        if not data:
            self._close(source)
            return
        source.budget -= len(data)
        if source.budget <= 0 and source.reading:
            source.reading = False
            asyncio.get_running_loop().remove_reader(source.descriptor)
        self._keep(data)
        source.waiting += data
        if len(source.waiting) > MOST_LIVE:
            over = len(source.waiting) - MOST_LIVE
            del source.waiting[:over]
            source.skipped += over

    def _close(self, source: _Source) -> None:
        if source.descriptor >= 0:
            asyncio.get_running_loop().remove_reader(source.descriptor)
            os.close(source.descriptor)
            source.descriptor = -1

    def _keep(self, data: bytes) -> None:
        self.size += len(data)
        self._odd += len(data) - len(data.translate(None, _ODD))
        if (room := HEAD - len(self._head)) > 0:
            self._head += data[:room]
            self._tail += data[room:]
        else:
            self._tail += data
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]
        if self._kept < MOST_KEPT and not self.unkept:
            try:
                self._kept += self._file.write(data[: MOST_KEPT - self._kept]) or 0
            except OSError as error:
                self.unkept = f"it could not be kept ({(error.strerror or str(error)).lower()})"

    def _tell_waiting(self, *, alive: bool = False) -> bool:
        told = False
        for source in self._sources:
            last = source.descriptor < 0
            size = len(source.waiting) if last else _whole(source.waiting)
            if not size:
                continue
            offset = self._passed + source.skipped
            if self.tell is not None:
                text = source.waiting[:size].decode("utf-8", "replace")
                self.tell(self.size, {"stream": source.name, "text": text, "offset": offset})
                told = True
            self._passed, source.skipped = offset + size, 0
            del source.waiting[:size]
        if alive and not told and self.tell is not None:
            self.tell(self.size, {})
        return told or alive


_ODD: Final = (
    bytes(byte for byte in range(32) if byte not in b"\t\n\r\x08\x0c\x1b") + b"\x7f" + bytes(range(0xF8, 0x100))
)


def _whole(data: bytes | bytearray) -> int:
    """Return how many of these bytes end with a whole character of UTF-8, as far as it is that."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if length > back else len(data)
        if byte < 0x80:
            break
    return len(data)


@dataclass(frozen=True, slots=True)
class Pipes:
    """Where a command writes (`output`, `errors`: its ends, closed once it has started) and what is read of it."""

    output: int
    errors: int
    reads: Mapping[Stream, int]

    @classmethod
    def open(cls, *, terminal: bool) -> Pipes:
        """Return two pipes, or one pseudo-terminal of 80 columns."""
        if terminal:
            import termios

            ours, theirs = pty.openpty()
            termios.tcsetwinsize(theirs, (24, 80))
            return cls(theirs, theirs, {"stdout": ours})
        output, output_end = os.pipe()
        errors, errors_end = os.pipe()
        return cls(output_end, errors_end, {"stdout": output, "stderr": errors})

    def started(self) -> None:
        for descriptor in {self.output, self.errors}:
            os.close(descriptor)

    def failed(self) -> None:
        self.started()
        for descriptor in self.reads.values():
            os.close(descriptor)

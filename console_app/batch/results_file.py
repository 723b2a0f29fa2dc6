"""The file of results, a line an item: what was written is what is done. A line goes to the disk before its item
counts; a half-written one is cut off when the run goes on. Where the path names another file, or one that another
program changed, nothing counts as written any more.

Beside it, items are noted on the disk before their first call that isn't read-only starts: a note without a result says
that running the item again may do a thing twice.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import queue
import stat
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from console_app.config.files import disk
from console_app.domain import (
    ConfigError,
    FanoutError,
    Outcome,
    ToolResult,
    ToolSpec,
    UsageError,
    batch,
    ports,
    safe_text,
)
from console_app.records import dataclass, field

_BEGINNING = b'{"version":'
_OTHER = "Name another file with -o, or move that one away."
_PATIENCE = 1.0  # seconds between two tries to write
_LOOK = 0.5  # seconds between two looks at the path while nothing is written
_Line = tuple[str, asyncio.Future[bool]]


class ResultsError(FanoutError):
    """The results can't be read or written."""

    title = "Results"


@dataclass(slots=True)
class Earlier:
    """The content of a results file: the newest result of each id counts. Tokens and money are of all of them."""

    statuses: dict[str, batch.ItemStatus] = field(default_factory=dict[str, batch.ItemStatus])
    called: set[str] = field(default_factory=set[str])  # items that made calls
    tokens: int = 0
    cost: float = 0.0
    priced: bool = False  # whether any of them has a price

    @property
    def spent(self) -> str:
        price = f"${self.cost:.4f}" if self.priced else "price not known"
        return f"{self.tokens:,} tokens: {price}"


class ResultsFile:
    """Open for one run at a time, or with `look` for readers. A thread writes, which `close` ends."""

    def __init__(self, path: Path, *, look: bool = False) -> None:
        """Open or make the file, and lock it; `look` makes, locks and mends nothing. Raises UsageError, and
        ResultsError where it is in use."""
        self.path = path
        self.look = look
        self.earlier = Earlier()
        self.problem = ""  # why the newest write failed; "" once it went through
        self.harm = ""  # what others did to the file under this run, "" if nothing
        self.lost = False  # nothing is written any more, since the path holds what isn't of this run
        self.unwritten: list[str] = []  # after `close`: lines that are not where they were to be
        self.digests: dict[str, tuple[str, int]] = {}  # of each item, with the line that was read, 0 for a new one
        new = not look and not path.exists()
        try:
            # Without waiting for the other end of a pipe, which is refused below.
            flags = os.O_RDONLY | os.O_NONBLOCK if look else os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._descriptor = os.open(path, flags | os.O_CLOEXEC, disk.PRIVATE_FILE)
        except OSError as error:
            raise UsageError(
                f"can't {'read' if look else 'write'} {path}: {error.strerror or error}", "Name another with -o."
            ) from None
        try:
            if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):  # which might have no end, or no memory
                raise UsageError(f"{path} is no regular file", "Name another with -o.")
            if not look:
                self._lock(self._descriptor)
            self._read()
            status = os.fstat(self._descriptor)
            self._size, self._written, self._sum = status.st_size, status.st_mtime_ns, 0 if look else self._checksum()
        except BaseException:
            os.close(self._descriptor)
            raise
        self._new = new  # it goes again where nothing is ever written to it
        self._lines: queue.SimpleQueue[_Line | None] = queue.SimpleQueue()
        self._giving_up = threading.Event()
        self._thread: threading.Thread | None = None

    def check(self, items: Sequence[batch.WorkItem]) -> None:
        """Raise UsageError where the file holds a result of an item that isn't one of `items`."""
        digests = {item.id: item for item in items}
        for name, (digest, line) in self.digests.items():
            item = digests.get(name)
            if item is None:
                raise UsageError(f"{self.path}:{line} is of another run: there is no item “{name}”", _OTHER)
            if item.digest != digest:
                raise UsageError(
                    f"{self.path}:{line} is of another run: its item “{name}” was another than {item.source}", _OTHER
                )

    def append(self, result: batch.ItemResult) -> asyncio.Future[bool]:
        """Return once the line is in the file; False where the disk would not take it. `problem` says why that
        waits."""
        self.digests[result.id] = (result.item, 0)
        return self._put(line_of(result))

    def hold(self) -> asyncio.Future[bool]:
        """Return once it is known whether the path holds all that was written, else `harm` says what happened."""
        self._written = 0  # a change in the very moment of a write has its time
        return self._put("")

    @property
    def in_place(self) -> bool:
        """Tell whether the path still names this file, and it holds what was written and nothing else."""
        there = self._named()
        if there is None or there.st_size != self._size:
            return False
        if there.st_mtime_ns != self._written:
            if self._checksum() != self._sum:
                return False
            self._written = there.st_mtime_ns
        return True

    def give_up(self) -> None:
        """Wait no longer for the disk: what it doesn't take at once is in `unwritten`."""
        self._giving_up.set()

    async def close(self) -> None:
        """Write what waits, and let go of the file."""
        self.give_up()
        if self._thread is not None:
            self._lines.put(None)
            await asyncio.to_thread(self._thread.join)
        if self.lost and self._named() is None:  # no name leads to what was written
            self.unwritten[:0] = (line.decode("utf-8", "replace") for line in self._whole_lines())
        if self._new and (there := self._named()) is not None and there.st_size == 0:
            self.remove()
        os.close(self._descriptor)

    def remove(self) -> None:
        """Take the file away; where the folder may not be changed it stays, and says nothing new."""
        with suppress(OSError):
            self.path.unlink()

    def _put(self, text: str) -> asyncio.Future[bool]:
        loop = asyncio.get_running_loop()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, args=(loop,), name="results", daemon=True)
            self._thread.start()
        written: asyncio.Future[bool] = loop.create_future()
        self._lines.put((text, written))
        return written

    def _named(self) -> os.stat_result | None:
        """Return the status of the file at the path; None where it is another file, or none."""
        try:
            there = os.stat(self.path)
        except OSError:
            return None
        return there if os.path.samestat(there, os.fstat(self._descriptor)) else None

    def _checksum(self) -> int:
        total = offset = 0
        while data := os.pread(self._descriptor, 1_000_000, offset):
            total, offset = zlib.crc32(data, total), offset + len(data)
        return total

    # At the start

    def _lock(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResultsError(f"another run writes to {self.path}", "Wait for it, or name another with -o.") from None
        except OSError:
            pass  # a file system without locks

    def _read(self) -> None:
        end = 0
        for number, line in enumerate(self._whole_lines(), 1):
            if not line.endswith(b"\n"):
                self._mend(line, end, number)
                return
            end += len(line)
            self._take(line, number)

    def _whole_lines(self) -> Iterator[bytes]:
        with open(self._descriptor, "rb", closefd=False) as file:
            file.seek(0)
            yield from file

    def _mend(self, torn: bytes, end: int, number: int) -> None:
        """Give the last line an end: its writer was killed, an editor took it, or zeros stand there after a power
        cut."""
        with_zeros, torn = torn, torn.rstrip(b"\0")
        whole = True
        try:
            batch.ItemResult.model_validate_json(torn)
        except ValidationError:
            whole = False
        if not whole and (not torn.startswith(_BEGINNING[: len(torn)]) or (number == 1 and not torn)):
            raise UsageError(f"{self.path} is no file of results", _OTHER)
        try:
            if self.look:
                pass  # its writer may be at it
            elif not whole:
                os.ftruncate(self._descriptor, end)
            else:
                if torn != with_zeros:
                    os.ftruncate(self._descriptor, end + len(torn))
                os.write(self._descriptor, b"\n")
        except OSError as error:
            raise ResultsError(f"can't write {self.path}: {error.strerror or error}") from None
        if whole:
            self._take(torn, number)

    def _take(self, line: bytes, number: int) -> None:
        try:
            result = batch.ItemResult.model_validate_json(line)
        except ValidationError:
            raise UsageError(f"{self.path}:{number} is no result of a batch", _OTHER) from None
        if result.version > batch.RESULT_VERSION:
            raise UsageError(f"{self.path}:{number} was written by a newer Fanout (version {result.version})", _OTHER)
        self.digests[result.id] = (result.item, number)
        self.earlier.statuses[result.id] = result.status
        self.earlier.called.update({result.id} if result.calls else ())
        self.earlier.tokens += result.usage.input_tokens + result.usage.output_tokens
        self.earlier.cost += result.usage.cost or 0.0
        self.earlier.priced |= result.usage.cost is not None

    # In the thread

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        ended = False
        while not ended:
            try:
                lines = [self._lines.get(timeout=_LOOK)]
            except queue.Empty:  # while a change runs, its note has to be there
                if not self.lost and not self.in_place:
                    self._save()
                continue
            while not self._lines.empty():  # what came meanwhile goes to the disk together
                lines.append(self._lines.get())
            entries = [line for line in lines if line is not None]
            ended = len(entries) < len(lines)
            whole = not entries or self._write("".join(text for text, _ in entries).encode())
            if not whole:
                self.unwritten += [text for text, _ in entries if text]
            if entries:
                loop.call_soon_threadsafe(_done, [written for _, written in entries], whole)

    def _write(self, data: bytes) -> bool:
        """Append `data`; tell whether all of it is in the file. After a part was written, only the rest is tried
        again."""
        if not self.in_place and not self.lost:
            self._save()
        if self.lost:
            return False
        rest = memoryview(data)
        while True:
            try:
                while rest:
                    count = os.write(self._descriptor, rest)
                    self._size += count
                    rest = rest[count:]
                self._sum, self._written = zlib.crc32(data, self._sum), os.fstat(self._descriptor).st_mtime_ns
                os.fdatasync(self._descriptor)
                if not self._giving_up.is_set():  # then earlier lines may be missing
                    self.problem = ""
                return True
            except OSError as error:
                if not rest:
                    return True  # a file that can't be synced, as a pipe
                self.problem = f"can't write {self.path}: {error.strerror or error}"
                if self._giving_up.wait(_PATIENCE):
                    try:
                        self._size -= len(data) - len(rest)
                        os.ftruncate(self._descriptor, self._size)
                    except OSError:
                        pass  # the next run cuts off the one that has no end
                    return False

    def _save(self) -> None:
        """Write the file anew where its path names nothing any more; another's file is left alone."""
        self.harm = f"{self.path} was removed under this run, and written anew"
        try:
            if os.path.lexists(self.path) or os.fstat(self._descriptor).st_size != self._size:
                raise FileExistsError
            disk.private_folder(self.path.parent)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            with open(os.open(self.path, flags, disk.PRIVATE_FILE), "wb") as new:
                self._lock(new.fileno())
                new.writelines(self._whole_lines())
                new.flush()
                os.fsync(new.fileno())
                os.dup2(new.fileno(), self._descriptor, inheritable=False)
        except (OSError, ResultsError):
            self.lost = True
            self.problem = self.harm = f"{self.path} was replaced, changed or removed by another program"


def line_of(result: batch.ItemResult) -> str:
    return safe_text.json_line(result.model_dump(mode="json")) + "\n"


def _done(written: Sequence[asyncio.Future[bool]], whole: bool) -> None:
    for one in written:
        if not one.done():
            one.set_result(whole)


_NOT_STARTED = "not started: that it may change something could not be noted"


class ChangeNotes:
    """The notes beside a results file, `RESULTS.changes`, which is there while an item in it has no result."""

    def __init__(self, results: ResultsFile) -> None:
        """Read what an earlier run left. Raises ResultsError or UsageError."""
        self._results = results
        self._path = self.path_of(results.path)
        self._file = ResultsFile(self._path, look=results.look) if self._path.exists() else None
        self._open = set(self._file.earlier.statuses) if self._file is not None else set[str]()
        self._noting: dict[str, asyncio.Task[bool]] = {}

    @staticmethod
    def path_of(results: Path) -> Path:
        return results.with_name(f"{results.name}.changes")

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._open

    def check(self, items: Sequence[batch.WorkItem]) -> None:
        """Raise UsageError where a note is of an item that isn't one of `items`."""
        if self._file is not None:
            self._file.check(items)

    async def note(self, item: batch.WorkItem) -> bool:
        """Return once the note is on the disk; False where it can't be."""
        if item.id in self._open:
            return True
        if item.id not in self._noting:
            self._noting[item.id] = task = asyncio.create_task(self._note(item))
            task.add_done_callback(lambda _: self._noting.pop(item.id, None))
        return await asyncio.shield(self._noting[item.id])

    def settle(self, item_id: str) -> None:
        """Take note that the item has a result on the disk."""
        self._open.discard(item_id)

    async def close(self) -> None:
        """Remove the file once every item has a result. Where results aren't in their place, all that may have changed
        something is noted. Raises ResultsError."""
        if self._file is not None:
            self._file.give_up()
        if self._noting:
            await asyncio.wait(self._noting.values())
        ours = self._file is not None and self._file.in_place
        if self._file is not None:
            await self._file.close()
        if self._results.look:
            return
        if not self._results.in_place:
            await asyncio.to_thread(self._note_all)
        elif self._file is not None and ours and not self._open:
            self._file.remove()

    def _note_all(self) -> None:
        noted = dict(self._file.digests) if self._file is not None else {}
        noted |= {name: self._results.digests[name] for name in self._results.earlier.called}
        notes = [
            batch.ItemResult(id=name, item=one[0], status="interrupted", error=batch.CUT_SHORT)
            for name, one in noted.items()
        ]
        try:
            disk.write_private(self._path, "".join(map(line_of, notes)))
        except ConfigError as error:
            raise ResultsError(error.detail, "The same command may change things twice.") from None

    async def _note(self, item: batch.WorkItem) -> bool:
        if self._file is None:
            try:
                self._file = ResultsFile(self._path)
            except FanoutError:
                return False
        if not await self._file.append(batch.ItemResult.interrupted(item)):
            return False
        self._open.add(item.id)
        return True


class NotedChanges:
    def __init__(self, inner: ports.Toolset, note: Callable[[], Awaitable[bool]]) -> None:
        self._inner = inner
        self._note = note

    def tools(self) -> Sequence[ToolSpec]:
        return self._inner.tools()

    async def call(self, invocation: ports.Invocation, reporter: ports.CallReporter) -> ToolResult:
        if not invocation.spec.annotations.read_only:
            with reporter.held():
                noted = await self._note()
            if not noted:
                return ToolResult(outcome=Outcome.FAILED, content=_NOT_STARTED, error=_NOT_STARTED)
        return await self._inner.call(invocation, reporter)

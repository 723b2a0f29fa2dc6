"""The log file of a server: what it wrote to stderr and what it said outside any call, bounded on disk.

Two files of at most a megabyte each (`NAME.log` and the older `NAME.log.1`), and at most a megabyte a second. A server
that floods its stderr is read, so that it never blocks, but neither the disk nor the console's loop drowns in it. What
it writes is kept without secrets, line by line: of a line that has not ended, only its beginning is shown.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from pathlib import Path

from console_app.config.files import disk
from console_app.config.secrets import RedactedStream, Redactor
from console_app.domain import one_line

LARGEST_FILE = 1_000_000  # bytes
LARGEST_SECOND = 1_000_000  # bytes
MOST_LINES = 200  # in memory, the newest
LONGEST_LINE = 2000  # characters, in memory


class ServerLog:
    """Append-only. Failing to write is not an error: a full disk must not stop a server."""

    def __init__(self, folder: Path, name: str, redactor: Redactor | None = None) -> None:
        safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80].lstrip(".") or "server"
        self.path = folder / f"{safe}.log"
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._rest = ""  # of the lines kept in memory: one that has not ended, cleaned
        self._redactor = redactor or Redactor()
        self._stream = RedactedStream(self._redactor)
        self._file: int | None = None
        self._size = 0
        self._at_start = True  # of a line, in the file
        self._second, self._in_second, self._dropped = 0.0, 0, 0

    @property
    def lines(self) -> list[str]:
        rest = (self._rest + self._stream.rest)[-LONGEST_LINE:]
        return [*self._lines, *([rest] if rest else [])]

    @property
    def last_line(self) -> str:
        """The last line that says something: after a traceback, the error itself."""
        return next((line.strip() for line in reversed(self.lines) if line.strip()), "")

    def write_line(self, text: str) -> None:
        line = f"{time.strftime('%H:%M:%S')} {one_line(self._redactor.clean(text))}\n"
        self._remember(line)
        begins = b"" if self._at_start else b"\n"  # a line of the server that has no end yet
        self._at_start = True
        self._to_file(begins + line.encode("utf-8", "replace"))

    def write(self, data: bytes) -> None:
        """Write bytes as the server wrote them to standard error; in the file each line has its time before it."""
        if self._in_second >= LARGEST_SECOND and time.monotonic() - self._second < 1:
            # Only what is kept in memory is worth cleaning: the newest lines, from the beginning of one.
            self._dropped += len(data)
            self._remember(self._stream.feed(b"\n" + data[-MOST_LINES * 40 :].partition(b"\n")[2]))
            return
        self._keep(self._stream.feed(data))

    def flush(self) -> None:
        """Write the last line, which needs no end: the server writes no more."""
        self._keep(self._stream.flush())

    def _keep(self, text: str) -> None:
        self._remember(text)
        self._to_file(text.encode("utf-8", "surrogateescape"), stamped=True)

    def _remember(self, text: str) -> None:
        # Foreign bytes that are no UTF-8 are in the file as they came; on the screen they are marks.
        shown = text[-MOST_LINES * 200 :].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        *whole, rest = (self._rest + shown).split("\n")
        self._lines.extend(line[:LONGEST_LINE] for line in whole[-MOST_LINES:])
        self._rest = rest[-LONGEST_LINE:]

    def _to_file(self, data: bytes, *, stamped: bool = False) -> None:
        now = time.monotonic()
        if now - self._second >= 1:
            if self._dropped:
                data = f"\n[{self._dropped} bytes were not kept: more than a megabyte a second]\n".encode() + data
            self._second, self._in_second, self._dropped = now, 0, 0
        room = LARGEST_SECOND - self._in_second
        self._dropped += max(len(data) - room, 0)
        data = data[: max(room, 0)]
        self._in_second += len(data)
        if not data:
            return
        if stamped:
            stamp, begins = time.strftime("%H:%M:%S | ").encode(), self._at_start
            self._at_start = data.endswith(b"\n")
            lines = data.removesuffix(b"\n").replace(b"\n", b"\n" + stamp)
            data = (stamp if begins else b"") + lines + (b"\n" if self._at_start else b"")
        try:
            self._append(data)
        except OSError:
            self.close()

    def _append(self, data: bytes) -> None:
        if self._file is None:
            disk.private_folder(self.path.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(self.path, flags, disk.PRIVATE_FILE)
            self._size = os.fstat(self._file).st_size
        elif self._size + len(data) > LARGEST_FILE:
            self.close()
            self.path.replace(self.path.with_name(f"{self.path.name}.1"))
            self._append(data)
            return
        self._size += os.write(self._file, data)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

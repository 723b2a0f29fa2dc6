"""One server's log file: what it wrote to stderr and what it said outside any call, bounded on disk.

Two files of at most a megabyte each (`NAME.log` and the older `NAME.log.1`), and at most a megabyte a second: a server
that floods its stderr is read, so that it never blocks, but neither the disk nor the console's loop drowns in it.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from pathlib import Path

LARGEST_FILE = 1_000_000  # bytes
LARGEST_SECOND = 1_000_000  # bytes
MOST_LINES = 200  # in memory, the newest
LONGEST_LINE = 2000  # characters, in memory


class ServerLog:
    """Append-only. Failing to write is not an error: a full disk must not stop a server."""

    def __init__(self, folder: Path, name: str) -> None:
        safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80].lstrip(".") or "server"
        self.path = folder / f"{safe}.log"
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._rest = ""
        self._file: int | None = None
        self._size = 0
        self._at_start = True  # of a line, in the file
        self._second, self._in_second, self._dropped = 0.0, 0, 0

    @property
    def lines(self) -> list[str]:
        """The newest lines, for the server's screen."""
        return [*self._lines, *([self._rest] if self._rest else [])]

    @property
    def last_line(self) -> str:
        """The last line that says something: after a traceback, the error itself."""
        return next((line.strip() for line in reversed(self.lines) if line.strip()), "")

    def write_line(self, text: str) -> None:
        """One line of our own, with the time."""
        line = f"{time.strftime('%H:%M:%S')} {text}\n"
        self._remember(line)
        begins = b"" if self._at_start else b"\n"  # a line of the server that has no end yet
        self._at_start = True
        self._to_file(begins + line.encode("utf-8", "replace"))

    def write(self, data: bytes) -> None:
        """Bytes as the server wrote them to standard error; in the file each line has its time before it."""
        # The tail is enough for the lines kept in memory, whatever the amount.
        self._remember(data[-MOST_LINES * 200 :].decode("utf-8", "replace"))
        self._to_file(data, stamped=True)

    def _remember(self, text: str) -> None:
        text = self._rest + text
        *whole, rest = text.split("\n")
        self._lines.extend(line[:LONGEST_LINE] for line in whole[-MOST_LINES:])
        self._rest = rest[-LONGEST_LINE:]

    def _stamped(self, data: bytes) -> bytes:
        stamp = time.strftime("%H:%M:%S | ").encode()
        ends = data.endswith(b"\n")
        lines = data.removesuffix(b"\n").replace(b"\n", b"\n" + stamp)
        begins, self._at_start = self._at_start, ends
        return (stamp if begins else b"") + lines + (b"\n" if ends else b"")

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
            data = self._stamped(data)
        try:
            self._append(data)
        except OSError:
            self.close()

    def _append(self, data: bytes) -> None:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(self.path, flags, 0o600)
            self._size = os.fstat(self._file).st_size
        elif self._size + len(data) > LARGEST_FILE:
            self.close()
            self.path.replace(self.path.with_name(f"{self.path.name}.1"))
            self._append(data)
            return
        self._size += os.write(self._file, data)

    def close(self) -> None:
        """Closes the file; a later write opens it again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

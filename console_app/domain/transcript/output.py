"""The newest output of a running call, as a person would see it: bounded, and written over where it says so."""

from __future__ import annotations

from console_app.domain import events as ev
from console_app.domain import safe_text

MOST_KEPT = 2**16  # characters of a running call
KEPT_AFTER_THE_END = 2**13


class OutputTail:
    """The newest output of one call. `received` are the bytes of it so far, kept or not."""

    __slots__ = ("_length", "_pieces", "_stream", "received")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._stream: ev.OutputStream = "text"
        self.received = 0

    def __str__(self) -> str:
        if len(self._pieces) > 1:
            self._pieces[:] = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def add(self, stream: ev.OutputStream, text: str, offset: int) -> None:
        """Add what came `offset` bytes after the beginning; a line says how much is missing before it."""
        missing = offset - self.received
        self.received = max(offset, self.received) + safe_text.size_of(text)
        in_a_line = bool(self._pieces) and not self._pieces[-1].endswith("\n")
        lead = "\n" if in_a_line and (missing > 0 or stream != self._stream) else ""
        lead += f"[{missing:,} bytes came too fast to keep]\n" if missing > 0 else ""
        self._stream = stream
        text = lead + text
        self._pieces.append(text)
        self._length += len(text)
        if self._length > 2 * MOST_KEPT:
            self.cut(MOST_KEPT)

    def cut(self, most: int = KEPT_AFTER_THE_END) -> None:
        """Keep the newest `most` characters of it, from the beginning of a line on where one begins there."""
        text = str(self)
        if len(text) > most:
            start = text.find("\n", len(text) - most) + 1
            text = text[start or len(text) - most :]
        self._pieces, self._length = [text], len(text)

    def lines(self, most: int = MOST_KEPT) -> list[str]:
        return safe_text.written_lines(str(self), most)

    def plain_lines(self, most: int) -> list[str]:
        return safe_text.plain_lines(str(self), most)

"""The lines that are typed at the terminal, as its own line editing gives them; the event loop waits for none.

Lines are counted, so that whoever asks something can tell what was typed before it was asked: that is no answer to it.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import select
import termios
from collections.abc import Generator
from contextlib import contextmanager


class TypedLines:
    """Reads the lines that are typed on one descriptor.

    `next` returns a line, or None at the end (Ctrl+D, or a terminal that is gone). Lines are counted by their
    beginning, and `number` is that of the line which was returned last.
    """

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""  # of a line whose end has not come
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._arrived = 0
        self._given = 0
        self._listening = False
        self.number = 0

    def __enter__(self) -> TypedLines:
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_listening()

    @contextmanager
    def left_alone(self) -> Generator[None]:
        """Leave the terminal alone while somebody else reads it."""
        self._stop_listening()
        try:
            yield
        finally:
            self._listen()

    @contextmanager
    def unseen(self) -> Generator[None]:
        """Keep the terminal, where it is one, from showing what is typed."""
        if not os.isatty(self._descriptor):
            yield
            return
        before = termios.tcgetattr(self._descriptor)
        unseen = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, unseen)
        try:
            yield
        finally:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, before)

    @property
    def shows_interrupts(self) -> bool:
        """Tell whether the terminal shows a Ctrl+C as `^C`, and the cursor stands behind it."""
        if not os.isatty(self._descriptor):
            return False
        shown = termios.ECHO | termios.ECHOCTL
        return termios.tcgetattr(self._descriptor)[3] & shown == shown

    def newest(self) -> int:
        """The number of the newest line that is typed by now, read or not: those above it are typed from now on."""
        while self._listening and self._read():
            pass
        return self._arrived

    async def next(self) -> str | None:
        """The next line; one that ends in a backslash goes on in the line behind it."""
        parts: list[str] = []
        while (line := await self._lines.get()) is not None:
            self._given += 1
            if not parts:
                self.number = self._given
            if not line.endswith("\\"):
                return "\n".join((*parts, line))
            parts.append(line[:-1])
        return None

    def _read(self) -> bool:
        """Read the text typed so far. Return False where there is none, as when `newest` took it before the loop's turn
        came."""
        if not select.select([self._descriptor], [], [], 0)[0]:
            return False
        try:
            data = os.read(self._descriptor, 65536)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._stop_listening()
            self._lines.put_nowait(None)
            return True
        *whole, self._begun = (self._begun + self._decoder.decode(data)).split("\n")
        self._arrived += len(whole)
        for line in whole:
            self._lines.put_nowait(line.removesuffix("\r"))
        return True

    def _listen(self) -> None:
        self._loop.add_reader(self._descriptor, self._read)
        self._listening = True

    def _stop_listening(self) -> None:
        self._loop.remove_reader(self._descriptor)
        self._listening = False

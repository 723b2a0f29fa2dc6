"""The lines that are typed at the terminal, as its own line editing gives them; the event loop waits for none."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Generator
from contextlib import contextmanager


class TypedLines:
    """Of one descriptor. `next` gives a line, None for the end (Ctrl+D, or a terminal that is gone)."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""  # of a line whose end has not come
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    def __enter__(self) -> TypedLines:
        self._loop.add_reader(self._descriptor, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.remove_reader(self._descriptor)

    @contextmanager
    def left_alone(self) -> Generator[None]:
        """Somebody else reads the terminal."""
        self._loop.remove_reader(self._descriptor)
        try:
            yield
        finally:
            self._loop.add_reader(self._descriptor, self._read)

    async def next(self) -> str | None:
        """The next line; one that ends in a backslash goes on in the line behind it."""
        parts: list[str] = []
        while (line := await self._lines.get()) is not None:
            if not line.endswith("\\"):
                return "\n".join((*parts, line))
            parts.append(line[:-1])
        return None

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._descriptor)
            self._lines.put_nowait(None)
            return
        *whole, self._begun = (self._begun + self._decoder.decode(data)).split("\n")
        for line in whole:
            self._lines.put_nowait(line.removesuffix("\r"))

"""The text of an answer on its way to its reader, in slices and, where much is read at once, in a thread: nothing that
a model writes holds the event loop, on which keys are answered and other calls go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from console_app.domain.chunks import Chunk
from console_app.providers.text_protocol.reading import AnswerReader

SLICE = 1000  # characters that are read at once: 10 ms of whatever is written
LONG = 50_000  # characters of an answer, or of what was given, that are read in a thread


class ReadingPace:
    """Feeds one reader. Behind much text that waits for its end, as in a long call, pieces are kept until they make up
    a slice: what they would tell before is only that the call grows.
    """

    def __init__(self, reader: AnswerReader) -> None:
        self._reader = reader
        self._kept = ""
        self._since = 0  # characters since others had their turn: pieces may all have come at once

    async def feed(self, text: str) -> AsyncGenerator[Chunk]:
        """The chunks that more text gives, with a turn for others between any two slices."""
        for start in range(0, len(text), SLICE):
            if self._since >= SLICE:
                self._since = 0
                await asyncio.sleep(0)
            self._since += min(SLICE, len(text) - start)
            piece = self._kept + text[start : start + SLICE]
            work = self._reader.work(piece)
            self._kept = piece if work == "much" and len(piece) < SLICE else ""
            if self._kept:
                continue
            for chunk in await self._read(piece, alone=work == "none"):
                yield chunk

    async def rest(self) -> list[Chunk]:
        """The chunks that what was kept gives: for when something else than text comes."""
        piece, self._kept = self._kept, ""
        return await self._read(piece, alone=False) if piece else []

    async def _read(self, piece: str, *, alone: bool) -> list[Chunk]:
        return self._reader.feed(piece) if alone else await asyncio.to_thread(self._reader.feed, piece)

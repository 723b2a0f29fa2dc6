"""When one who reads a stream wakes the one who wants it: at once for what is new, a moment later for more of the same.

At 300 tokens a second each would otherwise be a look of its own at everything between the wire and the screen, which
shows 20 pictures a second.
"""

from __future__ import annotations

import asyncio
from typing import Final

HOLD: Final = 1 / 60  # seconds between two looks at text that only grows
MOST_HELD: Final = 2**15  # bytes that are read ahead of who wants them


class ReadAhead:
    """Of one stream, with one reader and one who wants it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._wanted = asyncio.Event()
        self._held = 0
        self._looked_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def took(self, size: int, urgent: bool) -> bool:
        """So many bytes more were read; whether the reader is to wait for `room`. `urgent`: more came of them than text
        that grows."""
        self._held += size
        full = self._held >= MOST_HELD
        if urgent or full:
            self.tell()
        elif self._timer is None and not self._news.is_set():
            wait = self._looked_at + HOLD - self._loop.time()
            if wait <= 0:
                self.tell()
            else:
                self._timer = self._loop.call_later(wait, self.tell)
        return full

    def tell(self) -> None:
        """Wakes who waits for news."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._news.set()

    async def news(self) -> None:
        """Returns when there is something to look at; what was read before that has been looked at."""
        self._held = 0
        self._wanted.set()
        await self._news.wait()
        self._news.clear()
        self._looked_at = self._loop.time()

    async def room(self) -> None:
        """Returns when what was read has been looked at."""
        self._wanted.clear()
        await self._wanted.wait()

"""Holds back all conversations that ask one endpoint together, once it refuses one for being too fast.

After a 429 nobody asks until the time that it named, and then half as many at once as before; each answer that comes
lets in a little more. How many requests a minute there are, the headers of answers say.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime

_LIMITS = ("x-ratelimit-limit-requests", "anthropic-ratelimit-requests-limit", "x-ratelimit-limit", "ratelimit-limit")
_KINDS = ("requests", "tokens")
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_LONGEST = 60.0  # seconds that a header alone holds requests back
_SMOOTH = 0.1  # weight of the newest request in the mean duration
_MOST = 256  # at once, however much an endpoint allows


class RateLimiter:
    """The limits of one endpoint, as far as they are known. Belongs to one event loop."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._running = 0
        self._most = math.inf
        self._until = 0.0
        self._freed = asyncio.Event()
        self._a_minute: int | None = None
        self._duration: float | None = None  # seconds of a request, on average
        self.refusals = 0

    @asynccontextmanager
    async def request(self) -> AsyncGenerator[None]:
        """Wait for its turn; open while a request is under way."""
        while True:
            if (left := self._until - self._clock()) > 0:
                await self._sleep(left)
            elif self._running >= self._most:
                self._freed.clear()
                await self._freed.wait()
            else:
                break
        self._running += 1
        began = self._clock()
        try:
            yield
            self._ended(self._clock() - began)
        finally:
            self._running -= 1
            self._freed.set()

    def refused(self, seconds: float) -> None:
        """Hold everybody back for `seconds`, as the endpoint wants."""
        now = self._clock()
        if now >= self._until:  # the first of those that were refused together
            self._most = max(1.0, min(self._most, self._running) / 2)
        self._until = max(self._until, now + seconds)
        self.refusals += 1

    def learned(self, headers: Mapping[str, str]) -> None:
        """Read what an answer's headers say of limits."""
        for name in _LIMITS:
            found = re.match(r"\d+", headers.get(name, ""))
            if found and int(found[0]) > 0:
                self._a_minute = int(found[0])
                break
        for kind in _KINDS:
            for left, reset in (
                (f"x-ratelimit-remaining-{kind}", f"x-ratelimit-reset-{kind}"),
                (f"anthropic-ratelimit-{kind}-remaining", f"anthropic-ratelimit-{kind}-reset"),
            ):
                if headers.get(left) == "0" and (wait := _seconds(headers.get(reset, ""))):
                    self._until = max(self._until, self._clock() + min(wait, _LONGEST))

    @property
    def fits(self) -> int | None:
        """Tell how many requests at once use up what the endpoint allows in a minute, as long as they take so far; None
        while it hasn't said."""
        if self._a_minute is None or self._duration is None:
            return None
        return max(1, min(math.ceil(self._a_minute / 60 * self._duration), _MOST))

    @property
    def paused(self) -> float:
        """Return the seconds until the next request may go out; 0 where it may now."""
        return max(self._until - self._clock(), 0.0)

    def _ended(self, seconds: float) -> None:
        known = self._duration
        self._duration = seconds if known is None else known + (seconds - known) * _SMOOTH
        if self._most < _MOST:
            self._most += 1 / self._most


def _seconds(text: str) -> float:
    """Return `6m0s`, `20ms`, `1.5` or an instant of RFC 3339 as seconds from now; 0 where it is none."""
    text = text.strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if text and (found := _DURATION.fullmatch(text)):
        hours, minutes, seconds, milliseconds = (float(part or 0) for part in found.groups())
        return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
    try:
        return max(datetime.fromisoformat(text).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return 0.0

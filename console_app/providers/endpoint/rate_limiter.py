"""Holds back all conversations that ask one endpoint with one key, once it refuses one of them for being too fast.

After a refusal nobody asks until the time that it named, and then half as many at once as before; each answer that
comes lets in a little more. Who would have to wait for longer than a turn does is refused here, without asking, but for
one look in a minute: a person may have paid meanwhile. The headers of answers say how many requests a minute there are.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager

from console_app.domain.settings import ProviderConfig
from console_app.providers.faults import waits

LONGEST_WAIT = 60.0  # seconds; an endpoint that wants longer ends the turn, which says when to come back
_LIMITS = ("x-ratelimit-limit-requests", "anthropic-ratelimit-requests-limit", "x-ratelimit-limit", "ratelimit-limit")
_KINDS = ("requests", "tokens")
_SMOOTH = 0.1  # weight of the newest request in the mean duration
_MOST = 256  # at once, however much an endpoint allows


class HeldBack(Exception):
    """A request was not sent, as the endpoint wants none for `seconds`; `said` are the words in which it refused an
    earlier one."""

    def __init__(self, said: str, seconds: float) -> None:
        super().__init__("held back")
        self.said, self.seconds = said, seconds


class RateLimiter:
    """The limits of one endpoint, as far as they are known. Belongs to one event loop."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._running = self._asking = 0
        self._most = math.inf
        self._until = 0.0
        self._closed: dict[str, tuple[float, float, str]] = {}  # a model's: until when, the next look, and why
        self._freed = asyncio.Event()
        self._a_minute: int | None = None
        self._duration: float | None = None  # seconds of a request, on average
        self.refusals = 0

    @contextmanager
    def asks(self) -> Generator[None]:
        """Open while somebody has something to ask, all tries together."""
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1

    @property
    def shared(self) -> bool:
        """Tell whether others ask, too: they may be why the endpoint refuses."""
        return self._asking > 1

    @asynccontextmanager
    async def request(self, model: str = "") -> AsyncGenerator[None]:
        """Wait for its turn; open while a request is under way. Raises HeldBack."""
        while True:
            self._look(model)
            if (left := self.paused) > 0:
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
            took, known = self._clock() - began, self._duration
            self._duration = took if known is None else known + (took - known) * _SMOOTH
            if self._most < _MOST:
                self._most += 1 / self._most
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

    def closed(self, model: str, seconds: float, said: str) -> None:
        """Send nothing more for `model` for longer than a turn waits. Others may have limits of their own."""
        now = self._clock()
        self._closed[model] = (now + seconds, now + LONGEST_WAIT, said)

    def _look(self, model: str) -> None:
        until, again, said = self._closed.get(model, (0.0, 0.0, ""))
        now = self._clock()
        if now < min(until, again):
            raise HeldBack(said, until - now)
        if now < until:
            self._closed[model] = (until, now + LONGEST_WAIT, said)
        else:
            self._closed.pop(model, None)

    def learned(self, headers: Mapping[str, str]) -> None:
        """Read what an answer's headers say of limits."""
        for name in _LIMITS:
            found = re.match(r"\d+", headers.get(name, ""))
            if found and int(found[0]) > 0:
                self._a_minute = int(found[0])
                break
        if wait := waits.longest(*(waits.used_up(headers, kind) for kind in _KINDS)):
            self._until = max(self._until, self._clock() + min(wait, LONGEST_WAIT))

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


class EndpointLimits:
    """The limiters of all endpoints that this process asks, each with one key: for all models there, in any format."""

    def __init__(self) -> None:
        self._limiters: dict[tuple[object, ...], RateLimiter] = {}

    def of(self, config: ProviderConfig) -> RateLimiter:
        """Return the limiter of an endpoint, the same one for all who ask."""
        place = config.identity.partition(" ")[2]
        key = (place, config.api_key, *sorted(config.headers.items()))
        return self._limiters.setdefault(key, RateLimiter())

    @property
    def fit(self) -> int | None:
        """Tell how many requests at once all endpoints together allow; None while none has said."""
        known = [fits for limiter in self._limiters.values() if (fits := limiter.fits) is not None]
        return sum(known) if known else None

    @property
    def paused(self) -> float:
        """Return the seconds for which every endpoint holds its requests back; 0 where one doesn't."""
        return min((limiter.paused for limiter in self._limiters.values()), default=0.0)

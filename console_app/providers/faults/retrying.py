"""When a failed request is sent again, and after how long: as long as nothing of its answer was shown.

Only what may pass by itself is tried again: rate limits, overload, errors of the server and lost connections. A
request that was wrong (400 and its like) never is.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

LONGEST_WAIT = 60.0  # seconds; an endpoint that wants longer ends the turn, which says when to come back
FIRST_DELAY = 0.5
LONGEST_DELAY = 20.0
NEVER_RETRIED = frozenset({400, 401, 403, 404, 413, 422})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How to wait. Tests pass a `sleep` that returns at once."""

    max_tries: int = 5
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random

    def delay(self, tries: int, retry_after: float | None) -> float:
        """Seconds before the next try, when `tries` have failed: what the endpoint asked for, else growing ones."""
        if retry_after is not None and retry_after > 0:
            return retry_after
        # Full backoff less up to a quarter, so that many clients don't come back at the same instant.
        return min(FIRST_DELAY * 2 ** (tries - 1), LONGEST_DELAY) * (1 - self.jitter() / 4)


def status_may_pass(status: int, headers: Mapping[str, str]) -> bool:
    """Whether a request refused with `status` is worth another try; the server's `x-should-retry` is believed."""
    if status in NEVER_RETRIED:
        return False
    advice = headers.get("x-should-retry", "").lower()
    if advice in ("true", "false"):
        return advice == "true"
    return status in (408, 409, 425, 429) or (status >= 500 and status not in (501, 505))


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Seconds that the endpoint asks to wait (`retry-after-ms`, or `Retry-After` in seconds or as an HTTP date)."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if value is None:
        return None
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        return max(parsedate_to_datetime(value).timestamp() - now(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < 10**9 else None

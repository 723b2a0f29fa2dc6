"""Decides whether the console goes on after an internal error: yes, unless they come so fast that it is of no use."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable

from console_app.domain import one_line

MANY = 12  # errors
SOON = 10.0  # seconds

log = logging.getLogger(__name__)


class Survival:
    """Counts internal errors."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque(maxlen=MANY)

    def goes_on(self, error: BaseException) -> bool:
        """Tell whether the console goes on after `error`, which is logged."""
        now = self._clock()
        self._times.append(now)
        if len(self._times) == MANY and now - self._times[0] < SOON:
            return False
        log.error("the console went on after an internal error", exc_info=error)
        return True


def line_of(error: BaseException) -> str:
    """Say in a line that the console survived an error."""
    return f"Fanout made a mistake and went on: {one_line(repr(error), 160)}. /log has the details."

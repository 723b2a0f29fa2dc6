"""The time of day when the program began, and what passed since. Elapsed times are differences of these: a clock that
is set back must not make them negative, nor one that is set forward end what has just begun."""

from __future__ import annotations

import time

# Where there is one, the clock that goes on while the machine sleeps.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_BEGAN = time.time() - time.clock_gettime(_CLOCK)


def steady_time() -> float:
    """Seconds since the epoch."""
    return _BEGAN + time.clock_gettime(_CLOCK)

"""The time that keys are judged by, and what is to come when some of it has passed. A test hands in its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Later(Protocol):
    """A call that comes once, after a while."""

    def stop(self) -> None:
        """Call it off."""
        ...


class Timers(Protocol):
    """An owner of timers, a widget say, which ends them with itself."""

    @property
    def is_running(self) -> bool:
        """Tell whether it has begun and not ended."""
        ...

    def set_timer(self, delay: float, callback: Callable[[], object]) -> Later:
        """Calls `callback` once, after `delay` seconds."""
        ...


class Timing:
    """Real time."""

    def now(self) -> float:
        """Seconds of a clock that nobody sets."""
        return time.monotonic()

    def later(self, timers: Timers, seconds: float, run: Callable[[], object]) -> Later:
        """Calls `run` once, unless the owner of `timers` is gone by then."""
        return timers.set_timer(seconds, run)

"""The time that keys are judged by, and what is to come when some of it has passed. A test hands in its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from textual.message_pump import MessagePump


class Later(Protocol):
    """What comes once, after a while; `Timer` is one."""

    def stop(self) -> None:
        """It is not to come any more."""
        ...


class Timing:
    """Real time."""

    def now(self) -> float:
        """Seconds of a clock that nobody sets."""
        return time.monotonic()

    def later(self, pump: MessagePump, seconds: float, run: Callable[[], object]) -> Later:
        """Calls `run` once, unless `pump` (a widget or screen) is gone by then."""
        return pump.set_timer(seconds, run)

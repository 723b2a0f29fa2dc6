"""Time for the keys of a console that passes only when a test says so."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial

from textual.message_pump import MessagePump

from console_app.console.services import Timing
from tests.tui.quiet import quiet


@dataclass(eq=False)
class _Due:
    at: float
    pump: MessagePump
    run: Callable[[], object]
    stopped: bool = False

    def stop(self) -> None:
        self.stopped = True


class DrivenTime(Timing):
    """Stands still until `pass_by`."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._due: list[_Due] = []

    def now(self) -> float:
        return self._now

    def later(self, pump: MessagePump, seconds: float, run: Callable[[], object]) -> _Due:
        due = _Due(self._now + seconds, pump, partial(copy_context().run, run))
        self._due.append(due)
        return due

    async def pass_by(self, seconds: float = 1.0) -> None:
        """Lets time pass. What falls due happens in its order, each with all that comes of it."""
        end = self._now + seconds
        await quiet()
        while due := min((one for one in self._due if one.at <= end), key=lambda one: one.at, default=None):
            self._due.remove(due)
            self._now = max(self._now, due.at)
            if not due.stopped and due.pump.is_running:
                due.run()
                await quiet()
        self._now = end

"""Goes through the approval modes by key, so that nobody passes by a looser mode on the way to a stricter one.

From auto, ask is two keys away and yolo lies between. So a stricter mode holds at once; a looser one holds when it was
stayed on for half a second, and lets what waits run then, as far as it covers it. A held key ends on no looser mode.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from console_app.domain.approvals import ApprovalMode
from console_app.engine.approval_gate import ApprovalGate
from console_app.tui.settled_keys import ALONE, SETTLE

_MODES = list(ApprovalMode)  # the strictest first


class Later(Protocol):
    """What runs once, after a while; `Timer` is one."""

    def stop(self) -> None:
        """It is not to run any more."""
        ...


class ModeSwitch:
    """Of one chat screen. `later` runs something after seconds; `settled` is called when a looser mode holds."""

    def __init__(
        self,
        gate: ApprovalGate,
        later: Callable[[float, Callable[[], None]], Later],
        settled: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gate = gate
        self._later = later
        self._settled = settled
        self._clock = clock
        self._wanted: ApprovalMode | None = None
        self._timer: Later | None = None
        self._pressed = float("-inf")

    @property
    def shown(self) -> ApprovalMode:
        """The mode you are on, which may be about to hold."""
        return self._wanted or self._gate.mode

    def next(self) -> bool:
        """To the next mode; False for a key that comes too fast behind another, as of a held key."""
        now = self._clock()
        alone, self._pressed = now - self._pressed >= ALONE, now
        wanted = _MODES[(_MODES.index(self.shown) + 1) % len(_MODES)]
        self._forget()
        if not alone:
            return False
        if _MODES.index(wanted) <= _MODES.index(self._gate.mode):
            self._gate.mode = wanted
        else:
            self._wanted = wanted
            self._timer = self._later(SETTLE, self._take)
        return True

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._wanted = self._timer = None

    def _take(self) -> None:
        if self._wanted is not None:
            self._gate.mode = self._wanted
        self._forget()
        self._settled()

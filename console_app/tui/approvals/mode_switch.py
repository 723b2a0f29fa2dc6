"""Goes through the approval modes by key, so that nobody passes by a looser mode on the way to a stricter one.

From auto, ask is three keys away, and plan and yolo lie between. So ask holds at once; a mode further on holds when it
was stayed on for half a second, and decides then about what waits, as far as it covers it. A held key ends on ask.
Plan has a key of its own as well, which goes back to the mode that was there before: none lies between.
"""

from __future__ import annotations

from collections.abc import Callable

from console_app.console.permissions import Permissions
from console_app.console.timing import Later
from console_app.domain.approvals import ApprovalMode
from console_app.tui.widgets.settled_keys import ALONE, SETTLE

_MODES = list(ApprovalMode)  # as the key goes through them


MODE_NOTES = {
    ApprovalMode.ASK: "Approvals: ask. Whatever no rule allows needs approval.",
    ApprovalMode.AUTO: "Approvals: auto. Read-only tools run, the rest needs approval.",
    ApprovalMode.PLAN: "Approvals: plan. Read-only tools run, the rest is denied.",
    ApprovalMode.YOLO: "Approvals: yolo. Every call runs without asking.",
}


class ModeSwitch:
    """Of one chat screen. `later` runs something after seconds; `settled` is called when a mode that
    wasn't taken at once holds, with how many calls that waited it answered."""

    def __init__(
        self,
        permissions: Permissions,
        later: Callable[[float, Callable[[], None]], Later],
        settled: Callable[[int], None],
        clock: Callable[[], float],
    ) -> None:
        self._permissions = permissions
        self._later = later
        self._settled = settled
        self._clock = clock
        self._wanted: ApprovalMode | None = None
        self._timer: Later | None = None
        self._pressed = float("-inf")
        self._before_plan = ApprovalMode.ASK

    @property
    def shown(self) -> ApprovalMode:
        """The mode you are on, which may be about to hold."""
        return self._wanted or self._permissions.mode

    def next(self) -> bool:
        """To the next mode; False for a key that comes too fast behind another, as of a held key."""
        now = self._clock()
        alone, self._pressed = now - self._pressed >= ALONE, now
        wanted = _MODES[(_MODES.index(self.shown) + 1) % len(_MODES)]
        self._forget()
        if not alone:
            return False
        if _MODES.index(wanted) <= _MODES.index(self._permissions.mode):
            self._use(wanted)
        else:
            self._wanted = wanted
            self._timer = self._later(SETTLE, self._take)
        return True

    def toggle_plan(self) -> int:
        """Into plan mode at once, or back to the mode before it; how many of the calls that waited it answered."""
        self._forget()
        wanted = self._before_plan if self._permissions.mode is ApprovalMode.PLAN else ApprovalMode.PLAN
        return self._use(wanted)

    def _use(self, wanted: ApprovalMode) -> int:
        if wanted is ApprovalMode.PLAN:
            self._before_plan = self._permissions.mode
        return self._permissions.use_mode(wanted)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._wanted = self._timer = None

    def _take(self) -> None:
        released = self._use(self.shown)
        self._forget()
        self._settled(released)

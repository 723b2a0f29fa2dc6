"""Goes through the approval modes by key, so that nobody passes by a looser mode on the way to a stricter one.

From auto, ask is two keys away and yolo lies between. So a stricter mode holds at once; a looser one holds when it was
stayed on for half a second, and lets what waits run then, as far as it covers it. A held key ends on no looser mode.
"""

from __future__ import annotations

from collections.abc import Callable

from console_app.conversation.permissions import Permissions
from console_app.domain.approvals import ApprovalMode
from console_app.tui.widgets.settled_keys import ALONE, SETTLE
from console_app.tui.widgets.timing import Later

_MODES = list(ApprovalMode)  # the strictest first


MODE_NOTES = {
    ApprovalMode.ASK: "Approvals: ask. Whatever no rule allows needs approval.",
    ApprovalMode.AUTO: "Approvals: auto. Read-only tools run, the rest needs approval.",
    ApprovalMode.YOLO: "Approvals: yolo. Every call runs without asking.",
}


class ModeSwitch:
    """Of one chat screen. `later` runs something after seconds; `settled` is called when a looser
    mode holds, with how many calls that waited run now."""

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
            self._permissions.use_mode(wanted)
        else:
            self._wanted = wanted
            self._timer = self._later(SETTLE, self._take)
        return True

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._wanted = self._timer = None

    def _take(self) -> None:
        released = self._permissions.use_mode(self.shown)
        self._forget()
        self._settled(released)

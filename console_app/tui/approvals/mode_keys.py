"""The keys of the approval modes, and what is said of the mode that you are on."""

from __future__ import annotations

from collections.abc import Callable

from console_app.console.permissions import Permissions
from console_app.console.timing import Later
from console_app.console.ui_port import UiPort
from console_app.domain.approvals import ApprovalMode
from console_app.tui.approvals.mode_switch import MODE_NOTES, ModeSwitch


class ModeKeys:
    """Of one chat screen. `modes` is where they have gone to."""

    def __init__(
        self,
        permissions: Permissions,
        ui: UiPort,
        later: Callable[[float, Callable[[], None]], Later],
        clock: Callable[[], float],
    ) -> None:
        self._ui = ui
        self.modes = ModeSwitch(permissions, later, self._settled, clock)

    def next(self) -> None:
        """Shift+Tab: ask, auto, plan, yolo, ask."""
        said = self.modes.shown
        if self.modes.next() or self.modes.shown is not said:  # a key that came too fast takes back what was said
            self._ui.toast(MODE_NOTES[self.modes.shown], seconds=2)
        self._ui.changed()

    def toggle_plan(self) -> None:
        """Into plan mode and out of it, to the mode before."""
        answered = self.modes.toggle_plan()
        self._ui.toast(MODE_NOTES[self.modes.shown], seconds=2)
        self._settled(answered)

    def _settled(self, answered: int) -> None:
        """Another mode holds from now on, also for what waits."""
        self._ui.changed()
        if not answered:
            return
        calls = "1 call that waited" if answered == 1 else f"{answered} calls that waited"
        if self.modes.shown is ApprovalMode.PLAN:
            does = f"{calls} {'was' if answered == 1 else 'were'} decided"
        else:
            does = f"{calls} {'runs' if answered == 1 else 'run'} now"
        self._ui.toast(f"Approvals: {self.modes.shown.value}. {does}.")

"""Goes through the approval modes by key: a strip shows them all, and one holds when the key was let go.

From auto, ask is three keys away, and plan and yolo lie between. So a mode holds once it was stayed on for half a
second; none is passed by, and a held key ends where it began. Yolo is asked about once a session. Plan has a key of its
own as well, which goes back to the mode that was there before.
"""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content

from console_app.console import Later, Permissions, Timing
from console_app.domain import ApprovalMode
from console_app.tui.asking.settled_keys import ALONE
from console_app.tui.ui import Ui
from console_app.tui.widgets.key_hints import KeyHints

READ = 2.5  # seconds that the strip stays behind the last key
_MODES = list(ApprovalMode)  # as the key goes through them
_YOLO = "In yolo every call runs unasked, but those that a rule or require_approval asks for."


class ModeSwitch:
    """Switches the approval mode of one chat screen. `later` runs something after some seconds; `show` draws the mode
    that you are on, or nothing (None)."""

    def __init__(
        self,
        permissions: Permissions,
        ui: Ui,
        timing: Timing,
        later: Callable[[float, Callable[[], None]], Later],
        show: Callable[[ApprovalMode | None], None],
    ) -> None:
        self._permissions = permissions
        self._ui = ui
        self._timing = timing
        self._later = later
        self._show = show
        self._wanted: ApprovalMode | None = None
        self._timers: list[Later] = []
        self._pressed = float("-inf")
        self._agreed = permissions.mode is ApprovalMode.YOLO
        self.on_change: Callable[[], None] = lambda: None  # for who shows the mode besides

    @property
    def shown(self) -> ApprovalMode:
        """The mode you are on, which may be about to hold."""
        return self._wanted or self._permissions.mode

    @staticmethod
    def strip(mode: ApprovalMode) -> Content:
        styles = {one: "bold reverse" if one is mode else "$foreground" for one in _MODES}
        return Content.assemble("mode ", *(Content.styled(f" {one.value} ", styles[one]) for one in _MODES))

    def next(self) -> None:
        """Go to the next mode. A key too fast behind another, as when held down, goes back to the mode that holds."""
        now = self._timing.now()
        alone, self._pressed = now - self._pressed >= ALONE, now
        wanted = _MODES[(_MODES.index(self.shown) + 1) % len(_MODES)]
        self._forget()
        if alone:
            self._wanted = wanted
            self._timers.append(self._later(KeyHints.SETTLE, self._let_go))
        self._tell()

    def toggle_plan(self) -> None:
        self._forget()
        self._use(self._permissions.plan_or_back)

    def _let_go(self) -> None:
        wanted = self.shown
        if wanted is ApprovalMode.YOLO is not self._permissions.mode and not self._agreed:
            self._ui.open_beside(self._ask)
        else:
            self._use(wanted)

    async def _ask(self) -> None:
        from console_app.tui.asking.consent import ConsentDialog

        words = "run everything unasked", "stay as it is"
        self._agreed = await self._ui.push(ConsentDialog(_YOLO, self._timing, "Run everything unasked?", *words))
        if self._agreed and self._wanted is ApprovalMode.YOLO:
            self._use(ApprovalMode.YOLO)
        else:
            self._forget()
            self._tell()

    def _use(self, wanted: ApprovalMode) -> None:
        self._permissions.use_mode(wanted)
        self._wanted = None
        self._tell()

    def _tell(self) -> None:
        self._show(self.shown)
        self._timers.append(self._later(READ, lambda: self._show(None)))
        self._ui.changed()
        self.on_change()

    def _forget(self) -> None:
        for timer in self._timers:
            timer.stop()
        self._timers.clear()
        self._wanted = None

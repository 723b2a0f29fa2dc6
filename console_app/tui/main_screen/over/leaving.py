"""Escape and Ctrl+C: what they close, clear or stop, and what the second of two does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.tui.main_screen.base import MainScreen
    from console_app.tui.main_screen.console_ui import ConsoleUi

AGAIN = 2.0  # seconds in which a second key counts as one


class Leaving:
    """Decides what Escape and Ctrl+C do on one chat screen.

    `stop` stops what runs, and tells whether something did. `rewind` opens that dialog, `clock` returns seconds, and
    `beside` the number of calls in the background.
    """

    def __init__(
        self,
        screen: MainScreen,
        ui: ConsoleUi,
        stop: Callable[[], bool],
        rewind: Callable[[], None],
        clock: Callable[[], float],
        beside: Callable[[], int],
    ) -> None:
        self._screen = screen
        self._ui = ui
        self._stop = stop
        self._rewind = rewind
        self._clock = clock
        self._beside = beside
        self._quit_at = float("-inf")
        self._interrupted_at = self._escaped_at = float("-inf")

    def escape(self) -> None:
        """Escape while nothing runs: closes the completion list or an agent, else goes back to the prompt; twice in
        an empty one rewinds."""
        screen, now = self._screen, self._clock()
        if screen.prompt_field.close_completion() or self._ui.leave_agent():
            return
        prompt = screen.prompt
        empty = prompt.has_focus and not prompt.text and bool(self._ui.shown.transcript.turns)
        if empty and now - self._escaped_at < AGAIN:
            screen.app.clear_notifications()  # the one that asked for the second key
            self._rewind()
        elif empty:
            self._ui.toast("Press Esc again to rewind to a message.", 2)
        self._escaped_at = now if empty else float("-inf")
        prompt.focus()

    def quit(self) -> None:
        """Quit; where calls run in the background, which would end with it, once that was asked for twice."""
        beside, now = self._beside(), self._clock()
        again, self._quit_at = now - self._quit_at < AGAIN, now
        if beside and not again:
            them = "a call that runs" if beside == 1 else f"{beside} calls that run"
            self._ui.toast(f"Quitting ends {them} in the background. Quit again to do so.")
        else:
            self._screen.app.exit(0)

    def interrupt(self, selected: str) -> None:
        """Ctrl+C: copy the selection, else clear the prompt, else stop the turn; pressed again with nothing left,
        quit."""
        screen, now = self._screen, self._clock()
        prompt = screen.prompt
        if selected := selected or prompt.selected_text:
            self._ui.copy(selected)
            screen.clear_selection()
            return
        again, self._interrupted_at = now - self._interrupted_at < AGAIN, now
        if prompt.text:
            prompt.sent.leave()
            prompt.put("")
        elif self._stop():
            pass
        elif again:
            self.quit()
        else:
            self._ui.toast("Press Ctrl+C again to quit.")

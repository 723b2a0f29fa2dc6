"""The keys of the main screen. What they act on is put together in `chat.py`; this is only what each of them does."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from functools import partial

from textual import getters

from console_app.domain.approvals import ApprovalMode
from console_app.tui.commands.registry import CommandRegistry
from console_app.tui.conversation.view import ConversationView
from console_app.tui.decisions import Decisions
from console_app.tui.dialogs import Dialogs
from console_app.tui.human.board import HumanBoard
from console_app.tui.mode_switch import ModeSwitch
from console_app.tui.screens.main import MainScreen
from console_app.tui.services import ConsoleServices
from console_app.tui.turn_driver import TurnDriver
from console_app.tui.widgets.approval_board import ApprovalBoard
from console_app.tui.widgets.question_board import QuestionBoard
from console_app.tui.widgets.todo_pane import TodoPane

AGAIN = 2.0  # seconds in which a second Ctrl+C quits

_MODES = {
    ApprovalMode.ASK: "Approvals: ask. Whatever no rule allows waits for you.",
    ApprovalMode.AUTO: "Approvals: auto. Read-only tools run, the rest waits for you.",
    ApprovalMode.YOLO: "Approvals: yolo. Every call runs without asking.",
}


class ChatKeys(MainScreen):
    """Actions of the keys, over the attributes that the screen sets."""

    view = getters.query_one("#conversation", ConversationView)
    board = getters.query_one(ApprovalBoard)
    human = getters.query_one(HumanBoard)
    questions = getters.query_one(QuestionBoard)
    todo = getters.query_one(TodoPane)

    services: ConsoleServices
    commands: CommandRegistry
    driver: TurnDriver
    dialogs: Dialogs
    decisions: Decisions
    modes: ModeSwitch
    _interrupted_at = float("-inf")

    @abstractmethod
    def action_command(self, name: str) -> None:
        """A key that does what a slash command does."""

    @abstractmethod
    def refresh_status(self) -> None:
        """Something that the status bar shows has changed."""

    @property
    def talking(self) -> bool:
        """Whether there is a conversation on screen."""
        return self.has_class("-talking")

    def toast(self, text: str, seconds: float = 4) -> None:
        """A line that goes away by itself."""
        self.notify(text, markup=False, timeout=seconds)

    def copy(self, text: str) -> None:
        """Puts `text` on the clipboard (OSC 52: over ssh and tmux too, where the terminal allows it)."""
        self.app.copy_to_clipboard(text)
        lines = text.count("\n") + 1
        self.toast(f"Copied {lines:,} lines." if lines > 1 else f"Copied {len(text):,} characters.")

    def quit(self) -> None:
        """Leaves the program; a running turn is stopped on the way."""
        self.app.exit(0)

    def open_dialog(self, dialog: Callable[..., Awaitable[None]], *arguments: object) -> None:
        """Opens one of `dialogs`; it runs until its dialog is closed."""
        self.run_worker(partial(dialog, *arguments), group="dialog", exclusive=True)

    def action_stop(self) -> None:
        """Escape while a turn runs."""
        self.driver.cancel()

    def action_close(self) -> None:
        """Escape otherwise: closes the completion list, else goes back to the prompt."""
        if not self.box.close_completion():
            self.prompt.focus()

    def action_steer(self) -> None:
        """Ctrl+S: what is in the prompt joins the running turn at its next step."""
        if text := self.prompt.expanded().strip():
            self.steer(text)

    @abstractmethod
    def steer(self, text: str) -> None:
        """Sends `text` into the running turn."""

    def action_interrupt(self) -> None:
        """Ctrl+C: copies a selection, clears the prompt, stops the turn; pressed again with nothing left, quits."""
        if selected := self.get_selected_text() or self.prompt.selected_text:
            self.copy(selected)
            self.clear_selection()
            return
        now = time.monotonic()
        again, self._interrupted_at = now - self._interrupted_at < AGAIN, now
        if self.prompt.text:
            self.prompt.sent.leave()
            self.prompt.put("")
        elif self.driver.cancel():
            pass
        elif again:
            self.quit()
        else:
            self.toast("Press Ctrl+C again to quit.")

    def action_quit_if_empty(self) -> None:
        """Ctrl+D out of the prompt: quits like in it, unless something is written there."""
        if not self.prompt.text:
            self.quit()

    def action_move_cursor(self, delta: int) -> None:
        """Alt+Up, Alt+Down."""
        if self.talking:
            self.view.focus()
            self.view.move_cursor(delta)

    def action_scroll_conversation(self, direction: int) -> None:
        """PgUp, PgDn in the prompt."""
        target = self.view if self.talking else self.welcome
        if direction < 0:
            target.scroll_page_up(animate=False)
        else:
            target.scroll_page_down(animate=False)

    def action_toggle_all(self) -> None:
        """Ctrl+O."""
        self.view.toggle_all()

    def action_cycle_mode(self) -> None:
        """Shift+Tab: ask, auto, yolo, ask."""
        if self.modes.next():
            self.toast(_MODES[self.modes.shown], seconds=2)
        self.refresh_status()

    def mode_settled(self) -> None:
        """A looser mode holds from now on, also for what waits."""
        self.refresh_status()
        if released := self.decisions.reconsider():
            runs = "1 call that waited runs" if released == 1 else f"{released} calls that waited run"
            self.toast(f"Approvals: {self.modes.shown.value}. {runs} now.")

    def action_search_history(self) -> None:
        """Ctrl+R."""
        self.open_dialog(self.dialogs.history)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Which keys do something now; those that don't are neither named nor taken."""
        match action:
            case "stop":
                return self.driver.busy and not self.box.popup.is_open
            case "steer":
                return self.driver.busy
            case "toggle_all":
                return self.talking
            case _:
                return True

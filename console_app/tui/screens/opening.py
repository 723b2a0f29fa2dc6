"""The main screen before there is anything to talk to: the same picture, with a prompt that can be written in.

It acts on nothing. What is more than writing waits for the chat screen, which takes over what was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.widgets import TextArea

from console_app.tui.completion import Completion, Token
from console_app.tui.screens.main import MainScreen
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.prompt import SENDS
from console_app.tui.widgets.prompt_box import PromptBox
from console_app.tui.widgets.status_bar import StatusBar
from console_app.tui.widgets.too_small import TooSmall
from console_app.tui.widgets.welcome import Welcome

# What a text area's own keys do. Keys of the prompt's that do more than write in it are not among them.
WRITING = {binding.action for binding in TextArea.BINDINGS if isinstance(binding, Binding)} | {"newline"}
IN_A_TURN = ("stop", "steer", "toggle_all")  # actions of keys that do nothing before there is a conversation


class OpeningScreen(MainScreen):
    """Status bar, opening page, prompt and hints. `picked` is the example that was clicked."""

    class Ready(Message):
        """It can be written in."""

        def __init__(self, screen: OpeningScreen) -> None:
            super().__init__()
            self.screen = screen

    def __init__(self, history_path: Path, working_folder: Path) -> None:
        super().__init__()
        self._history_path = history_path
        self._working_folder = working_folder
        self.picked: Welcome.Picked | None = None
        self.ready = False  # to be written in

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield StatusBar()
        yield Welcome(id="welcome")
        yield PromptBox(self._history_path, self._working_folder, _nothing)
        yield KeyHints()
        yield TooSmall()

    def on_mount(self) -> None:
        """As the chat screen looks when nothing runs."""
        self.prompt.border_subtitle = SENDS
        self.set_focus(self.prompt)
        self.ready = True
        self.post_message(self.Ready(self))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys that the hints name."""
        return action not in IN_A_TURN

    def writes(self, event: events.Key | events.Paste) -> bool:
        """Whether all that `event` does is to write in the prompt: it opens no completions, picks nothing, sends
        nothing."""
        if self.focused is not self.prompt:
            return False
        if isinstance(event, events.Paste):
            return True
        if event.is_printable:
            return event.character != "@" and (bool(self.prompt.text) or event.character not in set("/?123"))
        return self.action_of(event) in WRITING

    def action_of(self, event: events.Key | events.Paste) -> str:
        """What the prompt's binding of a key does; "" when it has none."""
        active = self.active_bindings.get(event.key) if isinstance(event, events.Key) else None
        return active.binding.action if active is not None and active.node is self.prompt else ""

    @on(Welcome.Picked)
    def _picked(self, event: Welcome.Picked) -> None:
        self.picked = event


def _nothing(token: Token) -> Sequence[Completion]:
    return ()

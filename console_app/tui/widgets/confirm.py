"""A question with a few answers, each a key and a button: nothing happens by Escape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from console_app.domain.safe_text import one_line
from console_app.tui.widgets.dialog import Dialog


@dataclass(frozen=True, slots=True)
class ConfirmChoice:
    """One answer: pressed as `key`, given as `value`."""

    key: str
    label: str
    value: str


class Confirm(Dialog[str | None]):
    """Asks `question`; gives the value of an answer, or None for Escape."""

    CSS_PATH = Path(__file__).with_name("dialog.tcss")  # whole: subclasses stand in other folders
    DEFAULT_CLASSES = "dialog"
    AUTO_FOCUS = "Button"

    DEFAULT_CSS = """
    Confirm.dialog > #box { width: auto; min-width: 40; max-width: 90%; padding: 1 2; }
    Confirm Static { width: auto; max-width: 80; margin-bottom: 1; }
    Confirm Horizontal { width: auto; height: auto; }
    Confirm Button {
        width: auto; min-width: 8; height: 1; border: none; margin-right: 2; padding: 0 1;
        background: $panel; color: $foreground; text-style: none;
    }
    Confirm Button:focus { background: $primary; color: $background; text-style: bold; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back", id="confirm.back"),
        Binding("left", "app.focus_previous", "previous", id="confirm.previous", show=False),
        Binding("right", "app.focus_next", "next", id="confirm.next", show=False),
    ]

    def __init__(self, title: str, question: str, answers: Sequence[ConfirmChoice]) -> None:
        super().__init__()
        self._title = title
        self._question = question
        self._answers = answers

    def compose(self) -> ComposeResult:
        """The question and its answers."""
        with Vertical(id="box") as dialog:
            dialog.border_title = self._title
            dialog.border_subtitle = "esc back"
            yield Static(Content(one_line(self._question, 400)))
            with Horizontal():
                for answer in self._answers:
                    label = Content.styled(answer.key, "bold") + Content(f" {answer.label}")
                    yield Button(label, id=f"answer-{answer.value}", compact=True)

    def on_key(self, event: events.Key) -> None:
        """The key of an answer."""
        for answer in self._answers:
            if event.key == answer.key:
                event.stop()
                self.dismiss(answer.value)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Enter or a click on an answer."""
        event.stop()
        self.dismiss((event.button.id or "").removeprefix("answer-"))

    def action_leave(self) -> None:
        """Escape."""
        self.dismiss(None)

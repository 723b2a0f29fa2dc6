"""Dialogs that ask for a yes or a no: a question with its answers, and a text to agree to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Button, Static

from console_app.console import Timing
from console_app.domain import one_line
from console_app.tui.asking.settled_keys import ALONE, DisplayedEnd, Moved, SettledKeys, place, tell_moves
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.text_view import TextView


class Confirm(Dialog[str | None]):
    """Gives the key of one of the `answers`, which are words by their keys."""

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

    def __init__(self, title: str, question: str, answers: Mapping[str, str]) -> None:
        super().__init__()
        self._title = title
        self._question = question
        self._answers = answers

    def compose(self) -> ComposeResult:
        with self.box(self._title, "esc back"):
            yield Static(Content(one_line(self._question, 400)))
            with Horizontal():
                for key, words in self._answers.items():
                    yield Button(Content.styled(key, "bold") + Content(f" {words}"), id=f"answer-{key}", compact=True)

    def on_key(self, event: events.Key) -> None:
        if event.key in self._answers:
            event.stop()
            self.dismiss(event.key)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss((event.button.id or "").removeprefix("answer-"))


class ConsentDialog(Dialog[bool]):
    """Gives whether `text`, which is shown whole, was agreed to."""

    DEFAULT_CLASSES = "dialog -text"
    AUTO_FOCUS = "TextView"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,n", "leave", "leave them", id="trust.leave")]

    def __init__(
        self,
        text: str,
        timing: Timing,
        question: str = "Trust this project's files?",
        yes: str = "trust them as shown",
        no: str = "leave them",
    ) -> None:
        super().__init__()
        self._question, self._yes, self._no = question, yes, no
        self._text = text
        self._timing = timing
        self._keys = SettledKeys[bool](timing.now)
        self._end = DisplayedEnd()

    def compose(self) -> ComposeResult:
        with self.box(self._question):
            yield TextView(hang=2)  # what a file says stands four in: a row that goes on stands between two that begin

    def on_mount(self) -> None:
        self.query_one(TextView).set_text(self._text)
        tell_moves(self.query_one(TextView))
        self._begin()

    @on(Moved)
    def _moved(self) -> None:
        self.call_after_refresh(self._show_keys)

    def on_key(self, event: events.Key) -> None:
        """A y that comes alone, and not right behind what was typed before."""
        self._keys.pressed()
        if event.key == "y":
            event.stop()
            if self._end.passed(self.query_one(TextView)) and self._keys.decide(True):
                self._timing.later(self, ALONE, self._take)
            else:
                self._begin()

    def _begin(self) -> None:
        self._keys.changed()
        self._show_keys()
        self._timing.later(self, KeyHints.SETTLE + 0.01, self._show_keys)

    def _show_keys(self) -> None:
        style = "bold $foreground" if self._keys.settled else ""  # dimmed, what is muted could hardly be read
        view = self.query_one(TextView)
        self._end.note(view)
        hidden = f"{said} · " if (said := place(view)) else ""
        subtitle = Content(hidden) + Content.styled(f"y {self._yes}", style) + Content(f" · n {self._no}")
        self.query_one("#box").border_subtitle = subtitle  # pyright: ignore[reportAttributeAccessIssue]  (it takes both)

    def _take(self) -> None:
        if self._keys.take():
            self.dismiss(True)

    def action_leave(self) -> None:
        self.dismiss(False)

"""Shows what would come of a yes, a project's files or a mode, and asks for it: y and n, each meant for it."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from console_app.console.timing import Timing
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.settled_keys import ALONE, SETTLE, SettledKeys
from console_app.tui.widgets.text_dialog import TextDialog
from console_app.tui.widgets.text_view import TextView

QUESTION = "Trust this project's files?"


class ConsentDialog(Dialog[bool]):
    """Gives whether `text`, which is shown whole, was agreed to."""

    CSS_PATH = TextDialog.CSS_PATH
    DEFAULT_CLASSES = "dialog -text"
    AUTO_FOCUS = "TextView"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,n", "leave", "leave them", id="trust.leave")]

    def __init__(
        self,
        text: str,
        timing: Timing,
        question: str = QUESTION,
        yes: str = "trust them as shown",
        no: str = "leave them",
    ) -> None:
        super().__init__()
        self._question, self._yes, self._no = question, yes, no
        self._text = text
        self._timing = timing
        self._keys = SettledKeys[bool](timing.now)

    def compose(self) -> ComposeResult:
        """The text in a frame that has the question."""
        with Vertical(id="box") as dialog:
            dialog.border_title = Content(self._question)  # pyright: ignore[reportAttributeAccessIssue]  (it takes both)
            yield TextView(hang=2)  # what a file says stands four in: a row that goes on stands between two that begin

    def on_mount(self) -> None:
        """Shows the text; from now on the half second counts."""
        self.query_one(TextView).set_text(self._text)
        self._begin()

    def on_key(self, event: events.Key) -> None:
        """A y that comes alone, and not right behind what was typed before."""
        self._keys.pressed()
        if event.key == "y":
            event.stop()
            if self._keys.decide(True):
                self._timing.later(self, ALONE, self._take)
            else:
                self._begin()

    def _begin(self) -> None:
        """The half second begins anew; the key is muted till then."""
        self._keys.changed()
        self._show_keys()
        self._timing.later(self, SETTLE + 0.01, self._show_keys)

    def _show_keys(self) -> None:
        style = "bold $foreground" if self._keys.settled else ""  # dimmed, what is muted could hardly be read
        subtitle = Content.styled(f"y {self._yes}", style) + Content(f" · n {self._no}")
        self.query_one("#box").border_subtitle = subtitle  # pyright: ignore[reportAttributeAccessIssue]  (it takes both)

    def _take(self) -> None:
        if self._keys.take():
            self.dismiss(True)

    def action_leave(self) -> None:
        """n, Escape."""
        self.dismiss(False)

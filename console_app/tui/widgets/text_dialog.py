"""A dialog that shows a text of any size: the log, what a call sent and got, the servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.text_view import TextView


class TextDialog(Dialog[None]):
    """Shows what `read` gives, from the end on with `at_end`; with `every` it is read again each so many seconds."""

    DEFAULT_CLASSES = "dialog -text"
    AUTO_FOCUS = "TextView"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "close", id="text.close"),
        Binding("c", "copy", "copy", id="text.copy"),
    ]

    def __init__(
        self, title: str, read: Callable[[], str], *, at_end: bool = False, every: float | None = None
    ) -> None:
        super().__init__()
        self._title = title
        self._read = read
        self._at_end = at_end
        self._every = every
        self._text: str | None = None  # before it was read

    def compose(self) -> ComposeResult:
        with self.box(self._title, "c copy · esc close"):
            yield TextView()

    def on_mount(self) -> None:
        self._show()
        if self._at_end:
            self.call_after_refresh(self.query_one(TextView).scroll_end, animate=False)
        if self._every is not None:
            self.set_interval(self._every, self._show)

    def _show(self) -> None:
        text = self._read()
        if text == self._text:
            return
        self._text = text
        self.query_one(TextView).set_text(text or "Nothing yet.")

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._text or "")
        self.notify("Copied.", markup=False)

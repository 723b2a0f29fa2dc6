"""The menu of what can be done with a call: each act by its letter, or by arrows and Enter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from console_app.tui.terminal.key_names import key_name
from console_app.tui.widgets.dialog import Dialog, DialogBox


class CallMenu(Dialog[str | None]):
    """Gives the action of the binding that was picked; None where none was."""

    CSS_PATH = "../../widgets/dialog.tcss"
    DEFAULT_CLASSES = "dialog -menu"
    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "close", id="menu.close")]

    def __init__(self, name: str, acts: Sequence[Binding]) -> None:
        super().__init__()
        self._call = name
        self._acts = acts

    def compose(self) -> ComposeResult:
        with DialogBox("enter do it · esc close") as box:
            box.border_title = Content(self._call)  # pyright: ignore[reportAttributeAccessIssue]  (it takes both)
            rows = (Content.styled(f"{key_name(act.key)}  ", "bold $primary") + act.description for act in self._acts)
            yield OptionList(*(Option(row) for row in rows), markup=False)

    def on_key(self, event: events.Key) -> None:
        if (act := next((one for one in self._acts if one.key == event.key), None)) is not None:
            event.stop()
            self.dismiss(act.action)

    @on(OptionList.OptionSelected)
    def _picked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._acts[event.option_index].action)

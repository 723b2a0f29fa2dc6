"""A dialog of one tool or one prompt: a tree of what is known, which is looked at again and again."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType

from console_app.domain import one_line
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.folding_tree import FoldingTree
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.row_list import RowList

LOOK = 0.5  # seconds between two looks

Result = TypeVar("Result")


class TreeDialog(Dialog[Result | None]):
    """A dialog of what a server calls `name`. It gives None when it was left."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../widgets/dialog.tcss", "servers.tcss"]
    DEFAULT_CLASSES = "dialog -tall workbench"
    AUTO_FOCUS = "FoldingTree"

    def __init__(self, server: str, name: str) -> None:
        super().__init__()
        self._heading = f"{one_line(server, 40)} · {one_line(name, 80)}"

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as dialog:
            dialog.border_title = Content(self._heading)  # pyright: ignore[reportAttributeAccessIssue]  (it takes both)
            yield FoldingTree()
            yield KeyHints()

    def on_mount(self) -> None:
        """Look at once, and go on looking."""
        self.look()
        self.set_interval(LOOK, self.look)

    @abstractmethod
    def look(self) -> None:
        """Show the facts of now, if they differ from those on screen."""

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        event.stop()
        self.refresh_bindings()

    @on(RowList.Clicked)
    def _clicked(self, event: RowList.Clicked) -> None:
        event.stop()
        self.query_one(FoldingTree).action_fold()

    def action_leave(self) -> None:
        self.dismiss(None)

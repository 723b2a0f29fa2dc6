"""A dialog of one tool or one prompt: a tree of what is known, which is looked at again and again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType

from console_app.domain import one_line
from console_app.tui.lineview.lines import clean
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.folding_tree import FoldingTree, Node
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.row_list import RowList

LOOK = 0.5  # seconds between two looks
LONGEST = 20_000  # characters of a description

Result = TypeVar("Result")


def described(title: str, description: str) -> Node:
    """Return the first node: what a tool or a prompt is for, in the words of its server."""
    title, text = one_line(title, 200), clean(description[:LONGEST]).strip() or "No description."
    return Node(lambda ink: [(f"{title}\n" if title else "", ink.strong), (text, ink.base)], key="description")


def section(title: str, words: str, below: Callable[[], Sequence[Node]] | None, key: str) -> Node:
    """Return a section that is open, with `words` beside its title."""
    return Node(lambda ink: [(title, ink.heading), (f"  {words}", ink.muted)], below, open=True, key=key)


class TreeDialog(Dialog[Result | None]):
    """Shows what a server calls `name`. It gives None when it was left."""

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

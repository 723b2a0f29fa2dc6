"""A board above the prompt, which is a line while you read in the conversation and both don't have room."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import var
from textual.visual import VisualType

from console_app.tui.widgets.key_hints import key_lines
from console_app.tui.widgets.too_small import ROOMY

GAP = 2


class FoldingBoard(Vertical, can_focus=True):
    """Shows something that waits for you; folded, a line with what that is and which key leads to it. Its fields keep
    their text."""

    DEFAULT_CSS = """
    FoldingBoard.-folded { height: 3; }
    FoldingBoard.-folded > * { visibility: hidden; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("alt+up", "screen.go('panel', -1)", "read calls", tooltip="to the calls, to read them", id="board.read")
    ]

    to_do: ClassVar[str] = "answer"
    """Names what you do on the board."""
    accent: ClassVar[str] = "$accent"
    """The colour of its keys."""

    folded = var(False, toggle_class="-folded")

    def in_brief(self, width: int, framed: bool) -> Content:
        """Sum up what waits in a line of so many cells. Where it is `framed`, the title stands above."""
        raise NotImplementedError

    def say_place(self) -> None:
        """Tell in the frame how much of what waits is shown."""
        raise NotImplementedError

    def watch_folded(self) -> None:
        if self.is_attached:
            self.say_place()

    def render(self) -> VisualType:
        """The line; else nothing, since its parts say it all."""
        if not self.folded:
            return super().render()
        width = self.content_size.width
        way = [("tab", f"to {self.to_do}")] if self.can_focus else []
        hint = Content(" " * GAP).join([Content(), *key_lines(way, width, accent=self.accent, counts=True)])
        room = max(width - hint.cell_length, 1)
        return self.in_brief(room, self.screen.size.height >= ROOMY).truncate(room, ellipsis=True, pad=True) + hint

"""What a strategy has the model say to itself between its acts, each with its label: thoughts, plans, observations."""

from __future__ import annotations

from rich.style import Style

from console_app.domain.messages import ThoughtLabel
from console_app.tui.conversation.block import Block, estimate_text, framed, gutter_of, margin_of
from console_app.tui.conversation.lines import Line, Piece, clean, wrap
from console_app.tui.conversation.message_blocks import bar
from console_app.tui.palette import Palette

LABEL = 9  # cells of the column in which the labels stand
WIDE = 40  # cells of text beside which there is room for that column


class ThoughtBlock(Block):
    """One thought, which may still grow."""

    def __init__(self, label: ThoughtLabel, text: str) -> None:
        super().__init__()
        self.label: ThoughtLabel = label
        self.text = text

    @property
    def copy_text(self) -> str:
        return self.text

    def tell(self, label: ThoughtLabel, text: str) -> None:
        """What it is by now."""
        self.label, self.text = label, text
        self.touch()

    def estimate(self, width: int) -> int:
        return self.gap + estimate_text(self.text, width - LABEL)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        left = bar(width, "┊", palette.faint, palette.base)
        room = max(width - gutter_of(width) - margin_of(width), 1)
        name: Piece = (f"{self.label:<{LABEL}}", palette.secondary + Style(bold=True))
        text: list[list[Piece]] = [[(clean(line), palette.muted)] for line in self.text.split("\n")]
        if room < WIDE:
            rows = [row for line in [[name], *text] for row in wrap(line, room)]
            return [framed(row, width, palette, left) for row in rows]
        rows = [row for line in text for row in wrap(line, room - LABEL)]
        pad: Piece = (" " * LABEL, palette.base)
        return [framed(row, width, palette, [*left, pad if n else name]) for n, row in enumerate(rows)]

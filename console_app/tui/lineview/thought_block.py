"""What a strategy has the model say to itself between its acts, each with its label: thoughts, plans, observations."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from console_app.domain.messages import ThoughtLabel
from console_app.tui.lineview.block import Block, estimate_text, framed, gutter_of, margin_of
from console_app.tui.lineview.lines import Line, Piece, Row, clean, wrap
from console_app.tui.lineview.markdown_cut import LONG
from console_app.tui.lineview.markdown_parser import parser
from console_app.tui.lineview.markdown_rows import MarkdownRows
from console_app.tui.lineview.markdown_tail import mend
from console_app.tui.lineview.message_blocks import bar
from console_app.tui.lineview.palette import Palette

LABEL = 9  # cells of the column in which the labels stand
WIDE = 40  # cells of text beside which there is room for that column


class ThoughtBlock(Block):
    """One thought, which may still grow."""

    def __init__(self, label: ThoughtLabel, text: str) -> None:
        super().__init__()
        self.label: ThoughtLabel = label
        self.text = text
        self._growing = False

    @property
    def copy_text(self) -> str:
        return self.text

    @property
    def searched(self) -> Sequence[str]:
        return (self.text,)

    def tell(self, label: ThoughtLabel, text: str, *, growing: bool = False) -> None:
        """What it is by now; `growing`: more of it may come."""
        self.label, self.text, self._growing = label, text, growing
        self.touch()

    def estimate(self, width: int) -> int:
        return self.gap + estimate_text(self.text, width - LABEL)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        left = bar(width, "┊", palette.faint, palette.base)
        room = max(width - gutter_of(width) - margin_of(width), 1)
        name: Piece = (f"{self.label:<{LABEL}}", palette.secondary + Style(bold=True))
        if room < WIDE:
            return [framed(row, width, palette, left) for row in [Row([name]), *self._rows(room, palette)]]
        pad: Piece = (" " * LABEL, palette.base)
        rows = self._rows(room - LABEL, palette) or [Row([])]
        return [framed(row, width, palette, [*left, pad if n else name]) for n, row in enumerate(rows)]

    def _rows(self, room: int, palette: Palette) -> list[Row]:
        """As Markdown; a text so long that it is no thought any more, or of nothing but marks, as it is written."""
        if len(self.text) <= LONG:
            text = mend(self.text) if self._growing else self.text
            rows = MarkdownRows(room, palette.quiet).render(parser().parse(text))
            if self._growing or any(piece.strip() for row in rows for piece, _ in row.pieces):
                return rows
        return [row for line in self.text.split("\n") for row in wrap([(clean(line), palette.muted)], room)]

"""Plain text of any size, painted line by line: what a log, a request or a result is read in.

A widget that lays its whole text out would take seconds for megabytes; this one knows how many rows each piece of the
text takes and cuts out only the rows on screen. What it is given is made safe for a terminal here.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console_app.domain.safe_text import visible

LONGEST_PIECE = 2000  # characters; longer lines are laid out in pieces of that size


class TextView(ScrollView, can_focus=True):
    """Shows `text`, wrapped at the edge."""

    DEFAULT_CSS = """
    TextView {
        background: $background; color: $foreground; overflow-x: hidden;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "down", id="text.down", show=False),
        Binding("k", "scroll_up", "up", id="text.up", show=False),
    ]

    def __init__(self, text: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._pieces: list[str] = []
        self._ends: list[int] = []  # rows up to and with each piece, for the width they were counted at
        self._counted_for = 0
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Replaces the text; unsafe characters become visible marks."""
        self._pieces = [
            line[start : start + LONGEST_PIECE]
            for line in visible(text).expandtabs(4).split("\n")
            for start in range(0, len(line) or 1, LONGEST_PIECE)
        ]
        self._counted_for = 0
        self._count()

    def rows_at(self, width: int) -> int:
        """How many rows it takes at a width."""
        return sum(_rows(piece, max(width, 1)) for piece in self._pieces)

    def _count(self) -> None:
        width = self.scrollable_content_region.width
        if width > 0 and width != self._counted_for:
            self._counted_for = width
            self._ends = list(accumulate(_rows(piece, width) for piece in self._pieces))
            self.virtual_size = Size(width, self._ends[-1] if self._ends else 0)
        self.refresh()

    def on_resize(self) -> None:
        """The width decides where lines wrap."""
        self._count()

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width, style = self.size.width, self.rich_style
        row = y + self.scroll_offset.y
        index = bisect_right(self._ends, row)
        if index >= len(self._ends):
            return Strip.blank(width, style)
        first = self._ends[index - 1] if index else 0
        text = _cut(self._pieces[index], row - first, self._counted_for)
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)


def _rows(piece: str, width: int) -> int:
    return len(_chop(piece, width))


def _cut(piece: str, row: int, width: int) -> str:
    rows = _chop(piece, width)
    return rows[row] if row < len(rows) else ""


def _chop(piece: str, width: int) -> list[str]:
    """`piece` cut so that no part is wider than `width` cells: behind the last space in the second half of a row, else
    wherever the row is full. Joined, the parts are the piece."""
    if len(piece) <= width and piece.isascii():
        return [piece]
    rows, start = list[str](), 0
    while start < len(piece):
        end = start + _fits(piece, start, width)
        if end < len(piece) and (space := piece.rfind(" ", start + width // 2, end + 1)) > 0:
            end = space + 1
        rows.append(piece[start:end])
        start = end
    return rows or [""]


def _fits(piece: str, start: int, width: int) -> int:
    """How many characters from `start` on fit into `width` cells; one at least."""
    if piece.isascii():
        return min(width, len(piece) - start)
    used = 0
    for count, character in enumerate(piece[start : start + width]):
        used += cell_len(character)
        if used > width:
            return max(count, 1)
    return min(width, len(piece) - start)

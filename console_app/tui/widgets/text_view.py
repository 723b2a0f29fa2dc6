"""Show plain text of any size, painted line by line: a log, a request or a result is read in it.

To lay the whole text out would take seconds for megabytes. This widget knows how many rows each piece of the text
takes, and cuts out only the rows on screen. The text is made safe for a terminal here. Further rows of a line are
indented as far as its words, also behind a label or a time, so that the beginning of a line is seen.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console_app.records import dataclass
from console_app.tui.lineview.lines import Line

LONGEST_PIECE = 2000  # characters; longer lines are laid out in pieces of that size
_LEAD = re.compile(r" *(?:\S{1,24}(?: \S{1,24}){0,2}  +){0,4}")  # up to where words begin, behind labels too


@dataclass(frozen=True, slots=True)
class _Piece:
    """A line, or a part of a long one: its first row begins in column `first`, the others in `hang`."""

    text: str
    first: int
    hang: int


class TextView(ScrollView, can_focus=True):
    """Shows `text`, wrapped at the edge; the rows of a line but its first stand `hang` cells further in than it."""

    DEFAULT_CSS = """
    TextView {
        background: $background; color: $foreground; overflow-x: hidden;
        scrollbar-size: 0 1; scrollbar-gutter: stable;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "down", id="text.down", show=False),
        Binding("k", "scroll_up", "up", id="text.up", show=False),
    ]

    def __init__(self, text: str = "", *, hang: int = 0) -> None:
        super().__init__()
        self._hang = hang
        self._pieces: list[_Piece] = []
        self._ends: list[int] = []  # rows up to and with each piece, for the width they were counted at
        self._counted_for = 0
        self.set_text(text)

    def set_text(self, text: str) -> None:
        self._pieces = []
        for line in Line.clean(text).split("\n"):
            lead = _LEAD.match(line)
            end = lead.end() if lead else 0
            hang = end if line[:end].strip() else end + self._hang
            for start in range(0, len(line) or 1, LONGEST_PIECE):
                self._pieces.append(_Piece(line[start : start + LONGEST_PIECE], hang if start else 0, hang))
        self._counted_for = 0
        self._count()
        self.refresh(layout=self.styles.is_auto_height)

    def rows_at(self, width: int, most: int | None = None) -> int:
        """Count the rows that it takes at a width; those past `most` are not counted."""
        rows = 0
        for piece in self._pieces:
            rows += len(_chop(piece, max(width, 1)))
            if most is not None and rows > most:
                break
        return rows

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.rows_at(width - self.styles.scrollbar_size_vertical, viewport.height)

    def _count(self) -> None:
        width = self.scrollable_content_region.width
        if width > 0 and width != self._counted_for:
            self._counted_for = width
            self._ends = list(accumulate(len(_chop(piece, width)) for piece in self._pieces))
            self.virtual_size = Size(width, self._ends[-1] if self._ends else 0)
        self.refresh()

    def on_resize(self) -> None:
        self._count()

    def render_line(self, y: int) -> Strip:
        width, style = self.size.width, self.rich_style
        row = y + self.scroll_offset.y
        index = bisect_right(self._ends, row)
        if index >= len(self._ends):
            return Strip.blank(width, style)
        first = self._ends[index - 1] if index else 0
        rows = _chop(self._pieces[index], self._counted_for)
        text = rows[row - first] if row - first < len(rows) else ""
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)


def _chop(piece: _Piece, width: int) -> list[str]:
    """The rows of `piece`, cut behind the last space in the second half of a row, else where it is full. Without their
    indent, half of the width at most, they are its text."""
    text, hang = piece.text, min(piece.hang, width // 2)
    before = " " * min(piece.first, hang)
    if len(before) + len(text) <= width and text.isascii():
        return [before + text]
    rows, start = list[str](), 0
    while start < len(text):
        room = width - len(before)
        end = start + max(Line.cut(text[start : start + room], room), 1)
        if end < len(text) and (space := text.rfind(" ", start + room // 2, end + 1)) > 0:
            end = space + 1
        rows.append(before + text[start:end])
        before, start = " " * hang, end
    return rows or [""]

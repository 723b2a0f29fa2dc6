"""The frame around a panel: its title in the upper edge, its keys in the lower one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.style import Style

from console_app.tui.lineview.lines import Line, Piece, Row, crop, fit, pieces_width
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.window import RowWindow
from console_app.tui.lineview.text.joined import Joined, Lookup

_ROUND = "╭─╮│╰╯"
_HEAVY = "┏━┓┃┗┛"
MOST_FRAMED = 500  # lines that are kept once they were framed


class PanelFrame:
    """Draws the lines of one framed panel, `left` and `right` cells away from the edges of the width."""

    def __init__(
        self, width: int, left: int, right: int, palette: Palette, edge: Style, *, heavy: bool = False
    ) -> None:
        self._width = width
        self._left = left
        self._palette = palette
        self._edge = edge
        marks = _HEAVY if heavy else _ROUND
        self._top_left, self._flat, self._top_right, self._side, self._low_left, self._low_right = marks
        self.inner = max(width - left - right - 4, 1)
        self.look = (width, left, right, edge, heavy)  # two of the same look and palette draw the same

    def top(self, title: Sequence[Piece], beside: str = "") -> Line:
        """The upper edge with the title in it, and `beside` it on its left."""
        shown = crop(title, max(self.inner - 4, 0))
        used = pieces_width(shown)
        lead = f"{self._top_left}{self._flat} " if shown else f"{self._top_left}{self._flat}{self._flat}"
        rest = max(self.inner - used - 1, 0)
        tail = f"{' ' if shown else self._flat}{self._flat * rest}{self._top_right}"
        number: list[Piece] = [(f"{beside:<{self._left}}"[: self._left], self._palette.muted)] if self._left else []
        pieces = [*number, (lead, self._edge), *shown, (tail, self._edge)]
        start = self._left + len(lead)
        end = start + sum(len(text) for text, _ in shown)
        return fit(pieces, self._width, self._palette.base, start=start, end=end)

    def row(self, row: Row) -> Line:
        """A line of content between the sides."""
        base = self._palette.base
        body = crop(row.pieces, self.inner)
        room = self.inner - pieces_width(body)
        start = self._left + 2
        end = start + sum(len(text) for text, _ in body)
        pieces = [
            *self._indent(),
            (f"{self._side} ", self._edge),
            *body,
            (" " * room, base),
            (f" {self._side}", self._edge),
        ]
        return fit(pieces, self._width, base, start=start + row.gutter, end=end, joint=row.joint)

    def bottom(self, hints: Sequence[Piece] = ()) -> Line:
        """The lower edge, with what can be done on its right. Not copied."""
        shown = crop(hints, max(self.inner - 4, 0))
        used = pieces_width(shown)
        if shown:
            rest = max(self.inner - used - 1, 0)
            lead: Piece = (f"{self._low_left}{self._flat * rest} ", self._edge)
            pieces: list[Piece] = [lead, *shown, (f" {self._flat}{self._low_right}", self._edge)]
        else:
            pieces = [(f"{self._low_left}{self._flat * (self.inner + 2)}{self._low_right}", self._edge)]
        line = fit([*self._indent(), *pieces], self._width, self._palette.base)
        line.start = line.end = 0
        return line

    def _indent(self) -> list[Piece]:
        return [(" " * self._left, self._palette.base)] if self._left else []


class FramedRows(Lookup[Line]):
    """Rows between the sides of a frame, each framed when it is looked at. A row that `before` framed is not again."""

    def __init__(self, frame: PanelFrame, palette: Palette, rows: Joined[Row], before: FramedRows | None) -> None:
        self.rows = rows
        self._frame = frame
        self._look = (frame.look, palette)
        self._framed: dict[int, tuple[Row, Line]] = {}  # by the id of the row
        if before is not None and before._look == self._look:
            self._framed = before._framed

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Line]:
        return map(self._line, self.rows)

    def item(self, index: int) -> Line:
        return self._line(self.rows.item(index))

    def said(self, index: int) -> tuple[str, str] | None:
        """Return the joint before a line of a long result, and its text; None where the line is no part of one."""
        part, place = self.rows.part_at(index)
        return part.said(place) if isinstance(part, RowWindow) else None

    def _line(self, row: Row) -> Line:
        known = self._framed.get(id(row))
        if known is None:
            if len(self._framed) >= MOST_FRAMED:
                self._framed.clear()
            known = self._framed[id(row)] = (row, self._frame.row(row))
        return known[1]

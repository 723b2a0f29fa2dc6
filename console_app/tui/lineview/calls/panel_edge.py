"""The edge on the left of what an open panel shows, in the colour of its state."""

from __future__ import annotations

from collections.abc import Iterator

from rich.style import Style

from console_app.tui.lineview.blocks.block import framed, gutter_of, margin_of
from console_app.tui.lineview.lines import Line, Piece, Row, crop
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.window import RowWindow
from console_app.tui.lineview.text.joined import Joined, Lookup

MOST_EDGED = 500  # lines that are kept once they were drawn


class PanelEdge:
    """Draws lines of a width behind an edge."""

    def __init__(self, width: int, palette: Palette, style: Style) -> None:
        self._width, self._palette = width, palette
        gutter = gutter_of(width)
        self._lead: list[Piece] = [(" " * (gutter - 2), palette.base), ("▎", style), ("   ", palette.base)]
        self.inner = max(width - gutter - margin_of(width) - 2, 1)
        self.look = (width, style)  # two of the same look and palette draw the same

    def row(self, row: Row) -> Line:
        pieces = crop(row.pieces, self.inner)
        return framed(Row(pieces, row.joint, row.gutter), self._width, self._palette, self._lead)


class EdgedRows(Lookup[Line]):
    """Rows behind an edge, each drawn when it is looked at. A row that `before` drew is not again."""

    def __init__(self, edge: PanelEdge, palette: Palette, rows: Joined[Row], before: EdgedRows | None) -> None:
        self.rows = rows
        self._edge = edge
        self._look = (edge.look, palette)
        self._drawn: dict[int, tuple[Row, Line]] = {}  # by the id of the row
        if before is not None and before._look == self._look:
            self._drawn = before._drawn

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
        known = self._drawn.get(id(row))
        if known is None:
            if len(self._drawn) >= MOST_EDGED:
                self._drawn.clear()
            known = self._drawn[id(row)] = (row, self._edge.row(row))
        return known[1]

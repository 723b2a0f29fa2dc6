"""A table as rows: up to some size its cells wrap, beyond it each record is one row that is made when it is seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import overload

from rich.style import Style

from console_app.tui.transcript_view.markdown_table import GAP, MarkdownTable, column_widths, table_line, table_rows
from console_app.tui.transcript_view.results.kind import Table
from console_app.tui.transcript_view.results.window import RowWindow
from console_app.tui.transcript_view.results.windows import indented
from console_app.tui.widgets.joined import Joined
from console_app.tui.widgets.lines import Piece, Row, clean, crop, pieces_width
from console_app.tui.widgets.palette import Palette

MEASURED = 1000  # rows that a table's columns are measured by, and whose cells are wrapped
LONGEST_CELL = 200  # characters of a table's cell


def rows_of_table(found: Table, limit: int, width: int, palette: Palette) -> Sequence[Row]:
    """The first rows of a table, its head above them; the columns are as wide as these, or more of its beginning, make
    them."""
    sample = found.rows(0, MEASURED)
    align = ["right" if _all_numbers(sample, n) else "left" for n in range(len(found.columns))]
    head = MarkdownTable(align, [[[(in_a_line(name), palette.strong)] for name in found.columns]])
    styled = _styled(sample, palette)
    records = found.rows(0, limit) if limit > MEASURED else sample
    longest = [_piece(max(column, key=len), palette) for column in zip_longest(*records[MEASURED:], fillvalue="")]
    widths = column_widths(MarkdownTable(rows=[*head.rows, *styled, longest]), width)
    if widths is None or found.count <= MEASURED:
        shown = styled[:limit] if limit <= MEASURED else _styled(records, palette)
        return indented(table_rows(MarkdownTable(align, [*head.rows, *shown]), width, palette, widths), palette)
    lines = _Records(records[:limit], widths, align)

    def rows(number: int) -> list[Row]:
        cells = [crop(_piece(cell, palette), size) for cell, size in zip(lines.cells(number), widths, strict=True)]
        return indented(table_line(cells, widths, align, palette)[:1], palette)

    return Joined([indented(table_rows(head, width, palette, widths), palette), RowWindow(lines, 0, rows)])


class _Records(Sequence[str]):
    """The rows of a table as text, as they will be seen."""

    def __init__(self, records: list[list[str]], widths: Sequence[int], align: Sequence[str]) -> None:
        self._records, self._widths = records, widths
        self._right = [one == "right" for one in align]

    def cells(self, number: int) -> list[str]:
        """The cells of a row, one for each column."""
        cells = self._records[number]
        return [*cells, *[""] * (len(self._widths) - len(cells))][: len(self._widths)]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[str]:
        return map(self._text, range(len(self._records)))

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._text(index) if isinstance(index, int) else [self._text(at) for at in range(len(self))[index]]

    def _text(self, number: int) -> str:
        parts: list[str] = []
        for cell, size, right in zip(self.cells(number), self._widths, self._right, strict=True):
            if len(cell) > size or not (cell.isascii() and cell.isprintable()):
                cut = crop([(in_a_line(cell), Style.null())], size)
                part = cut[0][0] if cut else ""
                room = size - pieces_width(cut)
                parts.append(" " * room + part if right else part + " " * room)
            else:
                parts.append(cell.rjust(size) if right else cell.ljust(size))
        return GAP.join(parts).rstrip(" ")


def _styled(rows: Sequence[Sequence[str]], palette: Palette) -> list[list[list[Piece]]]:
    return [[_piece(cell, palette) for cell in row] for row in rows]


def _piece(cell: str, palette: Palette) -> list[Piece]:
    return [(in_a_line(cell), palette.base)] if cell else []


def in_a_line(text: str) -> str:
    """The text of a cell, safe and not too long."""
    text = clean(text[: LONGEST_CELL + 1].replace("\n", " "))
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"


def _all_numbers(rows: Sequence[Sequence[str]], column: int) -> bool:
    found = [row[column] for row in rows if column < len(row) and row[column]]
    try:
        for cell in found:
            float(cell.replace(",", ""))
    except ValueError:
        return False
    return bool(found)

"""The rows of a table: up to some size its cells wrap, beyond it each record is one row, made when it is seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import overload

from rich.cells import cell_len
from rich.style import Style

from console_app.domain import safe_text
from console_app.tui.lineview.lines import Piece, Row, clean, crop, pieces_width
from console_app.tui.lineview.markdown.rows import GAP, MarkdownTable, shares, table_line, table_rows
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.kind import Table
from console_app.tui.lineview.results.window import RowWindow, ShownLines
from console_app.tui.lineview.results.windows import indented
from console_app.tui.lineview.text.cells import cells_of
from console_app.tui.lineview.text.joined import Joined

MEASURED = 1000  # rows that a table's columns are measured by, and whose cells are wrapped
SLICE = 10_000  # cells that are taken in at once
LONGEST_CELL = 200  # characters of a table's cell
_RULE = "─" * 8  # between two records where there is no room for columns


class TableLines:
    """Lays out the first rows of a table, with its head above them.

    These rows, or more of the table's beginning, make the width of the columns. So rows are shown only with the last
    one that is taken in.
    """

    def __init__(self, found: Table) -> None:
        self.count = 0
        self._found = found
        self._names = [in_a_line(name) for name in found.columns]
        self._columns = [_Column() for _ in self._names]
        self._taken = 0
        sample = self._take(MEASURED)
        self._align = ["right" if _all_numbers(sample, n) else "left" for n in range(len(self._names))]
        self._wraps = found.count <= MEASURED

    def grow(self, limit: int) -> None:
        """A slice more, up to so many rows."""
        room = limit - self._taken
        fewer = room > 0 and not self._take(min(room, max(SLICE // max(len(self._names), 1), 1)))
        if fewer or self._taken >= limit:
            self.count = limit

    def _take(self, rows: int) -> list[list[str]]:
        records = self._found.rows(self._taken, self._taken + rows)
        self._taken += len(records)
        cells = [*islice(zip_longest(*records, fillvalue=""), len(self._names))]
        cells += [("",) * len(records)] * (len(self._names) - len(cells))
        for column, found in zip(self._columns, cells, strict=True):
            column.extend(found)
        return records

    def rows(self, width: int, palette: Palette, _: Style) -> Sequence[Row]:
        columns, count = self._columns, min(self.count, self._taken)
        widest = [max(cell_len(name), column.widest) for name, column in zip(self._names, columns, strict=True)]
        widths = shares(widest, width)
        head = [_piece(name, palette.strong) for name in self._names]
        if self._wraps:
            shown = [[_piece(column.cells[n], palette.base) for column in columns] for n in range(count)]
            return indented(table_rows(MarkdownTable(self._align, [head, *shown]), width, palette, widths), palette)
        if widths is None:
            listed = _Listed(self._names, columns, count, width, palette)
            return RowWindow(ShownLines(listed), 0, lambda number: indented([Row(listed.pieces(number))], palette))
        records = _Records(columns, count, widths, self._align)

        def rows(number: int) -> list[Row]:
            cells = [_piece(column.cells[number], palette.base) for column in columns]
            cut = [crop(cell, size) for cell, size in zip(cells, widths, strict=True)]
            return indented(table_line(cut, widths, self._align, palette)[:1], palette)

        top = indented(table_rows(MarkdownTable(self._align, [head]), width, palette, widths), palette)
        return Joined([top, RowWindow(ShownLines(records), 0, rows)])


class _Column:
    """Cells one under the other as they are shown, and how many cells of the screen each takes."""

    def __init__(self) -> None:
        self.cells: list[str] = []
        self.sizes: list[int] = []
        self.widest = 0

    def extend(self, found: Sequence[str]) -> None:
        text = "\n".join(found)
        plain = text.replace("\n", "")
        safe = plain.isprintable() if plain.isascii() else "\t" not in text and safe_text.is_safe(text)
        if not safe or text.count("\n") >= max(len(found), 1) or max(map(len, found), default=0) > LONGEST_CELL:
            found = [in_a_line(cell) for cell in found]
            text = "\n".join(found)
        sizes = [*map(len, found if text.isascii() else cells_of(text))][: len(found)]
        self.cells += found
        self.sizes += sizes
        self.widest = max(self.widest, max(sizes, default=0))

    def texts(self, numbers: range, width: int, *, right: bool) -> list[str]:
        """Some of them, cut and filled to a width."""
        blanks = [" " * size for size in range(width + 1)]
        cells, sizes = (self.cells, self.sizes) if len(numbers) == len(self.cells) else (
            [self.cells[n] for n in numbers], [self.sizes[n] for n in numbers])  # fmt: skip
        if right:
            return [
                blanks[width - size] + cell if size <= width else _cut(cell, blanks, right=True)
                for cell, size in zip(cells, sizes, strict=True)
            ]
        return [
            cell + blanks[width - size] if size <= width else _cut(cell, blanks, right=False)
            for cell, size in zip(cells, sizes, strict=True)
        ]


class _Texts(Sequence[str]):
    """Makes each text when it is asked for; `_some` gives those of some numbers."""

    _count = 0

    def _some(self, numbers: range) -> list[str]:
        raise NotImplementedError

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return iter(self._some(range(self._count)))

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        numbers = range(self._count)[index]
        return self._some(range(numbers, numbers + 1))[0] if isinstance(numbers, int) else self._some(numbers)


class _Records(_Texts):
    """The rows of a table as text, as they will be seen."""

    def __init__(self, columns: list[_Column], count: int, widths: list[int], align: list[str]) -> None:
        self._columns, self._count, self._widths = columns, count, widths
        self._right = [one == "right" for one in align]

    def _some(self, numbers: range) -> list[str]:
        parts = [
            column.texts(numbers, size, right=right)
            for column, size, right in zip(self._columns, self._widths, self._right, strict=True)
        ]
        return [GAP.join(cells).rstrip(" ") for cells in zip(*parts, strict=True)]


class _Listed(_Texts):
    """Records where there is no room for columns: each cell is a line behind its column's name."""

    def __init__(self, names: list[str], columns: list[_Column], count: int, width: int, palette: Palette) -> None:
        self._names, self._columns, self._width, self._palette = names, columns, width, palette
        self._count = count * (len(names) + 1) - 1

    def pieces(self, number: int) -> list[Piece]:
        record, column = divmod(number, len(self._names) + 1)
        if column == len(self._names):
            return crop([(_RULE, self._palette.faint)], self._width, "")
        title = [*_piece(self._names[column], self._palette.strong), (": ", self._palette.muted)]
        return crop([*title, *_piece(self._columns[column].cells[record], self._palette.base)], self._width)

    def _some(self, numbers: range) -> list[str]:
        return ["".join(text for text, _ in self.pieces(number)) for number in numbers]


def _cut(cell: str, blanks: list[str], *, right: bool) -> str:
    """A cell that has no room, with an ellipsis, filled to the width."""
    pieces = crop([(cell, Style.null())], len(blanks) - 1)
    text = "".join(part for part, _ in pieces)
    blank = blanks[len(blanks) - 1 - pieces_width(pieces)]
    return blank + text if right else text + blank


def _piece(cell: str, ink: Style) -> list[Piece]:
    return [(cell, ink)] if cell else []


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

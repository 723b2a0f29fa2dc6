"""Lay out the body of a result by its kind, page by page: text beyond the page is neither read nor coloured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice, zip_longest
from typing import Any, assert_never, overload

from rich.cells import cell_len
from rich.style import Style

from console_app.domain import amounts, plural, safe_text
from console_app.tui.lineview.lines import Piece, Row, clean, crop, pieces_width, wrap
from console_app.tui.lineview.markdown.rows import GAP, MarkdownTable, shares, table_line, table_rows
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.diff import LARGEST, DiffStat, diff_stat
from console_app.tui.lineview.results.json_tree import DEEPEST, JsonTree
from console_app.tui.lineview.results.kind import ResultKind, Table
from console_app.tui.lineview.results.window import RowWindow, ShownLines
from console_app.tui.lineview.results.windows import (
    INDENT,
    DiffLines,
    MarkdownLines,
    SourceLines,
    TextLines,
    TreeLines,
    indented,
)
from console_app.tui.lineview.text.cells import cells_of
from console_app.tui.lineview.text.joined import Joined
from console_app.tui.lineview.text.text_page import FIRST_PAGE, LONGEST_LINE, TextPage

MEASURED = 1000  # rows that a table's columns are measured by, and whose cells are wrapped
SLICE = 10_000  # cells that are taken in at once
LONGEST_CELL = 200  # characters of a table's cell
_RULE = "─" * 8  # between two records where there is no room for columns


class TableLines:
    """The first rows of a table under its head. They make the widths, so rows are shown only with the last that is
    taken in."""

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
        """The cells of these rows, cut and filled to a width."""
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


ResultLines = TextLines | DiffLines | SourceLines | MarkdownLines | TreeLines | TableLines
GROWTH = 400  # how many more lines the next page has at least
MOST_MARKDOWN = 2000  # lines of Markdown that are laid out at once


class ResultBody:
    def __init__(self, found: ResultKind, name: str = "") -> None:
        self.found = found
        self.page = TextPage(found.text)
        self.limit = FIRST_PAGE
        self.tree = JsonTree(found.value, name) if found.kind == "json" else None
        self._read: tuple[object, ResultLines] | None = None  # what was laid out, and of what
        self._begun: tuple[object, int] = (None, 0)  # what was laid out, and up to where it was to be
        self._rows: tuple[object, Sequence[Row]] = (None, ())

    @property
    def count(self) -> int:
        """Count the lines or rows; folded ones don't count."""
        match self.found.kind:
            case "json":
                return len(self.tree.lines) if self.tree is not None else 0
            case "table":
                return self._table.count
            case "text" | "diff" | "source" | "markdown":
                return self.page.count
            case _:
                assert_never(self.found.kind)

    @property
    def left(self) -> int:
        """Count the lines that nobody asked to see yet."""
        return max(self.count - self.limit, 0)

    @property
    def hidden(self) -> int:
        """Count the lines that are not shown yet."""
        return max(self.count - (self._laid.count if self._laid is not None else self.limit), 0)

    @property
    def unfinished(self) -> bool:
        """Tell, once it was shown, whether less is laid out than was asked for."""
        return self._laid is not None and self._laid.count < min(self.limit, self.count)

    def lay_out(self) -> None:
        if self._laid is not None and self.unfinished:
            self._laid.grow(min(self.limit, self.count))

    @cached_property
    def stat(self) -> DiffStat:
        return diff_stat(self.found.text)

    @property
    def measure(self) -> str:
        match self.found.kind:
            case "text":
                return self.page.measure
            case "json":
                return f"JSON · {json_size(self.found.value)} · {amounts.size(self.page.bytes)}"
            case "diff":
                part = f" in its first {amounts.size(LARGEST)}" if len(self.found.text) > LARGEST else ""
                return f"diff · +{self.stat.added:,} -{self.stat.removed:,}{part} · {self.page.measure}"
            case "source":
                return f"{self.found.title} · {self.page.measure}"
            case "markdown":
                return f"Markdown · {self.page.measure}"
            case "table":
                return f"table · {table_size(self._table)}"
            case _:
                assert_never(self.found.kind)

    @property
    def unit(self) -> str:
        return "row" if self.found.kind == "table" else "line"

    @property
    def version(self) -> object:
        """Changes with whatever of it is shown."""
        return self._asked, self._laid.count if self._laid is not None else 0

    @property
    def touched(self) -> bool:
        """Tell whether a longer page was asked for, or a node was opened or folded."""
        return (self.limit, *self._asked) != (FIRST_PAGE, LONGEST_LINE, 0)

    @property
    def _asked(self) -> tuple[int, int]:
        return self.page.longest, self.tree.version if self.tree is not None else 0

    @property
    def _laid(self) -> ResultLines | None:
        return self._read[1] if self._read is not None and self._read[0] == self._asked else None

    def show_more(self) -> None:
        """A longer page, each time by more: all of a long result is a few keys away."""
        self.limit += max(GROWTH, 2 * self.limit if self.limit > FIRST_PAGE else 0)

    def show_far(self) -> bool:
        """Show all lines, else more of the cut ones, for a match far in; False where that shows nothing else or costs
        too much."""
        if self.left > 0:
            if self.found.kind == "markdown" and self.count > MOST_MARKDOWN:
                return False
            self.limit = self.count
            return True
        return self.found.kind == "text" and self.page.show_longer()

    def unfold_all(self) -> bool:
        """Opens every node of a tree; False where none is folded."""
        return self.tree is not None and self.tree.deepen(DEEPEST)

    def forget(self) -> None:
        self._read, self._rows, self._begun = None, (None, ()), (None, 0)

    def rows(self, width: int, palette: Palette, ink: Style) -> Sequence[Row]:
        """The page as indented rows of at most `width` cells, as far as laid out, its beginning at least. `ink` is for
        plain text."""
        if (laid := self._laid) is None:
            laid = self._lines()
            self._read = (self._asked, laid)
        limit = min(self.limit, self.count)
        if self._begun != (laid, limit):  # what a key asked for is seen at once, where it isn't much
            self._begun = (laid, limit)
            if laid.count < limit:
                laid.grow(limit)
        while laid.count < min(limit, FIRST_PAGE):
            laid.grow(limit)
        look = (self.version, width, palette, ink)
        if self._rows[0] != look:
            room = max(width - INDENT, 1)
            rows = laid.rows(room, palette, ink)
            if self.found.note and not self.hidden:
                rows = Joined([rows, indented(wrap([(clean(self.found.note), palette.muted)], room), palette)])
            self._rows = (look, rows)
        return self._rows[1]

    def _lines(self) -> ResultLines:
        found = self.found
        if self.tree is not None:
            return TreeLines(self.tree)
        match found.kind:
            case "text" | "json":
                return TextLines(self.page, styled=found.styled)
            case "diff":
                return DiffLines(self.page)
            case "source":
                return SourceLines(self.page, found.language, found.first)
            case "markdown":
                return MarkdownLines(self.page)
            case "table":
                return TableLines(self._table)
            case _:
                assert_never(found.kind)

    @property
    def _table(self) -> Table:
        table: Table = self.found.value
        return table


def table_size(table: Table) -> str:
    """`12 rows × 4 columns`."""
    return f"{plural(table.count, 'row')} × {plural(len(table.columns), 'column')}"


def json_size(value: Any) -> str:
    """`3 keys`, `80 items`."""
    return plural(len(value), "key" if isinstance(value, dict) else "item")

"""The body of a result, laid out as what it is, by the page: what lies beyond the page is neither read nor coloured."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import assert_never, cast

from rich.style import Style

from console_app.tui.transcript_view.ansi import AnsiPainter
from console_app.tui.transcript_view.code import SLICE, Code
from console_app.tui.transcript_view.markdown_stream import Frame, MarkdownStream
from console_app.tui.transcript_view.markdown_table import MarkdownTable, column_widths, table_rows
from console_app.tui.transcript_view.results.diff import DiffReader, DiffStat, diff_rows, diff_stat
from console_app.tui.transcript_view.results.json_tree import JsonTree, tree_rows
from console_app.tui.transcript_view.results.kind import ResultKind, Table
from console_app.tui.transcript_view.text_page import FIRST_PAGE, TextPage
from console_app.tui.transcript_view.wording import plural
from console_app.tui.widgets.lines import Piece, Row, chop, clean, wrap
from console_app.tui.widgets.palette import Palette

GROWTH = 400  # how many more lines the next page has
INDENT = 2
MEASURED = 1000  # rows that a table's columns are measured by
LONGEST_CELL = 200  # characters of a table's cell
_NUMBER = 5  # cells of a line's number


class ResultBody:
    """A result as it is shown, and how much of it."""

    def __init__(self, found: ResultKind, name: str = "") -> None:
        self.found = found
        self.page = TextPage(found.text)
        self.limit = FIRST_PAGE
        self.tree = JsonTree(found.value, name) if found.kind == "json" else None
        self._layout: _Layout | None = None

    @property
    def count(self) -> int:
        """How many lines or rows there are, folded ones not counted."""
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
        """How many of them are not shown yet."""
        return max(self.count - self.limit, 0)

    @cached_property
    def stat(self) -> DiffStat:
        """What a diff changes."""
        return diff_stat(self.found.text)

    @property
    def measure(self) -> str:
        """What it is and how much, in words."""
        match self.found.kind:
            case "text" | "json":
                return self.page.measure
            case "diff":
                return f"diff · +{self.stat.added:,} -{self.stat.removed:,} · {self.page.measure}"
            case "source":
                return f"{self.found.title} · {self.page.measure}"
            case "markdown":
                return f"Markdown · {self.page.measure}"
            case "table":
                return f"table · {table_size(self._table)}"
            case _:
                assert_never(self.found.kind)

    @property
    def version(self) -> object:
        """Changes with whatever of it is shown."""
        return self.limit, self.tree.version if self.tree is not None else 0

    @property
    def touched(self) -> bool:
        """Whether a longer page was asked for, or a node was opened or folded."""
        return self.version != (FIRST_PAGE, 0)

    def show_more(self) -> None:
        """A longer page."""
        self.limit += GROWTH

    def forget(self) -> None:
        """Drops what was laid out."""
        self._layout = None

    def rows(self, width: int, palette: Palette, ink: Style) -> list[Row]:
        """The page as rows of at most `width` cells, indented; `ink` is that of plain text. Rows that were there
        before are the same objects."""
        look = (width, palette, ink, self.tree.version if self.tree is not None else 0)
        if self._layout is None or self._layout.look != look:
            self._layout = _Layout(self, look, max(width - INDENT, 1), palette, ink)
        return self._layout.rows(self.limit)

    @property
    def _table(self) -> Table:
        table: Table = self.found.value
        return table


class _Layout:
    """The rows of a body in one look, as far as they were asked for."""

    def __init__(self, body: ResultBody, look: object, width: int, palette: Palette, ink: Style) -> None:
        self.look = look
        self._body = body
        self._width = width
        self._palette = palette
        self._rows: list[Row] = []
        self._done = 0  # lines that `_rows` shows
        self._painter = AnsiPainter(ink, palette)
        self._reader = DiffReader()
        self._markdown = MarkdownStream()
        self._code = Code(body.found.language)
        self._slices = 0
        self._widths: list[int] | None = None

    def rows(self, limit: int) -> list[Row]:
        """The rows of so many lines."""
        if limit > self._done:
            begin, self._done = self._done, limit
            match self._body.found.kind:
                case "text":
                    for line in self._lines(begin):
                        self._add(chop(self._painter.line(line.expandtabs(8)), self._width))
                case "diff":
                    self._add(diff_rows(self._reader, self._lines(begin), self._width, self._palette))
                case "source":
                    self._code.add(self._lines(begin))
                case "markdown":
                    self._markdown.append("".join(f"{line}\n" for line in self._lines(begin)))
                case "json":
                    tree = self._body.tree
                    self._rows = (
                        indented(tree_rows(tree, limit, self._width, self._palette), self._palette) if tree else []
                    )
                case "table":
                    self._add(self._records(begin, limit))
                case _:
                    assert_never(self._body.found.kind)
        return self._whole()

    def _whole(self) -> list[Row]:
        match self._body.found.kind:
            case "source":
                return self._source()
            case "markdown":
                # The stream keeps what it is given for each row: here the row itself, indented.
                frame = cast("Frame", self._in_place)
                return cast("list[Row]", self._markdown.lines(self._width, self._palette, frame, self.look))
            case _:
                return self._rows

    def _add(self, rows: list[Row]) -> None:
        self._rows += indented(rows, self._palette)

    def _in_place(self, row: Row) -> Row:
        return indented([row], self._palette)[0]

    def _lines(self, begin: int) -> list[str]:
        return self._body.page.first(self._done)[0][begin:]

    def _source(self) -> list[Row]:
        """Code with the numbers of its lines. What was coloured once is not coloured again."""
        code = self._code
        for number in range(self._slices, code.closed_slices):
            self._add(self._numbered(code.slice_pieces(number, self._palette), number * SLICE))
        self._slices = code.closed_slices
        return self._rows + indented(
            self._numbered(code.open_pieces(self._palette), self._slices * SLICE), self._palette
        )

    def _numbered(self, lines: list[list[Piece]], place: int) -> list[Row]:
        """Lines from a place on with their numbers, which are not copied, where they are known and have room."""
        first = self._body.found.first
        lead = _NUMBER + 1 if first and self._width >= 40 else 0
        rows: list[Row] = []
        for number, line in enumerate(lines, first + place):
            for part, row in enumerate(chop(line, max(self._width - lead, 1))):
                label = f"{number if part == 0 else '':>{_NUMBER}} " if lead else ""
                rows.append(Row([(label, self._palette.muted), *row.pieces], row.joint, lead))
        return rows

    def _records(self, begin: int, limit: int) -> list[Row]:
        """Rows of a table; the columns stay as wide as its first rows made them."""
        found: Table = self._body.found.value
        cells, columns = found.rows(begin, limit), list(found.columns)
        align = ["right" if _all_numbers(cells, n) else "left" for n in range(len(columns))]
        shown = MarkdownTable(align, [[[(_in_a_line(name), self._palette.strong)] for name in columns]])
        shown.rows += [[[(_in_a_line(cell), self._palette.base)] if cell else [] for cell in row] for row in cells]
        if self._widths is None:
            self._widths = column_widths(_sample(found), self._width)
        rows = table_rows(shown, self._width, self._palette, self._widths)
        return rows[_head_rows(shown, self._widths) :] if begin and self._widths is not None else rows


def _sample(table: Table) -> MarkdownTable:
    """Enough rows of a table to know how wide its columns are; only how long their cells are counts."""
    rows = [list(table.columns), *table.rows(0, MEASURED)]
    style = Style.null()
    return MarkdownTable(rows=[[[(_in_a_line(cell), style)] for cell in row] for row in rows])


def _head_rows(table: MarkdownTable, widths: list[int]) -> int:
    """How many rows the head of a table and the rule under it take."""
    return max(len(wrap(cell, size)) for cell, size in zip(table.rows[0], widths, strict=True)) + 1


def indented(rows: list[Row], palette: Palette) -> list[Row]:
    """Rows a little to the right, as all parts of an open panel are under their titles."""
    lead: Piece = (" " * INDENT, palette.base)
    return [Row([lead, *row.pieces], row.joint, INDENT + row.gutter, row.fill) for row in rows]


def table_size(table: Table) -> str:
    """`12 rows × 4 columns`."""
    return f"{plural(table.count, 'row')} × {plural(len(table.columns), 'column')}"


def _in_a_line(text: str) -> str:
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

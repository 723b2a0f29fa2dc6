"""Lay out the body of a result by its kind, page by page: text beyond the page is neither read nor coloured."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, zip_longest
from typing import Any, assert_never, cast, overload

from rich.cells import cell_len
from rich.style import Style

from console_app.domain import amounts, one_line, plural, safe_text
from console_app.domain.transcript import verdicts
from console_app.tui.lineview.lines import Line, Piece, Row
from console_app.tui.lineview.markdown.rows import GAP, MarkdownTable, shares, table_line, table_rows
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.diff import LARGEST, DiffStat, diff_stat, stat_pieces
from console_app.tui.lineview.results.json_tree import DEEPEST, JsonTree
from console_app.tui.lineview.results.kind import ResultKind, Table, is_number, kind_of
from console_app.tui.lineview.results.windows import (
    INDENT,
    DiffLines,
    MarkdownLines,
    RowWindow,
    ShownLines,
    SourceLines,
    TextLines,
    TreeLines,
    indented,
)
from console_app.tui.lineview.text.ansi import AnsiPainter
from console_app.tui.lineview.text.cells import cells_of
from console_app.tui.lineview.text.joined import Joined
from console_app.tui.lineview.text.json_view import brief_value
from console_app.tui.lineview.text.text_page import FIRST_PAGE, LONGEST_LINE, TextPage

MEASURED = 1000  # rows that a table's columns are measured by, and whose cells are wrapped
SLICE = 10_000  # cells that are taken in at once
LONGEST_CELL = 200  # characters of a table's cell
_RULE = "─" * 8  # between two records where there is no room for columns


class TableLines:
    """The first rows of a table under its head. They make the widths: none is shown before all are taken in."""

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
            return self._listed(count, width, palette)

        def some(numbers: range) -> list[str]:
            parts = [
                column.texts(numbers, size, right=align == "right")
                for column, size, align in zip(columns, widths, self._align, strict=True)
            ]
            return [GAP.join(cells).rstrip(" ") for cells in zip(*parts, strict=True)]

        def rows(number: int) -> list[Row]:
            cells = [_piece(column.cells[number], palette.base) for column in columns]
            cut = [Line.trim(cell, size) for cell, size in zip(cells, widths, strict=True)]
            return indented(table_line(cut, widths, self._align, palette)[:1], palette)

        top = indented(table_rows(MarkdownTable(self._align, [head]), width, palette, widths), palette)
        return Joined([top, RowWindow(ShownLines(_Texts(count, some)), 0, rows)])

    def _listed(self, count: int, width: int, palette: Palette) -> RowWindow:
        """The rows where there is no room for columns: each cell is a line behind its column's name."""

        def pieces(number: int) -> list[Piece]:
            record, column = divmod(number, len(self._names) + 1)
            if column == len(self._names):
                return Line.trim([(_RULE, palette.faint)], width, "")
            title = [*_piece(self._names[column], palette.strong), (": ", palette.muted)]
            return Line.trim([*title, *_piece(self._columns[column].cells[record], palette.base)], width)

        texts = _Texts(
            count * (len(self._names) + 1) - 1,
            lambda numbers: ["".join(text for text, _ in pieces(number)) for number in numbers],
        )
        return RowWindow(ShownLines(texts), 0, lambda number: indented([Row(pieces(number))], palette))


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
    """Makes each of `count` texts when it is asked for; `some` gives those of some numbers."""

    def __init__(self, count: int, some: Callable[[range], list[str]]) -> None:
        self._count, self._some = count, some

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


def _cut(cell: str, blanks: list[str], *, right: bool) -> str:
    pieces = Line.trim([(cell, Style.null())], len(blanks) - 1)
    text = "".join(part for part, _ in pieces)
    blank = blanks[len(blanks) - 1 - Line.cells(pieces)]
    return blank + text if right else text + blank


def _piece(cell: str, ink: Style) -> list[Piece]:
    return [(cell, ink)] if cell else []


def in_a_line(text: str) -> str:
    text = Line.clean(text[: LONGEST_CELL + 1].replace("\n", " "))
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"


def _all_numbers(rows: Sequence[Sequence[str]], column: int) -> bool:
    found = [row[column] for row in rows if column < len(row) and row[column]]
    return bool(found) and all(is_number(cell.replace(",", "")) for cell in found)


ResultLines = TextLines | DiffLines | SourceLines | MarkdownLines | TreeLines | TableLines
GROWTH = 400  # how many more lines the next page has at least
MOST_MARKDOWN = 400  # lines of Markdown that are laid out for a match far in: more would keep its key waiting


class ResultBody:
    def __init__(self, found: ResultKind, name: str = "") -> None:
        self.found = found
        self.page = TextPage(found.text)
        self.limit = FIRST_PAGE
        self.tree = JsonTree(found.value, name) if found.kind == "json" else None
        self._read: tuple[object, ResultLines] | None = None  # what was laid out, and of what
        self._begun: tuple[object, int] = (None, 0)  # what was laid out, and up to where it was to be
        self._rows: tuple[object, Sequence[Row]] = (None, ())

    @classmethod
    def of(cls, text: str, arguments: Mapping[str, Any] | None = None) -> ResultBody:
        return cls(kind_of(text, arguments))

    @property
    def records(self) -> list[list[str]]:
        """The rows of a table, below their head; none of what is no table."""
        found = self.found.value
        return [list(found.columns), *found.rows(0, found.count)] if self.found.kind == "table" else []

    @property
    def count(self) -> int:
        """Count the lines or rows; folded ones don't count."""
        match self.found.kind:
            case "json":
                return len(self.tree.lines) if self.tree is not None else 0
            case "table":
                return self.found.value.count
            case "text" | "diff" | "source" | "markdown":
                return self.page.count
            case _:
                assert_never(self.found.kind)

    @property
    def left(self) -> int:
        return max(self.count - self.limit, 0)

    @property
    def hidden(self) -> int:
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
                count = plural(len(self.found.value), "key" if isinstance(self.found.value, dict) else "item")
                return f"JSON · {count} · {amounts.size(self.page.bytes)}"
            case "diff":
                part = f" in its first {amounts.size(LARGEST)}" if len(self.found.text) > LARGEST else ""
                return f"diff · +{self.stat.added:,} -{self.stat.removed:,}{part} · {self.page.measure}"
            case "source":
                return f"{self.found.title} · {self.page.measure}"
            case "markdown":
                return f"Markdown · {self.page.measure}"
            case "table":
                return f"table · {table_size(self.found.value)}"
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

    @property
    def is_long_markdown(self) -> bool:
        return self.found.kind == "markdown" and self.count > MOST_MARKDOWN

    def show_far(self) -> bool:
        """Show all lines, else more of the cut ones. False where that shows nothing else or costs too much."""
        if self.left > 0:
            if self.is_long_markdown:
                return False
            self.limit = self.count
            return True
        return self.found.kind == "text" and self.page.show_longer()

    def unfold_all(self) -> bool:
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
                rows = Joined(
                    [rows, indented(Line.wrap([(Line.clean(self.found.note), palette.muted)], room), palette)]
                )
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
                return TableLines(found.value)
            case _:
                assert_never(found.kind)


def table_size(table: Table) -> str:
    return f"{plural(table.count, 'row')} × {plural(len(table.columns), 'column')}"


_SOURCE = 4000  # characters at either end that a line is made from
_LONGEST = 600  # characters of the line
_MOST_NAMES = 12  # of a JSON object
_OUTPUTS = ("stdout", "output", "stderr")
# What the bundled shell says below a command's output.
_OF_OUR_SHELL = re.compile(r"\[(?:(?:[^\]]*: )?exit \d+ in |no output\]|The sandbox may|It wanted a|protected: )")
_ITS_END = re.compile(r"^\[(?:[^\]\n]*: )?exit \d+ in [\d.]+ s; .*(?:sandbox|bubblewrap|Landlock)", re.MULTILINE)
_OF_HOOKS = "\n\n[Fanout: a hook "  # begins what a hook says of a result, below it
_RULED = re.compile(r"^[=\-_*~#\s]{3,}|[=\-_*~#\s]{3,}$")


def is_of_our_shell(content: str) -> bool:
    """Tell whether a result ends as those of the bundled shell do, in whose text all is said that is structured."""
    return _ITS_END.search(content, max(0, len(content) - _SOURCE)) is not None


def brief(
    body: ResultBody,
    arguments: Mapping[str, Any] | None,
    structured: Mapping[str, Any] | None,
    palette: Palette,
    ink: Style,
) -> list[Piece]:
    """The line, of any length; nothing where the result is empty."""
    found = body.found
    if arguments is not None and not verdicts.COMMANDS.isdisjoint(arguments):
        is_object = found.kind == "json" and isinstance(found.value, dict)
        fields = cast("dict[str, Any]", found.value) if is_object else structured
        return _command(found.text, fields, palette, ink)
    match found.kind:
        case "diff":
            files = body.stat.files
            name = one_line(files[0], 80) if len(files) == 1 else plural(len(files), "file") if files else ""
            return [*stat_pieces(body.stat, palette), (f"  {name}" if name else "", palette.muted)]
        case "table":
            names = ", ".join(one_line(name, 24) for name in found.value.columns)
            return [(table_size(found.value), ink), (f"  {names}", palette.muted)]
        case "source":
            return [(plural(body.page.count, "line"), ink)]
        case "json":
            return [(_shape(found.value), ink)]
        case "markdown":
            line = _first_line(found.text)
            return [(one_line(re.sub(r"^#{1,6} ", "", line), 400), ink)] if line else []
        case "text":
            line = _first_line(found.text)
            return AnsiPainter(ink, palette).line(line[:_LONGEST]) if line else []


def says_all(body: ResultBody) -> bool:
    """Tell whether the line already says how much there is."""
    return body.found.kind in ("diff", "table", "source", "json")


def _shape(value: object) -> str:
    """JSON as its names, with short values as they are and how many there are in long ones."""
    if not isinstance(value, dict):
        return plural(len(cast("list[Any]", value)), "item") if isinstance(value, list) else brief_value(value, 60)
    fields = cast("dict[str, Any]", value)
    parts = [f"{one_line(name, 40)}: {_size(one)}" for name, one in islice(fields.items(), _MOST_NAMES)]
    return ", ".join([*parts, "…"] if len(fields) > _MOST_NAMES else parts) or "{}"


def _size(value: object) -> str:
    if isinstance(value, list):
        return str(len(cast("list[Any]", value)))
    return f"{{{len(cast('dict[str, Any]', value))}}}" if isinstance(value, dict) else brief_value(value, 40)


def _first_line(text: str) -> str:
    head = text[:_SOURCE]
    if "\r" in head and "\n" not in head.strip():  # a line that was written over is what its end left of it
        head = text.lstrip().split("\n", 1)[0][-_SOURCE:]
    return next(iter(safe_text.written_lines(head)), "").strip()


def _command(text: str, fields: Mapping[str, Any] | None, palette: Palette, ink: Style) -> list[Piece]:
    """The last line of a command's output that says something."""
    code, output = verdicts.exit_code(text, fields), text
    if fields is not None:
        written = [value for name in _OUTPUTS if isinstance(value := fields.get(name), str) and value.strip()]
        output = written[0] if written else "" if code is not None and text.lstrip().startswith("{") else text
    output = output.rpartition(_OF_HOOKS)[0] or output
    end = f"…{output[-_SOURCE:]}" if len(output) > _SOURCE else output
    lines = [line.strip() for line in safe_text.written_lines(end)]
    said_of_it = (line for line in reversed(lines) if not verdicts.exit_line(line) and not _OF_OUR_SHELL.match(line))
    bare = (_RULED.sub("", line).strip() for line in said_of_it)
    said = next(filter(None, bare), "")
    return AnsiPainter(ink, palette).line(said[:_LONGEST]) if said else []

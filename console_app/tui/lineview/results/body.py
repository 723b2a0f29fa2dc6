"""Lay out the body of a result by its kind, page by page: text beyond the page is neither read nor coloured."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, assert_never

from rich.style import Style

from console_app.domain import amounts, plural
from console_app.tui.lineview.lines import Row, clean, wrap
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.diff import LARGEST, DiffStat, diff_stat
from console_app.tui.lineview.results.json_tree import DEEPEST, JsonTree
from console_app.tui.lineview.results.kind import ResultKind, Table
from console_app.tui.lineview.results.table_rows import TableLines
from console_app.tui.lineview.results.windows import (
    INDENT,
    DiffLines,
    MarkdownLines,
    SourceLines,
    TextLines,
    TreeLines,
    indented,
)
from console_app.tui.lineview.text.joined import Joined
from console_app.tui.lineview.text.text_page import FIRST_PAGE, LONGEST_LINE, TextPage

ResultLines = TextLines | DiffLines | SourceLines | MarkdownLines | TreeLines | TableLines
GROWTH = 400  # how many more lines the next page has at least
MOST_MARKDOWN = 2000  # lines of Markdown that are laid out at once


class ResultBody:
    """A result as it is shown, and how much of it."""

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
        """Lays out a slice more of an unfinished one."""
        if self._laid is not None and self.unfinished:
            self._laid.grow(min(self.limit, self.count))

    @cached_property
    def stat(self) -> DiffStat:
        """Count the lines that a diff adds and removes."""
        return diff_stat(self.found.text)

    @property
    def measure(self) -> str:
        """Name the kind of the result and its size, in words."""
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
        """Name the unit of `count`."""
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
        """Show all lines, or where all are shown, more of those that are cut, since a match is far in.

        Return False where that shows nothing else, or costs too much.
        """
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
        """Drop the lines that were laid out."""
        self._read, self._rows, self._begun = None, (None, ()), (None, 0)

    def rows(self, width: int, palette: Palette, ink: Style) -> Sequence[Row]:
        """Return the page as indented rows of at most `width` cells, as far as it is laid out, and its beginning at
        least.

        `ink` is the style of plain text.
        """
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

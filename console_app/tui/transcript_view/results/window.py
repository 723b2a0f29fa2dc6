"""The rows of a long text, each made when it is seen: how many there are is counted without making any.

The text of a line as it will be shown is known before (`ShownLines`), so that find and copying need no row either.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import overload

from console_app.domain.safe_text import is_safe, visible
from console_app.tui.widgets.cells import cells_of, rows_of
from console_app.tui.widgets.lines import Row, chop_ends

MOST_KEPT = 2000  # rows that are kept once they were made


class ShownLines:
    """Lines as they are shown, and what is known of them at any width and in any theme."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._tops = (0, list[int]())  # at the width last asked for

    @cached_property
    def text(self) -> str:
        """All lines, as find looks in them."""
        return "\n".join(self.lines)

    @cached_property
    def begins(self) -> list[int]:
        """Where in `text` each line begins."""
        return [0, *accumulate(len(line) + 1 for line in self.lines)]

    def tops(self, width: int) -> list[int]:
        """The first row of each line cut at `width` cells, and how many rows there are; nothing where each is one."""
        if self._tops[0] != width:
            heights = self._heights(width)
            self._tops = (width, [0, *accumulate(heights)] if heights else [])
        return self._tops[1]

    def _heights(self, width: int) -> list[int]:
        if not self.lines or self._longest * 2 <= width:
            return []
        if self._is_ascii:
            return [] if self._longest <= width else [-(-len(line) // width) or 1 for line in self.lines]
        heights = [1 if len(line) <= width else rows_of(line, width) for line in self._cells]
        return [] if max(heights) == 1 else heights

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.lines))

    @cached_property
    def _is_ascii(self) -> bool:
        return all(map(str.isascii, self.lines))

    @cached_property
    def _cells(self) -> list[bytes]:
        return cells_of(self.text)


def shown_lines(lines: list[str], tab: int) -> ShownLines:
    """Lines as `clean` shows each, tabs up to every `tab` cells; in one go, as there may be many."""
    text = "\n".join(lines)
    plain = text.replace("\n", "").replace("\t", "")
    if not (plain.isprintable() if plain.isascii() else is_safe(text)):
        return ShownLines([visible(line).expandtabs(tab) for line in lines])
    return ShownLines(text.expandtabs(tab).split("\n") if lines and "\t" in text else lines)


class RowWindow(Sequence[Row]):
    """The rows of lines, each line cut at `width` cells; 0: none is cut. `make` gives the rows of one line, as many as
    that takes, whose text behind their gutter is the line's, in `lines`."""

    def __init__(self, shown: ShownLines, width: int, make: Callable[[int], list[Row]]) -> None:
        self.shown = shown
        self.made = 0  # lines whose rows were made, for what it costs
        self._lines = shown.lines
        self._width = width
        self._make = make
        self._kept: dict[int, list[Row]] = {}
        self._tops = shown.tops(width) if width else []
        self._ends = (-1, list[int]())  # where the rows of the line last asked for end

    def __len__(self) -> int:
        return self._tops[-1] if self._tops else len(self._lines)

    def __iter__(self) -> Iterator[Row]:
        return (self[at] for at in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        number, part = self.line_at(index + len(self) if index < 0 else index)
        rows = self._kept.get(number)
        if rows is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            rows = self._kept[number] = self._make(number)
            self.made += 1
        return rows[part] if part < len(rows) else Row([], "")

    def line_at(self, row: int) -> tuple[int, int]:
        """The line that a row is of, and which of its rows it is."""
        if not 0 <= row < len(self):
            raise IndexError(row)
        if not self._tops:
            return row, 0
        number = bisect_right(self._tops, row) - 1
        return number, row - self._tops[number]

    def top_of(self, line: int) -> int:
        """The first row of a line."""
        return self._tops[line] if self._tops else line

    def past(self, line: int) -> int:
        """The row behind the last of a line."""
        return self.top_of(line + 1) if self._tops else line + 1

    def span(self, row: int) -> tuple[int, int, int]:
        """The line that a row is of, and the characters of it that it shows."""
        number, part = self.line_at(row)
        if not self._tops:
            return number, 0, len(self._lines[number])
        if self._ends[0] != number:
            self._ends = (number, chop_ends(self._lines[number], self._width))
        ends = self._ends[1]
        return number, ends[part - 1] if part else 0, ends[part]

    def said(self, row: int) -> tuple[str, str]:
        """The text of a row behind its gutter, and what stands before it when rows are copied."""
        number, start, end = self.span(row)
        return self._lines[number][start:end], "" if start else "\n"

"""The rows of a long text, each made when it is seen: how many there are is counted without making any.

The text of a line as it will be shown is known before (`shown_lines`), so that find and copying need no row either.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import overload

from console_app.domain.safe_text import visible
from console_app.tui.widgets.lines import Row, chop_count, chop_ends, is_simple

MOST_KEPT = 2000  # rows that are kept once they were made
_UNPARTED = str.maketrans("", "", "\n\t")


class RowWindow(Sequence[Row]):
    """The rows of lines, each line cut at `width` cells; 0: none is cut. `make` gives the rows of one line, as many as
    that takes, whose text behind their gutter is the line's, in `lines`."""

    def __init__(self, lines: Sequence[str], width: int, make: Callable[[int], list[Row]]) -> None:
        self.lines = lines
        self.made = 0  # lines whose rows were made, for what it costs
        self._width = width
        self._make = make
        self._kept: dict[int, list[Row]] = {}
        self._tops = _tops(lines, width) if width else []
        self._ends = (-1, list[int]())  # where the rows of the line last asked for end

    def __len__(self) -> int:
        return self._tops[-1] if self._tops else len(self.lines)

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
            return number, 0, len(self.lines[number])
        if self._ends[0] != number:
            self._ends = (number, chop_ends(self.lines[number], self._width))
        ends = self._ends[1]
        return number, ends[part - 1] if part else 0, ends[part]

    def said(self, row: int) -> tuple[str, str]:
        """The text of a row behind its gutter, and what stands before it when rows are copied."""
        number, start, end = self.span(row)
        return self.lines[number][start:end], "" if start else "\n"

    @cached_property
    def text(self) -> str:
        """All lines, as find looks in them."""
        return "\n".join(self.lines)

    @cached_property
    def begins(self) -> list[int]:
        """Where in `text` each line begins."""
        return [0, *accumulate(len(line) + 1 for line in self.lines)]


def _tops(lines: Sequence[str], width: int) -> list[int]:
    """The first row of each line, and how many rows there are; nothing where each line is a row."""
    if not lines or max(map(len, lines)) * 2 <= width:
        return []
    heights = [1 if len(line) * 2 <= width else chop_count(line, width) for line in lines]
    return [] if max(heights) == 1 else [0, *accumulate(heights)]


def shown_lines(lines: list[str], tab: int) -> list[str]:
    """Lines as `clean` shows each, tabs up to every `tab` cells; in one go, as there may be many."""
    text = "\n".join(lines)
    plain = text.translate(_UNPARTED) if "\t" in text else text.replace("\n", "")
    if plain.isascii() and plain.isprintable():
        return text.expandtabs(tab).split("\n") if "\t" in text else lines
    return [
        line if (line.isprintable() if line.isascii() else is_simple(line)) else visible(line).expandtabs(tab)
        for line in lines
    ]

"""The rows of a long text, each made when it is seen: how many there are is counted without making any.

The text of a line as it will be shown is known before (`ShownLines`), so that find and copying need no row either.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import accumulate, islice, repeat

from console_app.domain import safe_text, visible
from console_app.tui.lineview.lines import Row, chop_ends
from console_app.tui.lineview.text.cells import cells_of, rows_of
from console_app.tui.lineview.text.joined import Lookup

JOINED = 2000  # lines that are made one text at once
MOST_KEPT = 2000  # rows that are kept once they were made


class ShownLines:
    """Holds lines as they are shown, with their cells at any width and in any theme. Lines are only added."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._parts: list[
            tuple[int, int, list[bytes] | None]
        ] = []  # lines, the longest, the cells of each if not ASCII
        self._joined: list[str] = []  # so far, see `lay_out`
        self._tops = (0, 0, [0])  # at the width last asked for: of so many parts

    @cached_property
    def text(self) -> str:
        return "\n".join(self.lines)

    @cached_property
    def begins(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.text.split("\n"))]

    @property
    def unfinished(self) -> bool:
        return "text" not in self.__dict__

    def lay_out(self) -> None:
        at = len(self._joined) * JOINED
        self._joined.append("\n".join(self.lines[at : at + JOINED]))
        if at + JOINED >= len(self.lines):
            self.text = "\n".join(self._joined)
            self._joined = []

    def extend(self, lines: list[str]) -> None:
        assert isinstance(self.lines, list)
        self.lines += lines
        text = "\n".join(lines)
        self._parts.append((len(lines), max(map(len, lines)), None if text.isascii() else cells_of(text)))
        self._joined = []
        self.__dict__.pop("text", None)
        self.__dict__.pop("begins", None)

    def tops(self, width: int) -> list[int]:
        """The first row of each line cut at `width` cells, and how many rows there are."""
        known, parts, tops = self._tops
        if known != width:
            parts, tops = 0, [0]
        at = len(tops) - 1
        for count, longest, cells in self._parts[parts:]:
            heights = self._heights(range(at, at + count), longest, cells, width)
            tops += islice(accumulate(heights, initial=tops[-1]), 1, None)
            at += count
        self._tops = (width, len(self._parts), tops)
        return tops

    def _heights(self, lines: range, longest: int, cells: list[bytes] | None, width: int) -> Iterable[int]:
        if longest * (1 if cells is None else 2) <= width:
            return repeat(1, len(lines))
        if cells is None:
            return [-(-len(line) // width) or 1 for line in self.lines[lines.start : lines.stop]]
        return [1 if len(line) <= width else rows_of(line, width) for line in cells]


def shown_lines(lines: list[str], tab: int) -> list[str]:
    """Lines as `clean` shows each, tabs up to every `tab` cells; in one go, as there may be many."""
    text = "\n".join(lines)
    plain = text.replace("\n", "").replace("\t", "")
    if not (plain.isprintable() if plain.isascii() else safe_text.is_safe(text)):
        return [visible(line).expandtabs(tab) for line in lines]
    return text.expandtabs(tab).split("\n") if lines and "\t" in text else lines


class RowWindow(Lookup[Row]):
    """The rows of lines cut at `width` cells; 0: none is. `make` gives the rows of a line, whose text behind their
    gutter is that in `lines`."""

    def __init__(self, shown: ShownLines, width: int, make: Callable[[int], Sequence[Row]]) -> None:
        self.shown = shown
        self.made = 0  # lines whose rows were made, for what it costs
        self._lines = shown.lines
        self._width = width
        self._make = make
        self._kept: dict[int, Sequence[Row]] = {}
        self._tops = shown.tops(width) if width else []  # behind these, lines that came later
        self._count = self._tops[-1] if width else len(shown.lines)
        self._ends = (-1, list[int]())  # where the rows of the line last asked for end

    def __len__(self) -> int:
        return self._count

    def item(self, index: int) -> Row:
        number, part = self.line_at(index)
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
        return self._tops[line] if self._tops else line

    def past(self, line: int) -> int:
        return self.top_of(line + 1) if self._tops else line + 1

    def row_of(self, line: int, character: int) -> int:
        if not self._tops:
            return line
        return min(self.top_of(line) + bisect_right(self._ends_of(line), character), self.past(line) - 1)

    def span(self, row: int) -> tuple[int, int, int]:
        """The line that a row is of, and the characters of it that it shows."""
        number, part = self.line_at(row)
        if not self._tops:
            return number, 0, len(self._lines[number])
        ends = self._ends_of(number)
        return number, ends[part - 1] if part else 0, ends[part]

    def _ends_of(self, line: int) -> list[int]:
        if self._ends[0] != line:
            self._ends = (line, chop_ends(self._lines[line], self._width))
        return self._ends[1]

    def said(self, row: int) -> tuple[str, str]:
        """The text of a row behind its gutter, and what stands before it when rows are copied."""
        number, start, end = self.span(row)
        return self._lines[number][start:end], "" if start else "\n"

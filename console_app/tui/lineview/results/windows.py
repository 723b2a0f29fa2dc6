"""Show each kind of result as lines. Their text is known before any row (`ShownLines`): find and copying need none.

Facts about them are found once. Rows are counted without making any, and each row of a look is made when it is seen.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import accumulate, islice, repeat
from typing import cast

from rich.style import Style

from console_app.domain import safe_text, visible
from console_app.tui.lineview.lines import Line, Parts, Piece, Row, chop_ends
from console_app.tui.lineview.markdown.code import CodeLines
from console_app.tui.lineview.markdown.stream import MarkdownStream
from console_app.tui.lineview.markdown.units import Frame, TextLook
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.diff import NUMBER, DiffReader, diff_row
from console_app.tui.lineview.results.json_tree import JsonTree, shown_text, tree_rows
from console_app.tui.lineview.text.ansi import SGR, AnsiPainter
from console_app.tui.lineview.text.cells import cells_of, rows_of
from console_app.tui.lineview.text.joined import Lookup
from console_app.tui.lineview.text.text_page import TextPage

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
    """The rows of lines cut at `width` cells, or not at 0. `make` gives those of a line behind their gutter."""

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


INDENT = 2
TERMINAL_TAB = 8
CODE_TAB = 4
NUMBERED = 40  # cells from which lines have their numbers
_NUMBER = 5  # cells of a line's number
LONG = 8000  # characters of a line beyond which its rows are not all made at once
_STEP = 500  # lines between two places whose style is kept


def indented(rows: list[Row], palette: Palette) -> list[Row]:
    """Rows a little to the right, as all parts of an open panel are under their titles."""
    lead: Piece = (" " * INDENT, palette.base)
    return [Row([lead, *row.pieces], row.joint, INDENT + row.gutter, row.fill) for row in rows]


class PageLines:
    slice = 50_000  # characters: a few milliseconds

    def __init__(self, page: TextPage) -> None:
        self.count = 0  # lines taken in
        self._page = page
        self._at = 0
        self._shown = ShownLines([])

    def grow(self, limit: int) -> None:
        lines, self._at = self._page.read(self._at, limit - self.count, self.slice)
        if lines:
            self._take(lines)
        self.count += len(lines) or limit  # there are fewer than were counted

    def _take(self, lines: list[str]) -> None:
        raise NotImplementedError

    def rows(self, width: int, palette: Palette, ink: Style) -> Sequence[Row]:
        """Rows that stay as they are however it grows. `ink` is for text that has no colour of its own."""
        raise NotImplementedError


class TextLines(PageLines):
    def __init__(self, page: TextPage, *, styled: bool) -> None:
        super().__init__(page)
        self._lines: list[str] = []
        self._styled = styled
        self._coloured = False

    def _take(self, lines: list[str]) -> None:
        text = "\n".join(lines)
        if "\t" in text:
            text = text.expandtabs(TERMINAL_TAB)
            lines = text.split("\n")
        self._lines += lines
        if self._styled and "\x1b" in text:  # the text of each colour is made safe alone, as it is painted
            self._coloured = True
            self._shown.extend("".join(map(visible, SGR.split(text)[::2])).split("\n"))
        else:
            self._shown.extend(shown_lines(lines, TERMINAL_TAB))

    def rows(self, width: int, palette: Palette, ink: Style) -> RowWindow:
        painters = _Painters(self._lines, palette, ink)

        def rows(number: int) -> Sequence[Row]:
            line = self._shown.lines[number]
            plain: list[Piece] = [(line, ink)] if line else []
            pieces = painters.before(number).line(self._lines[number]) if self._coloured else plain
            return (
                indented(Line.chop(pieces, width), palette) if len(line) < LONG else _LongLine(pieces, width, palette)
            )

        return RowWindow(self._shown, width, rows)


class _LongLine(Lookup[Row]):
    def __init__(self, pieces: list[Piece], width: int, palette: Palette) -> None:
        self._pieces, self._palette = pieces, palette
        self._begins = [0, *accumulate(len(text) for text, _ in pieces)]
        self._ends = [0, *chop_ends("".join(text for text, _ in pieces), width)]
        self._made: dict[int, Row] = {}

    def __len__(self) -> int:
        return len(self._ends) - 1

    def item(self, index: int) -> Row:
        if index not in self._made:
            if len(self._made) >= MOST_KEPT:
                self._made.clear()
            start, end = self._ends[index], self._ends[index + 1]
            first, past = bisect_right(self._begins, start) - 1, bisect_left(self._begins, end)
            shift = self._begins[first]
            pieces = Parts(self._pieces[first:past]).between(start - shift, end - shift)
            self._made[index] = indented([Row(pieces, "" if index else "\n")], self._palette)[0]
        return self._made[index]


class _Painters:
    """Painters in the style before a line: from the nearest place above where it is known."""

    def __init__(self, lines: Sequence[str], palette: Palette, ink: Style) -> None:
        self._lines = lines
        self._known = [0]  # lines before which the style is known, in order
        self._painters = {0: AnsiPainter(ink, palette)}

    def before(self, number: int) -> AnsiPainter:
        place = number - number % _STEP
        if place not in self._painters:
            at = bisect_right(self._known, place)
            known = self._known[at - 1]
            self._painters[place] = self._painters[known].behind("\n".join(self._lines[known:place]))
            self._known.insert(at, place)
        return self._painters[place].behind("\n".join(self._lines[place:number]))


class DiffLines(PageLines):
    def __init__(self, page: TextPage) -> None:
        super().__init__(page)
        self._lines: list[str] = []
        self._marks: list[tuple[str, int]] = []
        self._reader = DiffReader()

    def _take(self, lines: list[str]) -> None:
        self._lines += lines
        self._marks += map(self._reader.read, lines)
        self._shown.extend(shown_lines(lines, CODE_TAB))

    def rows(self, width: int, palette: Palette, ink: Style) -> RowWindow:
        room = width - NUMBER - 1 if width >= NUMBERED else width

        def rows(number: int) -> list[Row]:
            return indented(diff_row(*self._marks[number], self._lines[number], width, palette), palette)

        return RowWindow(self._shown, max(room, 1), rows)


class SourceLines(PageLines):
    """Source in its colours, its lines numbered from `first` on; 0: without numbers."""

    def __init__(self, page: TextPage, language: str, first: int) -> None:
        super().__init__(page)
        self._first = first
        self._code = CodeLines(language)

    def _take(self, lines: list[str]) -> None:
        self._code.extend(lines)
        self._shown.extend(shown_lines(lines, CODE_TAB))

    def rows(self, width: int, palette: Palette, ink: Style) -> RowWindow:
        lead = _NUMBER + 1 if self._first and width >= NUMBERED else 0
        room = max(width - lead, 1)

        def rows(number: int) -> list[Row]:
            found: list[Row] = []
            for part, row in enumerate(Line.chop(self._code.pieces(number, palette), room)):
                label = f"{number + self._first if part == 0 else '':>{_NUMBER}} " if lead else ""
                found.append(Row([(label, palette.muted), *row.pieces], row.joint, lead))
            return indented(found, palette)

        return RowWindow(self._shown, room, rows)


class MarkdownLines(PageLines):
    """Lays out Markdown as a whole, and keeps only what is read of it."""

    slice = 1500

    def __init__(self, page: TextPage) -> None:
        super().__init__(page)
        self._stream = MarkdownStream()
        self._look: tuple[int, Palette, Style] | None = None  # as last seen

    def _take(self, lines: list[str]) -> None:
        self._stream.append("".join(f"{line}\n" for line in lines))
        if self.count + len(lines) >= self._page.count:
            self._stream.finish()
        if self._look is not None:
            self.rows(*self._look)

    def rows(self, width: int, palette: Palette, ink: Style) -> list[Row]:
        self._look = (width, palette, ink)

        def in_place(row: Row) -> Row:
            return indented([row], palette)[0]

        # The stream keeps what it is given for each row: here the row itself, indented.
        look = TextLook(width, palette, cast("Frame", in_place), (width, palette))
        return cast("list[Row]", self._stream.all_lines(look))


class TreeLines:
    def __init__(self, tree: JsonTree) -> None:
        self.count = 0
        self._tree = tree
        self._lines = tree.lines
        self._shown = ShownLines([])

    def grow(self, limit: int) -> None:
        """Up to so many lines: a tree has no more than can be laid out at once."""
        lines = [shown_text(line) for line in self._lines[self.count : limit]]
        self._shown.extend(shown_lines(lines, CODE_TAB))
        self.count += len(lines)

    def rows(self, width: int, palette: Palette, _: Style) -> RowWindow:
        def rows(number: int) -> list[Row]:
            return indented(tree_rows(self._tree, self._lines[number], width, palette), palette)

        return RowWindow(self._shown, max(width - 2, 1), rows)

"""Show each kind of result as lines. Facts about them are found once, and each row of a look is made when it is
seen."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import cast

from rich.style import Style

from console_app.domain import visible
from console_app.tui.lineview.lines import Parts, Piece, Row, chop, chop_ends
from console_app.tui.lineview.markdown.code import CodeLines
from console_app.tui.lineview.markdown.stream import MarkdownStream
from console_app.tui.lineview.markdown.units import Frame, TextLook
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.diff import NUMBER, DiffReader, diff_row
from console_app.tui.lineview.results.json_tree import JsonTree, shown_text, tree_rows
from console_app.tui.lineview.results.window import MOST_KEPT, RowWindow, ShownLines, shown_lines
from console_app.tui.lineview.text.ansi import SGR, AnsiPainter
from console_app.tui.lineview.text.joined import Lookup
from console_app.tui.lineview.text.text_page import TextPage

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
    """Text as a terminal shows it, with the style that each line begins with."""

    def __init__(self, page: TextPage, *, styled: bool) -> None:
        super().__init__(page)
        self._lines: list[str] = []
        self._styled = styled
        self._coloured = False
        self._shown = ShownLines([])

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
            return indented(chop(pieces, width), palette) if len(line) < LONG else _LongLine(pieces, width, palette)

        return RowWindow(self._shown, width, rows)


class _LongLine(Lookup[Row]):
    """The rows of a line of thousands, each made when it is seen."""

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
        """A painter that has not yet painted this line."""
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
        self._shown = ShownLines([])

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
        self._shown = ShownLines([])

    def _take(self, lines: list[str]) -> None:
        self._code.extend(lines)
        self._shown.extend(shown_lines(lines, CODE_TAB))

    def rows(self, width: int, palette: Palette, ink: Style) -> RowWindow:
        lead = _NUMBER + 1 if self._first and width >= NUMBERED else 0
        room = max(width - lead, 1)

        def rows(number: int) -> list[Row]:
            found: list[Row] = []
            for part, row in enumerate(chop(self._code.pieces(number, palette), room)):
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

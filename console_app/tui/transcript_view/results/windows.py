"""Each kind of result as a window on its lines: what its rows are, once they are seen."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from rich.style import Style

from console_app.tui.transcript_view.ansi import SGR, AnsiPainter
from console_app.tui.transcript_view.code import CodeLines
from console_app.tui.transcript_view.results.diff import NUMBER, DiffReader, diff_row
from console_app.tui.transcript_view.results.json_tree import JsonTree, shown_text, tree_rows
from console_app.tui.transcript_view.results.window import RowWindow, shown_lines
from console_app.tui.widgets.lines import Piece, Row, chop, clean
from console_app.tui.widgets.palette import Palette

INDENT = 2
TERMINAL_TAB = 8
CODE_TAB = 4
NUMBERED = 40  # cells from which lines have their numbers
_NUMBER = 5  # cells of a line's number
_STEP = 500  # lines between two places whose style is kept


def indented(rows: list[Row], palette: Palette) -> list[Row]:
    """Rows a little to the right, as all parts of an open panel are under their titles."""
    lead: Piece = (" " * INDENT, palette.base)
    return [Row([lead, *row.pieces], row.joint, INDENT + row.gutter, row.fill) for row in rows]


class TextLines:
    """Text as a terminal shows it, with the style that each line begins with."""

    def __init__(self, lines: list[str], width: int, palette: Palette, ink: Style, *, styled: bool) -> None:
        text = "\n".join(lines)
        self._palette, self._ink, self._width = palette, ink, width
        self._lines = text.expandtabs(TERMINAL_TAB).split("\n") if "\t" in text else lines
        self._coloured = styled and "\x1b" in text
        self._known: list[int] = []  # lines before which the style is known, in order
        self._painters: dict[int, AnsiPainter] = {}

    def window(self) -> RowWindow:
        """The rows of it."""
        lines = SGR.sub("", "\n".join(self._lines)).split("\n") if self._coloured and self._lines else self._lines
        return RowWindow(shown_lines(lines, TERMINAL_TAB), self._width, self._rows)

    def _rows(self, number: int) -> list[Row]:
        line = self._lines[number]
        plain: list[Piece] = [(clean(line), self._ink)] if line else []
        return indented(chop(self._painter(number).line(line) if self._coloured else plain, self._width), self._palette)

    def _painter(self, number: int) -> AnsiPainter:
        """One in the style before a line: from the nearest place above where the style is known."""
        place = number - number % _STEP
        if place not in self._painters:
            known = self._known[at - 1] if (at := bisect_right(self._known, place)) else 0
            painter = self._painters[known].copy() if known else AnsiPainter(self._ink, self._palette)
            painter.skip("\n".join(self._lines[known:place]))
            self._painters[place] = painter
            self._known.insert(at, place)
        painter = self._painters[place].copy()
        painter.skip("\n".join(self._lines[place:number]))
        return painter


class DiffLines:
    """A diff with the numbers of its lines."""

    def __init__(self, lines: list[str], width: int, palette: Palette) -> None:
        self._lines, self._width, self._palette = lines, width, palette

    def window(self) -> RowWindow:
        """The rows of it."""
        room = self._width - NUMBER - 1 if self._width >= NUMBERED else self._width
        return RowWindow(shown_lines(self._lines, CODE_TAB), max(room, 1), self._rows)

    @cached_property
    def _marks(self) -> list[tuple[str, int]]:
        reader = DiffReader()
        return [reader.read(line) for line in self._lines]

    def _rows(self, number: int) -> list[Row]:
        return indented(diff_row(*self._marks[number], self._lines[number], self._width, self._palette), self._palette)


class SourceLines:
    """Source in its colours, its lines numbered from `first` on; 0: without numbers."""

    def __init__(self, language: str, lines: list[str], width: int, palette: Palette, first: int) -> None:
        self._lines, self._palette, self._first = lines, palette, first
        self._code = CodeLines(language, lines)
        self._lead = _NUMBER + 1 if first and width >= NUMBERED else 0
        self._room = max(width - self._lead, 1)

    def window(self) -> RowWindow:
        """The rows of it."""
        return RowWindow(shown_lines(self._lines, CODE_TAB), self._room, self._rows)

    def _rows(self, number: int) -> list[Row]:
        """A line with its number, which is not copied."""
        rows: list[Row] = []
        for part, row in enumerate(chop(self._code.pieces(number, self._palette), self._room)):
            label = f"{number + self._first if part == 0 else '':>{_NUMBER}} " if self._lead else ""
            rows.append(Row([(label, self._palette.muted), *row.pieces], row.joint, self._lead))
        return indented(rows, self._palette)


def tree_window(tree: JsonTree, limit: int, width: int, palette: Palette) -> RowWindow:
    """The first lines of a tree."""
    lines = tree.lines[:limit]

    def rows(number: int) -> list[Row]:
        return indented(tree_rows(tree, lines[number], width, palette), palette)

    return RowWindow(shown_lines([shown_text(line) for line in lines], CODE_TAB), max(width - 2, 1), rows)

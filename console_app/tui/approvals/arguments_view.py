"""All arguments of a waiting call, painted row by row: names, values, what changed, and what can't be seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console_app.domain import displayed, safe_text
from console_app.tui.lineview.lines import WIDEST_NAME, chop_text
from console_app.tui.widgets.displayed_end import Moved, place, tell_moves


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """A row on screen; `wrapped` when it goes on with the line above."""

    line: displayed.ArgumentLine
    name: str
    text: str
    wrapped: bool


def name_column(lines: list[displayed.ArgumentLine]) -> int:
    return min(max((cell_len(line.name) for line in lines), default=0), WIDEST_NAME)


def rows(lines: list[displayed.ArgumentLine], width: int) -> list[ArgumentRow]:
    """Break the lines into rows. No text is wider than the room that `width` cells leave beside marks and names."""
    column = name_column(lines)
    room = max(width - column - 5, 8)
    found: list[ArgumentRow] = []
    for line in lines:
        name = line.name
        if cell_len(name) > column:
            found += [ArgumentRow(line, part, "", False) for part in chop_text(name, max(width - 3, 8))]
            name = ""
        for n, part in enumerate(chop_text(line.text, room)):
            found.append(ArgumentRow(line, "" if n else name, part, n > 0))
    return found


_MARKS = re.compile(r"<U\+[0-9A-F]{4,6}>|[\u2400-\u2421\u240d]|[⏎␣] x \d+")


class ArgumentsView(ScrollView, can_focus=False):
    """Shows what `show` is given; the board's keys scroll it."""

    DEFAULT_CSS = """
    ArgumentsView { background: $background; scrollbar-size-vertical: 1; overflow-x: hidden; overflow-y: auto; }
    ArgumentsView > .arguments--name { color: $secondary; background: $background; }
    ArgumentsView > .arguments--value { color: $foreground; background: $background; }
    ArgumentsView > .arguments--new { color: $success; background: $background; }
    ArgumentsView > .arguments--old { color: $error; background: $background; }
    ArgumentsView > .arguments--edge { color: $muted; background: $background; }
    ArgumentsView > .arguments--hidden { color: $error; background: $background; text-style: bold; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "arguments--name",
        "arguments--value",
        "arguments--new",
        "arguments--old",
        "arguments--edge",
        "arguments--hidden",
    }

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: list[displayed.ArgumentLine] = []
        self._whole: list[ArgumentRow] = []
        self._rows: list[ArgumentRow] = []  # those of them that are shown, in so many lines
        self._height = 0
        self._lead: frozenset[int] = frozenset()  # ids of the lines of a diff that stand before its first change
        self._hunks: list[int] = []  # the lines at which the parts of a diff begin
        self._laid_out_for = 0

    def show(self, lines: list[displayed.ArgumentLine], hunks: Sequence[int] = ()) -> None:
        """Other lines, from the first on; `hunks` are those at which the parts of a diff begin."""
        self._hunks = [*hunks]
        if lines == self._lines:
            return
        self._lines = lines
        self._lead = frozenset()
        if self._hunks:
            first = next((n for n in range(self._hunks[0], len(lines)) if lines[n].mark != " "), self._hunks[0])
            self._lead = frozenset(id(line) for line in lines[self._hunks[0] : first])
            self._hunks[0] = first
        self._laid_out_for = 0
        self.lay_out(self.scrollable_content_region.width)
        self.scroll_to(y=0, animate=False, immediate=True)

    def lay_out(self, width: int) -> int:
        """Break the lines for so many cells, and return how many rows they take."""
        if width > 0 and width != self._laid_out_for:
            self._laid_out_for = width
            self._whole = rows(self._lines, width)
            self.fit(self._height)
        return len(self._whole)

    def fit(self, height: int) -> int:
        """Fit the rows into so many lines; return how many are left. Where not all fit, a diff begins with its first
        change, which is decided about."""
        self._height = height
        left_out = self._lead if len(self._whole) > height else ()
        self._rows = [row for row in self._whole if id(row.line) not in left_out]
        self.virtual_size = Size(self._laid_out_for, len(self._rows))
        self.refresh()
        return len(self._rows)

    def on_resize(self) -> None:
        self.lay_out(self.scrollable_content_region.width)
        self.post_message(Moved())

    @property
    def place(self) -> str:
        """Say which rows are in view; "" when all are, or when a row of the board shows all of the arguments."""
        if not self.display:
            return ""
        height, count = self.scrollable_content_region.height, len(self._rows)
        if height <= 0 or count <= height:
            return ""
        first, said = int(self.scroll_offset.y), place(self)
        below = self._rows[first + height :]
        written = sum(not safe_text.is_blank(row.text) for row in below)
        said += f", {written:,} not blank" if written < len(below) else ""
        if len(starts := self._starts()) > 1:
            here = max(sum(start < first + height for start in starts), 1)
            return f"change {here} of {len(starts)} · {said}"
        return said

    def on_mount(self) -> None:
        tell_moves(self)

    def _starts(self) -> list[int]:
        first: dict[int, int] = {}
        for row, one in enumerate(self._rows):
            first.setdefault(id(one.line), row)
        return [first[id(self._lines[hunk])] for hunk in self._hunks if id(self._lines[hunk]) in first]

    def page(self, direction: int) -> None:
        """Scroll a page on or back; on, to where a part of a diff begins in the lower half of the view."""
        here, height = int(self.scroll_offset.y), max(self.size.height - 1, 1)
        ahead = [start for start in self._starts() if here + height / 2 < start <= here + height]
        goal = ahead[-1] if direction > 0 and ahead else here + direction * height
        self.scroll_to(y=max(goal, 0), animate=False, immediate=True)

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.get_component_rich_style("arguments--value")
        at = y + int(self.scroll_offset.y)
        if at >= len(self._rows):
            return Strip.blank(width, base)
        row = self._rows[at]
        mark = row.line.mark
        style = self.get_component_rich_style(
            {"+": "arguments--new", "-": "arguments--old"}.get(mark, "arguments--value")
        )
        edge = self.get_component_rich_style("arguments--edge")
        column = name_column(self._lines)
        name = self.get_component_rich_style("arguments--name")
        pad = " " * max(column - cell_len(row.name), 0)
        segments = [
            Segment(f"{mark} ", style),
            Segment(row.name + pad, name),
            Segment(" ↳ " if row.wrapped else " │ ", edge),
        ]
        if cell_len(row.name) > column:
            segments.pop()
        hidden = self.get_component_rich_style("arguments--hidden")
        last = 0
        for found in _MARKS.finditer(row.text):
            segments += [Segment(row.text[last : found.start()], style), Segment(found[0], hidden)]
            last = found.end()
        segments.append(Segment(row.text[last:], style))
        return Strip(segments).adjust_cell_length(width, base)

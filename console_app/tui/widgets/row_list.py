"""Show any number of one-line rows with a cursor. Only rows on screen are painted, so thousands cost as much as ten."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from textual import events, getters
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console_app.records import dataclass
from console_app.tui.lineview.lines import Line
from console_app.tui.lineview.palette import Palette
from console_app.tui.textual_internals import typed_app

CALM = 1.0  # seconds


class RowList(ScrollView, can_focus=True):
    """Paints rows by number. `cursor` is the row that it is on, and -1 while there is none."""

    DEFAULT_CSS = """
    RowList {
        height: 1fr; background: $background; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1;
    }
    """
    ALLOW_SELECT = False
    app = getters.app(typed_app)

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", id="rows.up", show=False),
        Binding("down,j", "move(1)", "down", id="rows.down", show=False),
        Binding("pageup", "move_page(-1)", "page up", id="rows.page_up", show=False),
        Binding("pagedown", "move_page(1)", "page down", id="rows.page_down", show=False),
        Binding("home,g", "move_to(0)", "first row", id="rows.home", show=False),
        Binding("end,G", "move_to(-1)", "last row", id="rows.end", show=False),
    ]

    @dataclass
    class Moved(Message):
        row: int

    @dataclass
    class Clicked(Message):
        """A row was clicked at a cell; `again` when the cursor was on it already."""

        row: int
        cell: int
        again: bool

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.cursor = -1
        self.count = 0
        self._palette: Palette | None = None

    # -- what a list of its own says

    @abstractmethod
    def paint_row(self, row: int, width: int, palette: Palette) -> Line:
        """A row of exactly `width` cells; `palette` is on the ground of the cursor where that is."""

    def is_stop(self, row: int) -> bool:
        return True

    def pace(self, live: float) -> float:
        """Return the seconds between two looks at what changes with time: `live`, or more where nothing is to move."""
        return CALM if self.palette.still else live

    # -- content

    @property
    def palette(self) -> Palette:
        if self._palette is None:
            self._palette = Palette.of(self.app)
        return self._palette

    def set_count(self, count: int, cursor: int | None = None) -> None:
        """So many rows now; the cursor stays, goes to `cursor`, or to the nearest row it may stand on."""
        self.count = count
        self._fit()
        wanted = self.cursor if cursor is None else cursor
        self._put(self._nearest(min(max(wanted, 0), count - 1), 1))
        self.refresh()

    def repaint(self, row: int) -> None:
        self.refresh(Region(0, row - round(self.scroll_y), self.size.width, 1))

    def _fit(self) -> None:
        size = Size(self.scrollable_content_region.width, self.count)
        if size != self.virtual_size:
            self.virtual_size = size

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, self._theme_changed)

    def _theme_changed(self, _theme: object) -> None:
        self._palette = None
        self.refresh()

    def on_resize(self) -> None:
        self._fit()
        self._show()

    def render_line(self, y: int) -> Strip:
        row, width = y + self.scroll_offset.y, self.size.width
        if row >= self.count:
            return Line.fit([], width, self.palette.base)
        return self.paint_row(row, width, self.palette.on_chosen if row == self.cursor else self.palette)

    # -- the cursor

    def move_to(self, row: int) -> None:
        self._put(self._nearest(min(max(row, 0), self.count - 1), 1))

    def _nearest(self, row: int, direction: int) -> int:
        for step in (direction, -direction):
            at = row
            while 0 <= at < self.count:
                if self.is_stop(at):
                    return at
                at += step
        return -1

    def _put(self, row: int) -> None:
        before, self.cursor = self.cursor, row
        self._show()
        if row != before:
            for one in (before, row):
                if one >= 0:
                    self.repaint(one)
            self.post_message(self.Moved(row))

    def _show(self) -> None:
        if self.cursor < 0 or not self.size.height:
            return
        above = self.cursor - 1 if self.cursor and not self.is_stop(self.cursor - 1) else self.cursor
        top, height = round(self.scroll_y), self.size.height
        if above < top:
            self.scroll_to(y=above, animate=False, immediate=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, immediate=True)

    def action_move(self, delta: int) -> None:
        target = self._nearest(self.cursor + delta, delta)
        if target >= 0:
            self._put(target)

    def action_move_page(self, direction: int) -> None:
        self.move_to(self.cursor + direction * max(self.size.height - 2, 1))

    def action_move_to(self, row: int) -> None:
        self.move_to(row if row >= 0 else self.count - 1)

    def on_click(self, event: events.Click) -> None:
        row = event.y + self.scroll_offset.y
        if 0 <= row < self.count and self.is_stop(row):
            again = row == self.cursor
            self._put(row)
            self.post_message(self.Clicked(row, event.x, again))

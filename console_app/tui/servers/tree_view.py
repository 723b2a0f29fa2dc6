"""The tree of servers as a widget, and the lines below it that say more of the row under its cursor."""

from __future__ import annotations

from collections.abc import Callable

from textual.strip import Strip
from textual.widget import Widget

from console_app.console.servers.tree import ItemRow, NoteRow, Row, ServerRow, SwitchTree
from console_app.tui.lineview.lines import Line, fit
from console_app.tui.lineview.palette import Palette
from console_app.tui.servers import paint
from console_app.tui.widgets.row_list import RowList


class ServerTree(RowList):
    """The tree on screen."""

    def __init__(self, switches: SwitchTree, clock: Callable[[], float]) -> None:
        super().__init__()
        self.switches = switches
        self.rows: list[Row] = []
        self._clock = clock

    def show(self, query: str, chosen: object = None) -> None:
        """The rows as they are now; the cursor goes to the row whose `identity` is `chosen`, else stays on its own."""
        before = chosen or identity(self.row)
        self.rows = self.switches.rows(query)
        place = next((at for at, row in enumerate(self.rows) if identity(row) == before), None)
        self.set_count(len(self.rows), place)

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if 0 <= self.cursor < len(self.rows) else None

    def paint_row(self, row: int, width: int, palette: Palette) -> Line:
        return paint.paint_row(self.rows[row], width, palette, self._clock(), chosen=row == self.cursor)


class Details(Widget):
    """What there is to say of the row under the cursor, and the sums."""

    DEFAULT_CSS = "Details { height: 5; width: 1fr; border-top: solid $panel; }"

    def __init__(self, tree: ServerTree) -> None:
        super().__init__()
        self._tree = tree

    def render_line(self, y: int) -> Strip:
        """Lines on the row, then one of sums."""
        width, height = self.content_size
        palette = self._tree.palette
        if y == height - 1:
            return paint.summary(self._tree.switches, width, palette)
        if y == 0 and not self._tree.rows:
            nothing = (
                "Nothing fits the search." if self._tree.switches.statuses else "No server is configured; a adds one."
            )
            return fit([(f" {nothing}", palette.muted)], width, palette.base)
        return paint.details(self._tree.row, width, max(height - 1, 1), palette)[y]


def identity(row: Row | None) -> object:
    """What a row is of, the same before and after it was made anew."""
    match row:
        case ServerRow():
            return "server", row.status.name
        case ItemRow():
            return "item", row.item.key
        case NoteRow():
            return "note", row.server, row.text
        case None:
            return None

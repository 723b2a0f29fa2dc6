"""The items that run: a row each, with its calls as lanes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from console_app.domain.batch import Lane, RunningItem, duration
from console_app.domain.safe_text import one_line
from console_app.domain.tools import CallState, Outcome
from console_app.tui.lineview import spinner
from console_app.tui.lineview.lines import Line, Piece, crop, fit, pieces_width
from console_app.tui.lineview.palette import Palette
from console_app.tui.widgets.row_list import RowList

_ID, _TIME = 24, 12  # cells
_MOST_LANES = 40


class RunningList(RowList):
    """In the order in which they began. The cursor stays on its item while others end."""

    def __init__(self) -> None:
        super().__init__(id="running")
        self._items: Sequence[RunningItem] = ()
        self._now = 0.0

    @property
    def selected(self) -> str | None:
        """The id of the item under the cursor."""
        return self._items[self.cursor].id if 0 <= self.cursor < len(self._items) else None

    def show(self, items: Sequence[RunningItem], now: float) -> None:
        """These run now."""
        before = self.selected
        self._items, self._now = items, now
        place = next((at for at, item in enumerate(items) if item.id == before), max(self.cursor, 0))
        self.set_count(len(items), place)

    def paint_row(self, row: int, width: int, palette: Palette) -> Line:
        """`ID  TIME  LANES  what the newest call is`."""
        item = self._items[row]
        name = _column(one_line(item.id), _ID, palette.strong)
        took = _column(duration(max(self._now - item.started_at, 0.0)), _TIME, palette.muted)
        pieces: list[Piece] = [*name, *took]
        lanes = item.lanes[-_MOST_LANES:]
        pieces += [_mark(lane, self._now, palette) for lane in lanes]
        open_ones = [lane.label for lane in lanes if lane.state is not CallState.FINISHED]
        what = open_ones[-1] if open_ones else "the model"
        pieces.append((f"{' ' if lanes else ''}{one_line(what)}", palette.base if open_ones else palette.muted))
        return fit(crop(pieces, width), width, palette.base)


def _column(text: str, cells: int, style: Style) -> list[Piece]:
    pieces = crop([(text, style)], cells - 1)
    return [*pieces, (" " * (cells - pieces_width(pieces)), style)]


def _mark(lane: Lane, now: float, palette: Palette) -> Piece:
    match lane.outcome:
        case None if lane.state is CallState.RUNNING:
            return spinner(palette.turning(now)), palette.primary
        case None:
            return "·", palette.muted
        case Outcome.SUCCEEDED:
            return "✓", palette.success
        case outcome if outcome.is_error:
            return "✗", palette.error
        case _:
            return "○", palette.warning

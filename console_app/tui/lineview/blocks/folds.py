"""Count in a line under a batch the rows that don't fit into the view.

Of a batch that is taller than the view what fits is shown: calls that run first. Once the next answer has
begun or its turn is over, one of more than a third of the view is a report: the counts, and the rows that need an eye.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from console_app.domain import CallState
from console_app.domain.transcript import CallView
from console_app.tui.lineview.blocks.block import Block, framed, gutter_of, margin_of
from console_app.tui.lineview.calls.group import AROUND, CallGroup, Fold
from console_app.tui.lineview.lines import Line, Piece, Row, crop, pieces_width
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.wording import COUNTED, counted, counted_as

USUAL_TAIL = 3  # lines that a call which writes has for its output before rows of calls that don't run
FEWEST = 4  # calls of a batch that are always rows


class FoldBlock(Fold):
    """Decides which rows of its batch are folded, and counts them. Opened, it shows all; a choice of one state outlasts
    the batch."""

    def __init__(self, group: CallGroup) -> None:
        super().__init__()
        self.group = group
        self._shown: frozenset[str] | None = None  # the calls whose rows are not folded; None: all
        self._counted: tuple[tuple[str, int], ...] = ()  # the folded calls, when it was last looked at
        self._known = -1  # the version of the group for which that holds

    def hides(self, call: CallView) -> bool:
        if self.group.only:
            return counted_as(call) != self.group.only
        if self._known != self.group.version:
            self._known = self.group.version
            self._shown = None if self.open or not self._folds else self._chosen()
        return self._shown is not None and call.id not in self._shown

    def toggle(self) -> None:
        if self.group.only:
            self.group.only = ""
        else:
            super().toggle()
        self.group.changed()

    @property
    def opens(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._folds

    @property
    def is_stop(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._folds

    @property
    def gap(self) -> int:
        return 0

    @property
    def beside(self) -> Sequence[Block]:
        return self.group.members

    def set_room(self, height: int) -> bool:
        return self.group.room_changed(height)  # how many rows there is room for

    def look(self) -> tuple[object, ...]:
        self._counted = self._folded() if self._folds else ()
        return self._folds, self.group.only, self._counted

    def estimate(self, width: int) -> int:
        return int(self._folds)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        if not self._folds:
            return []
        ink = palette.on_chosen if self.selected else palette
        gutter = gutter_of(width)
        room = max(width - gutter - margin_of(width), 1)
        counts = ", ".join(counted(count, word) for word, count in self._counted)
        only = self.group.only
        none = only and all(counted_as(call) != only for call in self.group.calls)
        head: list[Piece] = [(f"only {only}{': none now' if none else ''} · ", ink.warning)] if only else []
        head.append((f"+ {counts}" if counts else "no call is folded", ink.muted))
        keys: list[Piece] = [("t", ink.strong), (" next state  ", ink.muted)] if only else []
        keys += [("o", ink.strong), (" open" if only or counts else " close", ink.muted)]
        gap = room - pieces_width(head) - pieces_width(keys)
        if gap > 1 and (only or self.selected):  # elsewhere the letter does something else, or is text
            head += [(" " * gap, ink.base), *keys]
        mark = "▌" if self.selected else " "
        lead: list[Piece] = (
            [(" " * (gutter - 2), palette.base), (mark, palette.primary), (" ", palette.base)] if gutter >= 2 else []
        )
        return [framed(Row(crop(head, room), fill=ink.base if self.selected else None), width, palette, lead)]

    @property
    def _folds(self) -> bool:
        group = self.group
        if group.only:
            return True
        rows = sum(call.state is not CallState.WAITING for call in group.calls)  # others stand on the board
        if group.reported:
            return 0 < max(group.room // 3 - 1, FEWEST) < rows
        return 0 < group.room < rows + AROUND

    def _chosen(self) -> frozenset[str]:
        """The calls that have room, by rank. None where the counts and this line take it all: a row behind them would
        be neither seen nor counted."""
        calls = self.group.calls
        room = max(self.group.room - AROUND, 0)
        if self.group.reported:
            room = max(room // 3, 1)
            calls = [call for call in calls if _rank(call) <= _NEEDS_AN_EYE]
        ranked = sorted(calls, key=lambda call: (_rank(call), -(call.finished_at or 0.0)))  # the newest ends first
        first = sum(_rank(call) <= _NEEDS_AN_EYE for call in ranked)
        writing = sum(call.output is not None and call.state is CallState.RUNNING for call in ranked)
        free = max(room - first - writing * USUAL_TAIL, 0)
        return frozenset(call.id for call in ranked[: min(first + free, room)])

    def _folded(self) -> tuple[tuple[str, int], ...]:
        waits = CallState.WAITING  # on the board
        found = Counter(counted_as(one.call) for one in self.group.panels if one.folded and one.call.state is not waits)
        return tuple((word, found[word]) for word in COUNTED if found[word])


_NEEDS_AN_EYE = 1


def _rank(call: CallView) -> int:
    match call.state:
        case CallState.RUNNING:
            return 0
        case CallState.FINISHED:
            return _NEEDS_AN_EYE if call.verdict is not None and call.verdict.needs_an_eye else 4
        case CallState.ANNOUNCED:
            return 2
        case CallState.QUEUED | CallState.WAITING:
            return 3

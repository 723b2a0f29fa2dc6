"""Count in a line under a batch the calls that have no row: see `CallGroup` for which these are."""

from __future__ import annotations

from collections.abc import Sequence

from console_app.tui.lineview.blocks.block import Block, framed, gutter_of, margin_of
from console_app.tui.lineview.calls.group import CallGroup
from console_app.tui.lineview.lines import Line, Piece, Row, crop, pieces_width
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.wording import counted


class FoldBlock(Block):
    """Counts the folded calls of its batch. Opened, it shows them all.

    Where only calls of one state are to be seen, all others are folded, also when the batch has ended.
    """

    def __init__(self, group: CallGroup) -> None:
        super().__init__()
        self.group = group
        self._counted: list[tuple[int, str]] = []  # the folded calls, when it was last looked at

    def toggle(self) -> None:
        if self.group.only:
            self.group.only = ""
        else:
            super().toggle()
        self.group.changed()

    @property
    def opens(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.group.folds

    @property
    def is_stop(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.group.folds

    @property
    def gap(self) -> int:
        return 0

    @property
    def beside(self) -> Sequence[Block]:
        return self.group.members

    def set_room(self, height: int) -> bool:
        return self.group.room_changed(height)  # how many rows there is room for

    def look(self) -> tuple[object, ...]:
        self._counted = self.group.folded if self.group.folds else []
        return self.group.folds, self.group.only, *self._counted

    def estimate(self, width: int) -> int:
        return int(self.group.folds)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        if not self.group.folds:
            return []
        ink = palette.on_chosen if self.selected else palette
        gutter = gutter_of(width)
        room = max(width - gutter - margin_of(width), 1)
        counts = ", ".join(counted(count, word) for count, word in self._counted)
        if counts and sum(count for count, _ in self._counted) == len(self.group.calls):
            counts = "all calls"  # which the head counts
        only = self.group.only
        none = only and not self.group.tally.number(only)
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

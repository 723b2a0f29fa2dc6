"""The line that never leaves the view: of the newest block that `sticks`, its first line, held at the edge of the view
beyond which its own place is. It covers one line of what scrolls."""

from __future__ import annotations

from collections.abc import Callable

from console_app.tui.lineview.block import Block
from console_app.tui.lineview.block_list import BlockList

LOWEST_VIEW = 4  # lines of a view that can spare one while something in it is selected


class StuckLine:
    """Which block has its line at an edge, and in which line of the view. Told of blocks that may stick by `watch`.
    `is_in_use` is whether the view has the keys."""

    def __init__(self, blocks: BlockList, is_in_use: Callable[[], bool]) -> None:
        self._list = blocks
        self._is_in_use = is_in_use
        self._watched: dict[Block, None] = {}
        self.block: Block | None = None
        self.row = 0

    def watch(self, block: Block) -> None:
        """This block may stick from now on."""
        self._watched[block] = None

    def row_at(self, top: int, height: int) -> int | None:
        """The line of the view that would be covered if `top` were its first; None: its own place is in view."""
        block = self._candidate()
        if block is None or height < (LOWEST_VIEW if self._is_in_use() else 1):
            return None
        line = self._list.top_of(block) + block.gap
        return 0 if line < top else height - 1 if line >= top + height else None

    def uncovered(self, top: int, height: int) -> tuple[int, int]:
        """The first line that is seen of a view that begins at `top`, and the one past the last."""
        row = self.row_at(top, height)
        return top + (row == 0), top + height - (row == height - 1)

    def place(self, top: int, height: int) -> tuple[int, ...]:
        """Brings it in line with what is on screen: the lines of the view that look different for that."""
        before = None if self.block is None else self.row
        row = self.row_at(top, height)
        block = None if row is None else self._candidate()
        if (block, row) == (self.block, before):
            return ()
        self.block, self.row = block, row or 0
        return tuple(one for one in (before, row) if one is not None)

    def _candidate(self) -> Block | None:
        for block in [block for block in self._watched if block.index < 0 or not block.sticks]:
            del self._watched[block]
        return max(self._watched, key=lambda block: block.index, default=None)

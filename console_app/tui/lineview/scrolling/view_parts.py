"""Holds the parts of the conversation's view that are no blocks: the marks of found words, the line that sticks to an
edge, and the scroll bar."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

from console_app.tui.lineview.blocks.block import Block
from console_app.tui.lineview.blocks.block_list import BlockList
from console_app.tui.lineview.blocks.passages import Matches
from console_app.tui.lineview.lines import Line
from console_app.tui.lineview.scrolling.scroll_internals import set_virtual_size_without_layout
from console_app.tui.lineview.scrolling.selection import (
    restyled,
)

FOUND = Style(underline=True, bold=True)
HERE = Style(reverse=True, bold=True)  # seen without colours too


class Found:
    """Marks the words that are searched for in one view. `here` is the block and the number of a match."""

    def __init__(self, unfinished: Callable[[Matches], None] = lambda matches: None) -> None:
        """`unfinished` is told of matches that are wanted, and known in part."""
        self._unfinished = unfinished
        self.pattern: re.Pattern[str] | None = None
        self.here: tuple[Block, int] | None = None
        self.stale: dict[Block, None] = {}  # changed since they were last counted
        self._marks: dict[Block, tuple[Sequence[Line], Matches]] = {}

    def look_for(self, words: str) -> None:
        """Other words, in any case and whatever space or line end is between them, or with "" none."""
        parts = words.split()
        self.pattern = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE) if parts else None
        self.here = None
        self._marks.clear()

    def changed(self, block: Block) -> None:
        """A block is another one, or new. Called once a token."""
        if self.pattern is not None:
            self.stale[block] = None

    def matches(self, block: Block) -> Matches:
        """Find the words in a block as it is painted."""
        known = self._marks.get(block)
        if known is None or known[0] is not block.lines:
            passages = () if self.pattern is None else block.searchable()
            before = None if known is None else known[1]
            known = (block.lines, Matches(passages, self.pattern or re.compile("(?!)"), before))
            self._marks[block] = known
        return known[1]

    def paint(self, strip: Strip, block: Block, line: int) -> Strip:
        if self.pattern is None or not block.lines:
            return strip
        if block.unfinished:
            return strip  # it will be painted again
        matches = self.matches(block)
        if matches.unfinished:
            self._unfinished(matches)
            return strip
        here = self.here[1] if self.here is not None and self.here[0] is block else -1
        for number, start, end in matches.on(line):
            strip = restyled(strip, start, end, HERE if number == here else FOUND)
        return strip


LOWEST_VIEW = 4  # lines of a view that can spare one while something in it is selected


class StuckLine:
    """Keeps a line in view, at an edge, while its block is scrolled out of it.

    `watch` is told of blocks that may stick, and `row` is the line of the view where one does. `is_in_use` tells
    whether the view has the keys.
    """

    def __init__(self, blocks: BlockList, is_in_use: Callable[[], bool]) -> None:
        self._list = blocks
        self._is_in_use = is_in_use
        self._watched: dict[Block, None] = {}
        self.block: Block | None = None
        self.row = 0

    def watch(self, block: Block) -> None:
        self._watched[block] = None

    def row_at(self, top: int, height: int) -> int | None:
        """Return the line of the view that would be covered if `top` were its first; None if none would be."""
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
        """Move the line to where it belongs now, and return the lines of the view that look different for that."""
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


def set_total(view: ScrollView, width: int, height: int) -> None:
    size = Size(width, height)
    if size == view.virtual_size:
        return
    room = view.container_size.height
    if (view.virtual_size.height > room) != (height > room):
        view.virtual_size = size  # the scroll bar comes or goes: a layout
        return
    # A layout of the whole screen for each new line would be the dearest part of streaming.
    set_virtual_size_without_layout(view, size)


class QuickScrollBar(ScrollBar):
    """Looks as Textual's own, whose lines are each drawn as a whole widget's would be: 34 of them took an eighth of
    what a streamed answer costs. A bar has five kinds of cells at most, and neither border nor padding."""

    def render_lines(self, crop: Region) -> list[Strip]:
        bar, (width, height) = self.render(), self.size
        if not isinstance(bar, ScrollBarRender) or not isinstance(bar.style, Style) or crop != Region(0, 0, 1, height):
            return super().render_lines(crop)
        back, front = bar.style.bgcolor, bar.style.color
        if back is None or front is None or width != 1:
            return super().render_lines(crop)
        cells = bar.render_bar(
            size=height,
            virtual_size=bar.virtual_size,
            window_size=bar.window_size,
            position=bar.position,
            thickness=bar.thickness,
            vertical=bar.vertical,
            back_color=back,
            bar_color=front,
        ).segments
        base = self.rich_style
        return [self._strip(cell, base) for cell in cells]

    @lru_cache(64)  # noqa: B019 (a bar is as old as its view)
    def _strip(self, cell: Segment, base: Style) -> Strip:
        strip = Strip([Segment(cell.text, base + cell.style if cell.style else base)], 1)
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, self.background_colors[1])
        return strip

"""The part of the conversation's view that scrolls, keeps time and paints: a Line-API widget over a `BlockList`.

Tasks and events only change blocks and call `changed`; one clock, which runs while something changes or spins, paints
what is on screen. Whatever grows or shrinks above the first visible line moves the scroll position with it, so that
the text being read stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import App
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.selection import Selection
from textual.strip import Strip

from console_app.domain.steady_time import steady_time
from console_app.records import dataclass
from console_app.tui.lineview.blocks.block import Block
from console_app.tui.lineview.blocks.block_list import BlockList
from console_app.tui.lineview.blocks.passages import Matches
from console_app.tui.lineview.lines import Line
from console_app.tui.lineview.palette import Palette, palette_of
from console_app.tui.lineview.scrolling.frame_clock import CALM_EVERY, LIVE_EVERY, FrameClock
from console_app.tui.lineview.scrolling.scroll_internals import give_scroll_bar, set_virtual_size_without_layout
from console_app.tui.lineview.scrolling.selection import (
    ROWS_A_BLOCK,
    ends_in,
    hold,
    paint_selection,
    restyled,
    selected_text,
)
from console_app.tui.lineview.scrolling.slices import Sliced, Slices

FOUND = Style(underline=True, bold=True)
HERE = Style(reverse=True, bold=True)  # seen without colours too


class Found:
    """Marks the words that are searched for in one view. `here` is the block and the number of the match that was gone
    to."""

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
        """Return the line of the view that would be covered if `top` were its first; None while its own place is in
        view."""
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


SETTLING = 24  # tries to bring heights and position in line; each measures at least one more block


class BlockScroll(ScrollView):
    """Scrolls over blocks, follows their end while at the end, and lets their text be selected."""

    ALLOW_SELECT = True

    @dataclass
    class BelowChanged(Message):
        """Says whether more stands below the view, and how many blocks of it came since the end was not followed."""

        more: bool
        new: int

    def __init__(self, *, id: str | None = None, clock: Callable[[], float] = steady_time) -> None:
        super().__init__(id=id)
        self.following = True
        self.slices = Slices(self, self._sliced)
        self._list = BlockList(self.slices.add, lambda block: hold(self, block))
        self._stuck = StuckLine(self._list, lambda: self.has_focus)
        self._clock = clock
        self._palette: Palette | None = None
        self.frames = FrameClock(self, self.paint_frame)
        self._adjusting = False
        self._below, self._told = 0, (False, 0)  # blocks that came below, and what `BelowChanged` said last
        self._beat: Callable[[float], bool] | None = None
        self._held_back = False  # it would follow the end, but for what `_hold` says
        self.found = Found(self.slices.add)

    @property
    def blocks(self) -> Sequence[Block]:
        return self._list.blocks

    @property
    def is_painted(self) -> bool:
        """Tell whether every change so far is on screen, if there is room for any."""
        return not (self._list.dirty or self.slices.unfinished) or not self._list.width

    @property
    def console_app(self) -> App[Any]:
        return cast("App[Any]", self.app)  # pyright: ignore[reportUnknownMemberType]

    @property
    def now(self) -> float:
        """The time by the clock of the conversation, seconds since the epoch."""
        return self._clock()

    @property
    def palette(self) -> Palette:
        if self._palette is None:
            self._palette = palette_of(self.console_app)
            self.frames.live_every = CALM_EVERY if self._palette.still else LIVE_EVERY
        return self._palette

    @property
    def room(self) -> int:
        """Visible lines; 0 before the first layout."""
        return self.size.height

    @property
    def top(self) -> int:
        return round(self.scroll_y)

    # ---------------------------------------------------------------- content

    def add_block(self, block: Block, *, before: Block | None = None) -> None:
        """Adds a block at the end, or before another."""
        self._list.add(block, before)
        if not self.following and block.index == len(self.blocks) - 1:
            self._below += 1
        self.changed(block)

    def remove_block(self, block: Block) -> None:
        if block.index < 0:
            return
        height, above = self._list.height_of(block), self._list.top_of(block) < self.top
        self._list.remove(block)
        self._settle(shift=-height if above else 0)
        self.refresh()

    def clear(self) -> None:
        self._list.clear()
        self._follow(True)
        self._settle()
        self.refresh()

    def changed(self, block: Block) -> None:
        """A block's state has changed: it is painted with the next frame. Cheap; called once a token."""
        self._list.dirty[block] = None
        self.found.changed(block)
        self.frames.wake()

    def _sliced(self, work: Sliced) -> None:
        """Paint a block of which more is laid out, or in which more matches were found."""
        if isinstance(work, Block) and work.index >= 0:
            self._list.dirty[work] = None
        elif not work.unfinished:
            self.refresh()
        self.frames.wake()

    # ------------------------------------------------------------------ clock

    def on_mount(self) -> None:
        give_scroll_bar(self, QuickScrollBar)
        self.frames.start()
        self.console_app.theme_changed_signal.subscribe(self, self._theme_changed)
        if self._list.dirty:
            self.frames.wake()

    def on_beat(self, beat: Callable[[float], bool]) -> None:
        """Has `beat` called with the time of each frame; while it gives True, the clock runs on. `wake` starts it."""
        self._beat = beat

    def wake(self) -> None:
        """Something may move from now on that no block tells of."""
        self.frames.wake()

    def paint_frame(self, live_too: bool = True) -> bool:
        """Paint the blocks on screen that changed, and with `live_too` those that move by themselves. Return False
        where none does."""
        if self.size.width != self._list.width:
            # Textual tells nobody of a size that was looked up (`region`) between a scroll elsewhere and the layout.
            self._lay_out()
        moves = self._beat is not None and self._beat(self._clock())
        if not self._list.width:
            return moves or bool(self._list.dirty)
        live = [block for block in self._on_screen() if block.live]
        if not self._list.dirty and not live and not moves:
            return False
        if live_too:
            self._list.dirty.update(dict.fromkeys(live))
        self._flush()
        return True

    def _flush(self) -> None:
        """Paints dirty blocks that are on screen, corrects heights, and refreshes only the lines that differ."""
        now, palette = self._clock(), self.palette
        dirty = self._list.take_dirty()
        top = self.top
        bottom = top + self.size.height
        anchor = self._anchor()
        held = self._list.place(anchor, top)
        moved = False
        for block in dirty:
            if block.index < 0:
                continue
            if block.sticks:
                self._stuck.watch(block)
            begin = self._list.top_of(block)
            end = begin + self._list.height_of(block)
            if end <= top or begin >= bottom or (begin == end and not block.estimate(self._list.width)):
                # Not seen, or only once the view has followed: `_settle` measures what comes into view.
                old = block.lines
                delta = self._list.reestimate(block)
                moved = moved or self.following
                if block is self._stuck.block and self._list.paint(block, palette, now) is not old:
                    self.refresh_lines(top + self._stuck.row)
            else:
                old = block.lines
                delta = self._list.measure(block, palette, now)
                if delta:
                    past = min(min(end, bottom) - begin, len(old), len(block.lines))
                    changed = _differences(old, block.lines, max(top - begin, 0), past)
                    y = max(begin + next((line for line, _ in changed), past) - top, 0)
                    if y < self.size.height:
                        self.refresh(Region(0, y, self.size.width, self.size.height - y))
                elif block.lines is not old:
                    self._refresh_changes(begin, old, block.lines)
            moved = moved or delta != 0 or (block.estimates and block.unfinished)
        if moved or self._list.total != self.virtual_size.height:
            self._settle(shift=self._list.moved(anchor, held))
        self._restick()

    def _refresh_changes(self, begin: int, old: Sequence[Line], new: Sequence[Line]) -> None:
        start, stop = max(self.top - begin, 0), min(self.top + self.size.height - begin, len(new))
        for y, count in _differences(old, new, start, stop):
            self.refresh_lines(begin + y, count)

    # --------------------------------------------------------------- position

    def _on_screen(self) -> list[Block]:
        stuck, visible = self._stuck.block, self._list.visible(self.top, self.size.height)
        return visible if stuck is None or stuck.index < 0 else [*visible, stuck]

    def _anchor(self) -> Block | None:
        """The block that stays in its line of the view while others grow: the first that is visible."""
        index, _ = self._list.find(self.top)
        return self.blocks[index] if index < len(self.blocks) else None

    def _hold(self) -> int | None:
        """The furthest that the view may follow the end."""
        return None

    def _restick(self) -> None:
        for row in self._stuck.place(self.top, self.size.height):
            self.refresh_lines(self.top + row)

    def _settle(self, shift: int = 0) -> None:
        """Brings heights, scroll bar and position in line: blocks come into view, are measured, and may push others."""
        if not self._list.width:
            return
        now = self._clock()
        target = self.scroll_y + shift
        for _ in range(SETTLING):
            set_total(self, self._list.width, self._list.total)
            limit = self.max_scroll_y
            if self.following and (hold := self._hold()) is not None and hold < limit:
                self._follow(False)
                self._held_back, target = True, hold
            self._jump(limit if self.following else min(max(target, 0), limit))
            target = self.scroll_y
            pushed, changed = self._list.measure_seen(self.top, self.room, self.palette, now, not self.following)
            target += pushed
            if not changed:
                break
            self.refresh()
        self._at_rest()

    def _jump(self, y: float) -> None:
        if round(y) == self.top and self.scroll_target_y == round(y):
            return
        self._adjusting = True
        try:
            self.console_app.animator.force_stop_animation(self, "scroll_y")
            self.scroll_target_y = y
            self.scroll_y = y
        finally:
            self._adjusting = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the end while at the end. Blocks that come into view are measured and begin to move."""
        super().watch_scroll_y(old_value, new_value)
        if self._adjusting or round(old_value) == round(new_value):
            return
        self._follow(round(new_value) >= self.max_scroll_y)
        self._held_back = False
        if self._list.width:
            pushed, changed = self._list.measure_seen(self.top, self.room, self.palette, self.now, not self.following)
            if changed:
                self._settle(shift=pushed)
            else:
                self._at_rest()
        self.frames.wake()

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Textual tells a scroll bar only of scrolling that happens while it is seen."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def _follow(self, following: bool) -> None:
        if following is not self.following:
            self.following = following
            self._below = 0
            self._held_back = False

    def _at_rest(self) -> None:
        self._restick()
        self._list.drop_cold([*self._on_screen(), *ends_in(self.text_selection, self.blocks)])
        told = (True, self._below) if not self.following and self.top < self.max_scroll_y else (False, 0)
        if told != self._told:
            self._told = told
            self.post_message(self.BelowChanged(*told))

    def _scroll_by_hand(self, y: int) -> None:
        """Scroll as a reader does: the end is followed only when this leads there."""
        self._follow(max(y, 0) >= self.max_scroll_y)
        self._held_back = False
        self._settle(shift=y - self.top)
        self.frames.wake()

    def on_resize(self, event: events.Resize) -> None:
        """Keeps the line at the top, or the end, in its place under another width."""
        self._lay_out()
        self.frames.wake()

    def _lay_out(self) -> None:
        width, height = self.size
        for block in self.blocks:
            if block.set_room(height):
                self._list.dirty[block] = None
        shift = 0
        if width != self._list.width:
            shift = self._list.resize(width, self.top, height, self.palette, self.now)
        self._settle(shift=shift)
        self.refresh()

    def _theme_changed(self, _theme: object) -> None:
        self._palette = None
        self._list.unmeasure()
        self._settle()
        self.refresh()

    # ----------------------------------------------------------------- paint

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a region. Painted strips go to the compositor as they are, so that a scroll costs little."""
        selection = self.text_selection
        mark = self.palette.selection
        strips: list[Strip] = []
        for line, index, place in self._lines(crop.y, crop.height):
            strip = line if index < 0 else paint_selection(line, selection, index * ROWS_A_BLOCK + place, mark)
            strips.append(strip if index < 0 else self.found.paint(strip, self.blocks[index], place))
        if self._list.dirty or any(block.live for block in self._on_screen()):
            self.frames.wake()
        for line_filter in self.get_line_filters():
            background = self.background_colors[1]
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        if crop.x or crop.width != self._list.width:
            base = self.palette.base
            strips = [strip.crop_extend(crop.x, crop.x + crop.width, base) for strip in strips]
        return strips

    def _lines(self, y: int, count: int) -> list[tuple[Line, int, int]]:
        """Return the lines of the view as `BlockList.lines` does, the line that sticks to an edge among them."""
        lines = self._list.lines(self.top + y, count, self.palette, now := self._clock())
        stuck, row = self._stuck.block, self._stuck.row - y
        if stuck is not None and stuck.index >= 0 and 0 <= row < count:
            painted = stuck.lines or self._list.paint(stuck, self.palette, now)
            if len(painted) > stuck.gap:
                lines[row] = (painted[stuck.gap], stuck.index, stuck.gap)
        return lines

    def render_line(self, y: int) -> Strip:
        """Return a line with the offsets that text selection reads. The screen asks for it under the mouse only."""
        line, index, place = self._lines(y, 1)[0]
        return line if index < 0 else line.apply_offsets(0, index * ROWS_A_BLOCK + place)

    @property
    def allow_select(self) -> bool:
        return True

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it is seen, without borders and gutters."""
        now = self._clock()

        def lines_of(index: int) -> Sequence[Line]:
            lines = self._list.whole(self.blocks[index], self.palette, now)
            self._list.drop_cold([*self._on_screen(), *ends_in(self.text_selection, self.blocks)])
            self.frames.wake()
            return lines

        text = selected_text(selection, self.blocks, lines_of)
        return (text, "\n") if text else None

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()


def _differences(old: Sequence[Line], new: Sequence[Line], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Runs of lines of `new`, from `start` to before `stop`, that are not as they were: the first, and how many."""
    run: int | None = None
    for y in range(start, stop):
        same = y < len(old) and (old[y] is new[y] or old[y] == new[y])
        if not same and run is None:
            run = y
        elif same and run is not None:
            yield run, y - run
            run = None
    if run is not None:
        yield run, stop - run


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
        painted: dict[int, Strip] = {}
        return [painted.get(id(cell)) or painted.setdefault(id(cell), self._strip(cell, base)) for cell in cells]

    def _strip(self, cell: Segment, base: Style) -> Strip:
        strip = Strip([Segment(cell.text, base + cell.style if cell.style else base)], 1)
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, self.background_colors[1])
        return strip

"""The part of the conversation's view that scrolls, keeps time and paints: a Line-API widget over a `BlockList`.

Tasks and events only change blocks and call `changed`; one clock, which runs while something changes or spins, paints
what is on screen. Whatever grows or shrinks above the first visible line moves the scroll position with it, so that
the text being read stays where it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from textual import events
from textual.app import App
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from console_app.tui.conversation.block import Block
from console_app.tui.conversation.block_list import BlockList
from console_app.tui.conversation.lines import Line
from console_app.tui.conversation.selection import ROWS_A_BLOCK, paint_selection, selected_text
from console_app.tui.palette import Palette, build_palette

FRAME = 1 / 20  # seconds between frames while something changes
LIVE_EVERY = 2  # frames between two looks of what only spins or counts
REST = 2.0  # after a slow frame the view rests so many times as long as the frame took
SETTLING = 24  # tries to bring heights and position in line; each measures at least one more block


class BlockScroll(ScrollView):
    """Scrolls over blocks, follows their end while at the end, and lets their text be selected."""

    ALLOW_SELECT = True

    class FollowChanged(Message):
        """The view began or ceased to follow the end. `below` counts blocks that came since it ceased."""

        def __init__(self, following: bool, below: int) -> None:
            super().__init__()
            self.following = following
            self.below = below

    def __init__(self, *, id: str | None = None, clock: Callable[[], float] = time.time) -> None:
        super().__init__(id=id)
        self.following = True
        self._list = BlockList()
        self._clock = clock
        self._palette: Palette | None = None
        self._timer: Timer | None = None
        self._ticking = False
        self._frame = 0
        self._resting_until = 0.0
        self._adjusting = False
        self._below = 0

    @property
    def blocks(self) -> Sequence[Block]:
        """All blocks, in order."""
        return self._list.blocks

    @property
    def console_app(self) -> App[Any]:
        """The app, whatever its result type."""
        return cast("App[Any]", self.app)  # pyright: ignore[reportUnknownMemberType]

    @property
    def now(self) -> float:
        """The time by the clock of the conversation, seconds since the epoch."""
        return self._clock()

    @property
    def palette(self) -> Palette:
        """The styles of the app's theme."""
        if self._palette is None:
            app = self.console_app
            self._palette = build_palette(app.theme_variables, dark=app.current_theme.dark)
        return self._palette

    @property
    def room(self) -> int:
        """Visible lines; 0 before the first layout."""
        return self.size.height

    @property
    def top(self) -> int:
        """The first visible line."""
        return round(self.scroll_y)

    # ---------------------------------------------------------------- content

    def add_block(self, block: Block, *, before: Block | None = None) -> None:
        """Adds a block at the end, or before another."""
        self._list.add(block, before)
        if not self.following and block.index == len(self.blocks) - 1:
            self._below += 1
            self.post_message(self.FollowChanged(False, self._below))
        self.changed(block)

    def remove_block(self, block: Block) -> None:
        """Takes a block out again."""
        if block.index < 0:
            return
        height, above = self._list.height_of(block), self._list.top_of(block) < self.top
        self._list.remove(block)
        self._settle(shift=-height if above else 0)
        self.refresh()

    def clear(self) -> None:
        """An empty conversation."""
        self._list.clear()
        self._follow(True)
        self._settle()
        self.refresh()

    def changed(self, block: Block) -> None:
        """A block's state has changed: it is painted with the next frame. Cheap; called once a token."""
        self._list.dirty[block] = None
        if not self._ticking:
            self._wake()

    # ------------------------------------------------------------------ clock

    def on_mount(self) -> None:
        """Starts the clock at rest, and listens for themes."""
        self._timer = self.set_interval(FRAME, self._tick, pause=True)
        self.console_app.theme_changed_signal.subscribe(self, self._theme_changed)
        if self._list.dirty:
            self._wake()

    def _wake(self) -> None:
        if self._timer is None or self._ticking:
            return
        self._ticking = True
        self._timer.resume()
        self.call_next(self._tick)

    def _tick(self) -> None:
        """One frame: what changed, and what moves by itself, as far as it is on screen."""
        begin = time.monotonic()
        if not self._ticking or not self._list.width or begin < self._resting_until:
            return
        self._frame += 1
        live = [block for block in self._visible() if block.live]
        if not self._list.dirty and not live:
            self._ticking = False
            if self._timer is not None:
                self._timer.pause()
            return
        if self._list.dirty or self._frame % LIVE_EVERY == 0:
            self._list.dirty.update(dict.fromkeys(live))
        self._flush()
        took = time.monotonic() - begin
        self._resting_until = begin + took * (1 + REST) if took > FRAME / 4 else 0.0

    def _flush(self) -> None:
        """Paints dirty blocks that are on screen, corrects heights, and refreshes only the lines that differ."""
        now, palette = self._clock(), self.palette
        dirty, self._list.dirty = self._list.dirty, {}
        top = self.top
        bottom = top + self.size.height
        shift = 0
        moved = False
        for block in dirty:
            if block.index < 0:
                continue
            begin = self._list.top_of(block)
            end = begin + self._list.height_of(block)
            if end <= top or begin >= bottom:
                # Off screen, or on it only once the view has followed: `_settle` measures what comes into view.
                delta = self._list.reestimate(block)
                shift += delta if end <= top else 0
                moved = moved or self.following
            else:
                old = block.lines
                delta = self._list.measure(block, palette, now)
                if delta:
                    self._refresh_from(begin + min(_first_difference(old, block.lines), end - begin))
                elif block.lines is not old:
                    self._refresh_changes(begin, old, block.lines)
            moved = moved or delta != 0
        if moved or self._list.total != self.virtual_size.height:
            self._settle(shift=shift)

    def _refresh_changes(self, begin: int, old: Sequence[Line], new: Sequence[Line]) -> None:
        """Marks the visible lines of a block that are not as they were."""
        start, stop = max(self.top - begin, 0), min(self.top + self.size.height - begin, len(new))
        run: int | None = None
        for y in range(start, stop):
            same = y < len(old) and (old[y] is new[y] or old[y] == new[y])
            if not same and run is None:
                run = y
            elif same and run is not None:
                self.refresh_lines(begin + run, y - run)
                run = None
        if run is not None:
            self.refresh_lines(begin + run, stop - run)

    def _refresh_from(self, line: int) -> None:
        """Marks everything from a line to the end of the view."""
        y = max(line - self.top, 0)
        if y < self.size.height:
            self.refresh(Region(0, y, self.size.width, self.size.height - y))

    # --------------------------------------------------------------- position

    def _visible(self) -> list[Block]:
        return self._list.visible(self.top, self.size.height)

    def _settle(self, shift: int = 0) -> None:
        """Brings heights, scroll bar and position in line: blocks come into view, are measured, and may push others."""
        if not self._list.width:
            return
        now = self._clock()
        target = self.scroll_y + shift
        for _ in range(SETTLING):
            self._set_total(self._list.total)
            limit = self.max_scroll_y
            self._jump(limit if self.following else min(max(target, 0), limit))
            target = self.scroll_y
            pushed, changed = self._list.measure_visible(self.top, self.size.height, self.palette, now)
            target += pushed
            if not changed:
                break
            self.refresh()
        self._list.drop_cold(self._visible())

    def _set_total(self, height: int) -> None:
        size = Size(self._list.width, height)
        if size == self.virtual_size:
            return
        room = self.container_size.height
        if (self.virtual_size.height > room) != (height > room):
            self.virtual_size = size  # the scroll bar comes or goes: a layout
            return
        # A layout of the whole screen for each new line would be the dearest part of streaming.
        self.set_reactive(cast("Reactive[Size]", Widget.virtual_size), size)
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = height

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
        """Follows the end while at the end; what comes into view is measured and begins to move."""
        super().watch_scroll_y(old_value, new_value)
        if self._adjusting or round(old_value) == round(new_value):
            return
        self._follow(round(new_value) >= self.max_scroll_y)
        if self._list.width:
            pushed, changed = self._list.measure_visible(self.top, self.size.height, self.palette, self._clock())
            if changed:
                self._settle(shift=pushed)
            else:
                self._list.drop_cold(self._visible())
        self._wake()

    def _follow(self, following: bool) -> None:
        if following is not self.following:
            self.following = following
            self._below = 0
            self.post_message(self.FollowChanged(following, 0))

    def _scroll_by_hand(self, y: int) -> None:
        """As a reader scrolls: follows only when that leads to the end."""
        self._follow(y >= self.max_scroll_y)
        self._settle(shift=y - self.top)
        self._wake()

    def on_resize(self, event: events.Resize) -> None:
        """Keeps the line at the top, or the end, in its place under another width."""
        width, height = self.size
        for block in self.blocks:
            if block.set_room(height):
                self._list.dirty[block] = None
        shift = 0
        if width != self._list.width:
            first, inside = self._list.find(self.top)
            self._list.resize(width)
            if first < len(self.blocks):
                block = self.blocks[first]
                inside = min(inside, max(self._list.height_of(block) - 1, 0))
                shift = self._list.top_of(block) + inside - self.top
        self._settle(shift=shift)
        self.refresh()
        self._wake()

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
        strips: list[Strip] = [
            line
            if selection is None or index < 0
            else paint_selection(line, selection, index * ROWS_A_BLOCK + place, mark)
            for line, index, place in self._list.lines(self.top + crop.y, crop.height, self.palette, self._clock())
        ]
        if self._list.dirty and not self._ticking:
            self._wake()
        for line_filter in self.get_line_filters():
            background = self.background_colors[1]
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        if crop.x or crop.width != self._list.width:
            base = self.palette.base
            strips = [strip.crop_extend(crop.x, crop.x + crop.width, base) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        """One line with the offsets that text selection reads. The screen asks for it under the mouse only."""
        line, index, place = self._list.lines(self.top + y, 1, self.palette, self._clock())[0]
        return line if index < 0 else line.apply_offsets(0, index * ROWS_A_BLOCK + place)

    @property
    def allow_select(self) -> bool:
        """Its text can be selected."""
        return True

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it is seen, without borders and gutters."""
        now = self._clock()

        def lines_of(index: int) -> list[Line]:
            block = self.blocks[index]
            lines = block.lines if block.measured and block.lines else self._list.paint(block, self.palette, now)
            self._list.drop_cold(())
            return lines

        text = selected_text(selection, len(self.blocks), lines_of)
        return (text, "\n") if text else None

    def selection_updated(self, selection: Selection | None) -> None:
        """The selection changed: what is on screen is shown anew."""
        self.refresh()


def _first_difference(old: Sequence[Line], new: Sequence[Line]) -> int:
    for y, (one, other) in enumerate(zip(old, new, strict=False)):
        if one is not other and one != other:
            return y
    return min(len(old), len(new))

"""The conversation on screen: a Line-API widget over a `BlockList`, with a cursor, keys for panels, and the mouse.

Tasks and events only change blocks and call `changed`; one clock, which runs while something changes or spins, paints
what is on screen. Whatever grows or shrinks above the first visible line moves the scroll position with it, so that
the text being read stays where it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, Protocol, cast

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from console_app.domain import Artifact, Level, call_description, one_line, web_address
from console_app.domain.steady_time import steady_time
from console_app.domain.transcript import CallView
from console_app.records import dataclass
from console_app.tui.lineview.blocks.block import Block
from console_app.tui.lineview.blocks.block_list import BlockList
from console_app.tui.lineview.blocks.notices import NoticeBlock
from console_app.tui.lineview.calls.block import CallBlock
from console_app.tui.lineview.calls.detail import ResultKey
from console_app.tui.lineview.calls.group import FoldBlock
from console_app.tui.lineview.lines import Line
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.json_tree import FOLD_META
from console_app.tui.lineview.scrolling.cursor import Cursor, newest_group
from console_app.tui.lineview.scrolling.frame_clock import CALM_EVERY, LIVE_EVERY, FrameClock
from console_app.tui.lineview.scrolling.scroll_internals import give_scroll_bar
from console_app.tui.lineview.scrolling.selection import ROWS_A_BLOCK, ends_in, hold, paint_selection, selected_text
from console_app.tui.lineview.scrolling.slices import Sliced, Slices
from console_app.tui.lineview.scrolling.view_parts import Found, QuickScrollBar, StuckLine, set_total

TOGETHER = 0.3  # seconds between two letters of a word, at most
SETTLED = 0.5  # seconds that a row has had the focus before a letter changes something that runs
TOO_EARLY = "{} counts once the row has had the focus for half a second. Press it again."
_WALKS = frozenset({"panel.previous", "panel.next", "find.next", "find.previous"})
_ACTS_AT_ONCE = frozenset({"panel.toggle", "panel.more", "panel.raw", "panel.filter", "panel.failed", "panel.help"})
SETTLING = 24  # tries to bring heights and position in line; each measures at least one more block
_HAS_A_CONSEQUENCE = frozenset(
    {"panel.cancel", "panel.retry", "panel.retry_all", "panel.edit", "panel.send", "panel.background"}
)


class Timer(Protocol):
    """A call that comes after a while."""

    def stop(self) -> None: ...


Later = Callable[[float, Callable[[], object]], Timer]
"""Runs something after so many seconds."""


class PanelLetters:
    """Tells a letter that was meant for a panel from the first of a word: two letters within 0.3 s are typing.

    A letter that opens something else, or has a consequence, acts once no other came behind it (`later`); one with a
    consequence only after the row has had the focus for half a second.
    """

    def __init__(self, later: Later, now: Callable[[], float] = time.monotonic) -> None:
        self._later, self._now = later, now
        self._first, self._at = "", float("-inf")
        self._held: Timer | None = None
        self._here_since = now()

    def moved(self) -> None:
        self._here_since = self._now()
        self._forget()

    def judge(self, letter: str, binding: str, act: Callable[[], object]) -> Literal["passes", "held", "early"] | str:
        """Tell whether a letter passes to its binding, is held back until `act` runs, or came too early. Any other word
        is typed text for the prompt."""
        now, first = self._now(), self._first
        together = first != "" and now - self._at < TOGETHER
        if together and letter == first:  # the key is held down, or goes on
            return "passes" if binding in _ACTS_AT_ONCE else "held"
        if together:
            self._forget()
            return first + letter
        if binding in _WALKS:
            return "passes"
        self._forget()
        self._first, self._at = letter, now
        if binding in _ACTS_AT_ONCE:
            return "passes"
        if binding in _HAS_A_CONSEQUENCE and now - self._here_since < SETTLED:
            return "early"
        self._held = self._later(TOGETHER, act)
        return "held"

    def _forget(self) -> None:
        if self._held is not None:
            self._held.stop()
        self._first, self._held = "", None


KEYS: list[BindingType] = [
    Binding("enter", "menu", "menu", tooltip="what can be done with a call", id="panel.menu"),
    Binding("o,space,enter", "toggle_block('open')", "open", id="panel.toggle"),
    Binding("o,space,enter", "toggle_block('close')", "close", id="panel.toggle"),
    Binding("x", "call('cancel')", "stop", id="panel.cancel"),
    Binding("r", "call('retry')", "run again", id="panel.retry"),
    Binding(
        "R", "call('retry_all')", "run all that was cut off", tooltip="run what was cut off again", id="panel.retry_all"
    ),
    Binding("e", "call('edit')", "change and run", id="panel.edit"),
    Binding("n", "screen.find_step(1)", "next match", id="find.next"),
    Binding("N", "screen.find_step(-1)", "previous match", id="find.previous"),
    Binding("m", "result('more')", "more", id="panel.more"),
    Binding("v", "result('raw')", "raw", tooltip="a result as it came", id="panel.raw"),
    Binding("v", "result('rendered')", "rendered", tooltip="a result as what it is", id="panel.raw"),
    Binding("c", "copy", "copy", id="panel.copy"),
    Binding(
        "C", "screen.copy_part", "copy part", tooltip="copy a part: code, a table, arguments", id="panel.copy_part"
    ),
    Binding("i", "call('inspect')", "look inside", id="panel.inspect"),
    Binding("plus", "call('extend')", "more time", id="panel.extend"),
    Binding("b", "call('background')", "to the background", id="panel.background"),
    Binding("s", "call('send')", "send partial results", id="panel.send"),
    Binding("f", "files", "files", tooltip="open a file or a link of a result", id="panel.files"),
    Binding("t", "filter", "filter", tooltip="filter by state: one, the next, then all", id="panel.filter"),
    Binding("exclamation_mark", "failed", "next failed", tooltip="select the next failed call", id="panel.failed"),
    Binding(
        "right", "result('unfold')", "unfold", tooltip="open a result's tree one level", id="panel.unfold", show=False
    ),
    Binding("left", "result('fold')", "fold", tooltip="fold a result's tree one level", id="panel.fold", show=False),
    Binding("question_mark", "screen.command('help')", "help", id="panel.help", show=False),
    Binding("escape", "leave", "back", tooltip="back to the prompt", id="panel.leave"),
    Binding("alt+up,k", "cursor(-1)", "previous panel or message", id="panel.previous", show=False),
    Binding("alt+down,j", "cursor(1)", "next panel or message", id="panel.next", show=False),
    Binding("up", "walk(-1)", "call above, or line up", id="conversation.up", show=False),
    Binding(
        "down", "walk(1)", "call below, or line down; from the last to the prompt", id="conversation.down", show=False
    ),
    Binding("pageup", "page(-1)", "page up", id="conversation.page_up", show=False),
    Binding("pagedown", "page(1)", "page down", id="conversation.page_down", show=False),
    Binding("home", "scroll_home", "first line", id="conversation.home", show=False),
    Binding("end", "scroll_end", "last line", id="conversation.end", show=False),
]


class ConversationView(ScrollView, can_focus=True):
    """The view of one conversation. What its panels ask for is posted as messages; it changes nothing itself."""

    DEFAULT_CSS = """
    ConversationView {
        background: $background;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = KEYS

    @dataclass
    class BelowChanged(Message):
        """Says whether more stands below the view, and how many blocks of it came since the end was not followed."""

        more: bool
        new: int

    @dataclass
    class CallAction(Message):
        call_id: str
        action: str

    @dataclass
    class CopyRequested(Message):
        text: str

    @dataclass
    class FilesRequested(Message):
        """A file or a link of a block is to be opened; `server` is the one that it came from."""

        files: Sequence[Artifact]
        server: str

    class Left(Message):
        """Escape on a panel, or down from the last: the focus should go back."""

    @dataclass
    class Typed(Message):
        text: str

    @dataclass
    class AgentOpened(Message):
        """The conversation of the agent that is the work of a call is to be shown."""

        call: CallView

    class MenuRequested(Message):
        """The menu of the selected call is asked for."""

    @dataclass
    class Refused(Message):
        why: str

    _pressed_at: Offset | None = None
    _dragged = False

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
        self._cursor = Cursor(lambda: self.blocks)
        self._hinted: object = None  # what the selected call allowed when the key hints were last made
        self._letters = PanelLetters(self.set_timer)

    def use_time(self, later: Later, now: Callable[[], float]) -> None:
        self._letters = PanelLetters(later, now)

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
            self._palette = Palette.of(self.console_app)
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
        self._list.add(block, before)
        if not self.following and block.index == len(self.blocks) - 1:
            self._below += 1
        self.changed(block)

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

    def add_notice(self, level: Level, text: str) -> None:
        self.add_block(NoticeBlock(level, text))

    def remove_block(self, block: Block) -> None:
        if self.cursor is block:
            self._put_cursor(None)
        if block.index < 0:
            return
        height, above = self._list.height_of(block), self._list.top_of(block) < self.top
        self._list.remove(block)
        self._settle(shift=-height if above else 0)
        self.refresh()

    def clear(self) -> None:
        self._put_cursor(None)
        self._list.clear()
        self._follow(True)
        self._settle()
        self.refresh()

    def toggle_all(self) -> None:
        able = [block for block in self.blocks if block.opens]
        target = not any(block.open for block in able)
        for block in able:
            if block.open is not target:
                block.toggle()
                self._changed_with(block)

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
        """Paint what changed on screen, and with `live_too` what moves by itself; False where nothing does."""
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
        """Paint dirty blocks that are on screen, correct heights, and refresh only the lines that differ. The key hints
        follow where the selected call allows other keys now."""
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
        selected = self.cursor
        allowed = selected.allowed if isinstance(selected, CallBlock) else None
        if allowed != self._hinted:
            self._hinted = allowed
            self.refresh_bindings()

    def _refresh_changes(self, begin: int, old: Sequence[Line], new: Sequence[Line]) -> None:
        start, stop = max(self.top - begin, 0), min(self.top + self.size.height - begin, len(new))
        for y, count in _differences(old, new, start, stop):
            self.refresh_lines(begin + y, count)

    # --------------------------------------------------------------- position

    def _on_screen(self) -> list[Block]:
        stuck, visible = self._stuck.block, self._list.visible(self.top, self.size.height)
        return visible if stuck is None or stuck.index < 0 else [*visible, stuck]

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

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        now = self._clock()

        def lines_of(index: int) -> Sequence[Line]:
            lines = self._list.whole(self.blocks[index], self.palette, now)
            self._list.drop_cold([*self._on_screen(), *ends_in(self.text_selection, self.blocks)])
            self.frames.wake()
            return lines

        text = selected_text(selection, self.blocks, lines_of)
        return (text, "\n") if text else None

    # ----------------------------------------------------------------- cursor

    @property
    def cursor(self) -> Block | None:
        return self._cursor.at

    def enter(self, delta: int = -1) -> bool:
        """Takes the focus and selects a call of the newest batch, see `Cursor.entry`; False where nothing can be."""
        return self._enter(self._cursor.entry(delta))

    def enter_call(self, number: int) -> bool:
        """Take the focus and select the call of this number (from 1) in the newest batch; False where there is none."""
        group = newest_group(self.blocks)
        calls = [] if group is None else group.reached
        return self._enter(calls[number - 1] if 0 < number <= len(calls) else None)

    def action_failed(self) -> bool:
        """Take the focus and select the next call that failed, in any turn. Return False where none did."""
        return self._enter(self._cursor.next_failed())

    def go_to_call(self, call: CallView) -> None:
        self._enter(next((block for block in self.blocks if isinstance(block, CallBlock) and block.call is call), None))

    def say_of(self, call: CallView, words: str) -> None:
        block = self.cursor
        if isinstance(block, CallBlock) and block.call is call:
            block.says = words
            self.changed(block)

    def says_of(self, call: CallView) -> str:
        block = self.cursor
        return block.says if isinstance(block, CallBlock) and block.call is call else ""

    def forget_selection(self) -> None:
        """Forget the selection when another turn begins: the keys mean the new turn then."""
        self._put_cursor(None)

    @property
    def first_visible(self) -> int:
        return self._list.find(self.top)[0]

    def reveal(self, block: Block, line: int = 0) -> None:
        """Selects a block, and scrolls to a line of it with some above it, where that is not in view."""
        self._put_cursor(block)
        self._flush()
        self._follow(False)
        if not self._is_seen(at := self._list.top_of(block) + line):
            self._scroll_by_hand(at - self.size.height // 3)

    def go_to_turn(self, block: Block) -> None:
        """Take the focus and select the message that begins a turn, its first line at the top if that can be."""
        self._enter(block)
        self._scroll_by_hand(self._list.top_of(block) + block.gap)

    def _is_seen(self, line: int) -> bool:
        first, past = self._stuck.uncovered(self.top, self.size.height)
        return first <= line < past

    def _enter(self, block: Block | None) -> bool:
        if block is None:
            return False
        self.focus()
        self._select(block)
        return True

    def _select(self, block: Block | None, *, by_key: bool = True) -> None:
        if block is not None:
            self._put_cursor(block, by_key=by_key)
            if self._list.width:
                self._flush()  # folded, it had no line
                self._show(block)

    def _put_cursor(self, block: Block | None, *, by_key: bool = False) -> None:
        if block is not (before := self.cursor):
            self._letters.moved()
            if isinstance(before, CallBlock):
                before.says = ""
        for one in (self._cursor.put(block, by_key=by_key), block):
            if one is not None:
                self._mark(one)
        self.refresh_bindings()

    def _mark(self, block: Block) -> None:
        """Shows the cursor where its keys work: only while the view has focus."""
        selected = block is self.cursor and self.has_focus
        if block.selected is not selected:
            block.select(selected)
            self._changed_with(block)

    def _changed_with(self, block: Block) -> None:
        for one in (block, *block.beside):
            self.changed(one)

    def _show(self, block: Block) -> None:
        height = self.size.height
        begin = self._list.top_of(block)
        end = begin + self._list.height_of(block)
        first, past = self._stuck.uncovered(self.top, self.size.height)
        if begin < first or end - begin > past - first:
            self._scroll_by_hand(begin - (self._stuck.row_at(begin, height) == 0))
        elif end > past:
            low = end - height
            self._scroll_by_hand(low + (self._stuck.row_at(low, height) == height - 1))

    def _acts_on(self) -> Block | None:
        """The selected block for a key that acts on it. Scrolled out of sight it is only brought back."""
        block = self.cursor
        if block is None or block.index < 0:
            return None
        first, past = self._stuck.uncovered(self.top, self.size.height)
        begin = self._list.top_of(block) + block.gap
        if begin < past and begin - block.gap + self._list.height_of(block) > first:
            return block
        self._show(block)
        self.post_message(self.Refused("That call was out of sight. Here it is: press the key again."))
        return None

    def _anchor(self) -> Block | None:
        """The block that stays in its line while others grow: the selected one if seen, else the first visible."""
        block = self.cursor
        if block is not None and block.selected and block.index >= 0:
            begin = self._list.top_of(block)
            if self.top <= begin < self.top + self.size.height:
                return block
        index, _ = self._list.find(self.top)
        return self.blocks[index] if index < len(self.blocks) else None

    def _hold(self) -> int | None:
        """The end is followed only as far as the selected block stays in view."""
        block = self.cursor
        if block is None or not block.selected or block.index < 0:
            return None
        begin, height = self._list.top_of(block), self._list.height_of(block)
        if height >= self.size.height:
            return begin + height - self.size.height
        return begin - (self._stuck.row_at(begin, self.size.height) == 0)

    def watch_has_focus(self, value: bool) -> None:
        """Forget the selection when the focus goes, unless only the terminal's window lost it."""
        super().watch_has_focus(value)
        if value:
            self._select(self.cursor, by_key=False)
            self.call_later(self._arrive)  # behind the mouse press that may have brought the focus
            return
        if self.cursor is not None:
            self._mark(self.cursor)
        if self.console_app.app_focus:
            self._cursor.leave()
            if self._held_back:
                self.action_scroll_end()

    def _arrive(self) -> None:
        """Coming by key, the cursor goes to the newest batch."""
        if self.has_focus and self.cursor is None and self._pressed_at is None:
            self._select(self._cursor.entry(-1))

    def on_key(self, event: events.Key) -> None:
        """A letter acts once it proves to be none of a word; one that is no key of the selected panel is refused."""
        writes = event.is_printable and not event.key.startswith("alt+")  # which most terminals give a character, too
        if not writes or not self._cursor.takes_letters:
            return
        active, letter = self.screen.active_bindings.get(event.key), event.character or ""
        bound = active.binding if active is not None and active.enabled else None
        act = partial(self._refuse, event) if bound is None else partial(self.call_later, self.run_action, bound.action)
        match self._letters.judge(letter, "" if bound is None else bound.id or "", act):
            case "passes":
                return
            case "held":
                pass
            case "early":
                self.post_message(self.Refused(TOO_EARLY.format(letter)))
            case typed:
                self.post_message(self.Typed(typed))
        event.stop()

    def _refuse(self, event: events.Key) -> None:
        if self.cursor is None:
            why = "Nothing is selected. esc goes to the prompt."
        else:
            key = one_line(event.character or "", 20) or event.key
            why = f"{key} does nothing here now. esc goes to the prompt."
            if isinstance(self.cursor, CallBlock) and self.cursor.call.origin == "provider":
                why = f"{call_description.refusal(self.cursor.call, call_description.Act.RETRY)} {why}"
        self.post_message(self.Refused(why))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._cursor.allows(action, parameters)

    # ---------------------------------------------------------------- actions

    def action_toggle_block(self, _: str) -> None:
        if (block := self._acts_on()) is not None and block.opens:
            self._open(block)

    def _open(self, block: Block) -> None:
        if isinstance(block, CallBlock) and block.call.runs and not block.open:
            self.post_message(self.AgentOpened(block.call))
        else:
            self.turn_block(block)

    def action_call(self, action: str) -> None:
        block = self._acts_on()
        if isinstance(block, CallBlock):
            self.post_message(self.CallAction(block.call.id, action))

    def action_copy(self) -> None:
        if (block := self._acts_on()) is not None:
            self.post_message(self.CopyRequested(block.copy_text))

    def action_files(self) -> None:
        if (block := self._acts_on()) is not None and block.files:
            server = block.call.server if isinstance(block, CallBlock) else ""
            self.post_message(self.FilesRequested(block.files, server))

    def action_result(self, what: ResultKey) -> None:
        block = self._acts_on()
        if isinstance(block, CallBlock) and block.detail.press(what):
            self._reshaped(block)

    def _reshaped(self, block: CallBlock) -> None:
        """Show more or less of an open result. Its first line stays where it is."""
        block.touch()
        self._follow(False)
        self.changed(block)
        self.refresh_bindings()

    def action_cursor(self, delta: int) -> None:
        self._select(self._cursor.stepped(delta))

    def action_filter(self) -> None:
        block = self._acts_on()
        if isinstance(block, CallBlock | FoldBlock):
            block.group.show_only_next()
            for one in block.group.members:
                self.changed(one)
            self._select(block)

    def action_walk(self, delta: int) -> None:
        """Go a row up or down, or a line of an open one that goes on beyond the view. Down from the last row leaves."""
        block = self.cursor
        if block is None or block.index < 0:
            self.action_line(delta)
            return
        begin = self._list.top_of(block)
        end = begin + self._list.height_of(block)
        first, past = self._stuck.uncovered(self.top, self.size.height)
        if begin < past and end > first and (begin < first if delta < 0 else end > past):
            self.action_line(delta)
        elif self._cursor.stepped(delta) is not block:
            self.action_cursor(delta)
        elif delta > 0:
            self.action_leave()

    def action_menu(self) -> None:
        if self._acts_on() is not None:
            self.post_message(self.MenuRequested())

    @property
    def has_calls(self) -> bool:
        return bool(self._cursor.newest_calls())

    @property
    def hints(self) -> Sequence[tuple[str, str]]:
        block = self.cursor
        if not isinstance(block, CallBlock):
            opens = [("panel.toggle", "close" if block.open else "open")] if block is not None and block.opens else []
            return [*opens, ("panel.copy", "copy"), ("panel.leave", "back"), ("panel.help", "help")]
        does = ("panel.cancel", "stop") if block.allows("cancel") else ("panel.retry", "run again")
        fold = "panel.toggle", "close" if block.open else "open"
        return [("panel.menu", "menu"), fold, does, ("panel.leave", "back"), ("panel.help", "help")]

    def action_leave(self) -> None:
        self.post_message(self.Left())

    def action_page(self, delta: int) -> None:
        self._scroll_by_hand(self.top + delta * max(self.size.height - 2, 1))

    def action_scroll_home(self) -> None:
        self._scroll_by_hand(0)

    def action_scroll_end(self) -> None:
        self._follow(True)
        self._settle()
        self.wake()

    def action_line(self, delta: int) -> None:
        self._scroll_by_hand(self.top + delta)

    def turn_block(self, block: Block) -> None:
        """Its first line stays where it is, unless little of what opens would be seen there."""
        self._follow(False)
        block.toggle()
        self._changed_with(block)
        self._flush()
        begin = self._list.top_of(block)
        if not (self._is_seen(begin) and self._is_seen(begin + block.open * (self.size.height // 2))):
            self._show(block)
        self._follow(self.top >= self.max_scroll_y)
        self.refresh_bindings()

    # ------------------------------------------------------------------ mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pressed_at = event.offset

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._dragged = self._pressed_at is not None and self._pressed_at != event.offset
        self._pressed_at = None

    async def _on_click(self, event: events.Click) -> None:
        """A click puts the cursor on a block, another opens or folds it; on a link it opens the link."""
        event.prevent_default()  # a double click would select everything there is
        if self._dragged:
            return
        href = event.style.meta.get("href")
        if isinstance(href, str):
            if web_address.is_web_link(href):
                self.console_app.open_url(href)
            return
        if self._stuck.block is not None and event.y == self._stuck.row:
            self.enter()
            return
        index, inside = self._list.find(self.top + event.y)
        if index >= len(self.blocks) or inside < self.blocks[index].gap:
            return
        block = self.blocks[index]
        again = block is self.cursor
        self._put_cursor(block)
        if isinstance(block, CallBlock) and FOLD_META in event.style.meta:
            block.detail.turn(*event.style.meta[FOLD_META])
            self._reshaped(block)
        elif again and block.opens:
            self._open(block)


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

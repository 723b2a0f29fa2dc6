"""The conversation on screen: blocks that scroll, with a cursor over them, keys for panels, and the mouse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.message import Message

from console_app.domain.events import Level
from console_app.domain.tools import Artifact
from console_app.domain.transcript_parts import Call
from console_app.tui.conversation.block import Block
from console_app.tui.conversation.block_scroll import BlockScroll
from console_app.tui.conversation.call_block import CallBlock
from console_app.tui.conversation.markdown_inline import is_web_link
from console_app.tui.conversation.notice_blocks import NoticeBlock

Action = Literal["cancel", "retry", "edit", "inspect", "extend", "send"]


class ConversationView(BlockScroll, can_focus=True):
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

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o,space,enter", "toggle_block", "open", id="panel.toggle"),
        Binding("x", "call('cancel')", "cancel", id="panel.cancel"),
        Binding("r", "call('retry')", "retry", id="panel.retry"),
        Binding("e", "call('edit')", "edit", id="panel.edit"),
        Binding("c", "copy", "copy", id="panel.copy"),
        Binding("i", "call('inspect')", "inspect", id="panel.inspect"),
        Binding("plus", "call('extend')", "more time", id="panel.extend"),
        Binding("s", "call('send')", "send what there is", id="panel.send"),
        Binding("f", "files", "files", tooltip="open a file or a link of a result", id="panel.files"),
        Binding("m", "more", "more", id="panel.more"),
        Binding("alt+up,k", "cursor(-1)", "previous panel", id="panel.previous", show=False),
        Binding("alt+down,j", "cursor(1)", "next panel", id="panel.next", show=False),
        Binding("up", "scroll_up", "line up", id="conversation.up", show=False),
        Binding("down", "scroll_down", "line down", id="conversation.down", show=False),
        Binding("pageup", "page_up", "page up", id="conversation.page_up", show=False),
        Binding("pagedown", "page_down", "page down", id="conversation.page_down", show=False),
        Binding("home", "scroll_home", "first line", id="conversation.home", show=False),
        Binding("end", "scroll_end", "last line", id="conversation.end", show=False),
    ]

    class CallAction(Message):
        """Something was asked for on a call's panel, by key."""

        def __init__(self, call_id: str, action: Action) -> None:
            super().__init__()
            self.call_id = call_id
            self.action: Action = action

    class CopyRequested(Message):
        """A block's text is wanted on the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class FilesRequested(Message):
        """A file or a link of a block is to be opened; `server` is the one that it came from."""

        def __init__(self, files: Sequence[Artifact], server: str) -> None:
            super().__init__()
            self.files = files
            self.server = server

    _cursor: Block | None = None
    _pressed_at: Offset | None = None
    _dragged = False

    # ---------------------------------------------------------------- content

    def add_notice(self, level: Level, text: str) -> None:
        """Adds a notice at the end."""
        self.add_block(NoticeBlock(level, text))

    def remove_block(self, block: Block) -> None:
        """Takes a block out again; the cursor leaves it."""
        if self._cursor is block:
            self._put_cursor(None)
        super().remove_block(block)

    def clear(self) -> None:
        """An empty conversation."""
        self._cursor = None
        super().clear()

    def toggle_all(self) -> None:
        """Opens all blocks that open; folds them when one is open already."""
        able = [block for block in self.blocks if block.opens]
        target = not any(block.open for block in able)
        for block in able:
            if block.open is not target:
                block.toggle()
                self.changed(block)

    # ----------------------------------------------------------------- cursor

    @property
    def cursor(self) -> Block | None:
        """The block under the cursor."""
        return self._cursor

    def move_cursor(self, delta: int) -> None:
        """Moves the cursor over panels, by so many; from nowhere it goes to the last one. Scrolls it into view."""
        stops = [block for block in self.blocks if block.is_stop]
        if not stops:
            return
        here = self._cursor
        if here is None:
            target = stops[-1]
        elif here.is_stop:
            target = stops[min(max(stops.index(here) + delta, 0), len(stops) - 1)]
        else:
            ahead = [block for block in stops if (block.index > here.index) == (delta > 0)]
            target = (ahead[0] if delta > 0 else ahead[-1]) if ahead else here
        self._put_cursor(target)
        self._show(target)

    def go_to_call(self, call: Call) -> None:
        """Puts the cursor on the panel of a call and shows it."""
        target = next((block for block in self.blocks if isinstance(block, CallBlock) and block.call is call), None)
        if target is not None:
            self.focus()
            self._put_cursor(target)
            self._show(target)

    def _put_cursor(self, block: Block | None) -> None:
        previous, self._cursor = self._cursor, block
        for one in (previous, block):
            if one is not None:
                self._mark(one)
        self.refresh_bindings()

    def _mark(self, block: Block) -> None:
        """Shows the cursor where its keys work: only while the view has focus."""
        selected = block is self._cursor and self.has_focus
        if block.selected is not selected:
            block.selected = selected
            self.changed(block)

    def _show(self, block: Block) -> None:
        """Scrolls a block into view, by as little as it takes."""
        begin = self._list.top_of(block)
        end = begin + self._list.height_of(block)
        if begin < self.top or end - begin > self.size.height:
            self._scroll_by_hand(begin)
        elif end > self.top + self.size.height:
            self._scroll_by_hand(end - self.size.height)

    def watch_has_focus(self, value: bool) -> None:
        """The cursor comes and goes with the focus."""
        super().watch_has_focus(value)
        if self._cursor is not None:
            self._mark(self._cursor)
        elif value:
            self.call_later(self._arrive)  # behind the mouse press that may have brought the focus

    def _arrive(self) -> None:
        """Coming by key, the cursor goes to the newest panel."""
        if self.has_focus and self._cursor is None and self._pressed_at is None:
            self.move_cursor(0)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what the block under the cursor allows is offered."""
        block = self._cursor
        match action:
            case "call":
                return isinstance(block, CallBlock) and block.allows(str(parameters[0]))
            case "toggle_block":
                return block is not None and block.opens
            case "copy":
                return block is not None
            case "files":
                return block is not None and bool(block.files)
            case "more":
                return isinstance(block, CallBlock) and block.open and block.detail.has_more
            case _:
                return True

    # ---------------------------------------------------------------- actions

    def action_toggle_block(self) -> None:
        """Opens or folds the block under the cursor."""
        if self._cursor is not None and self._cursor.opens:
            self._toggle(self._cursor)

    def action_call(self, action: Action) -> None:
        """Asks the app for something on the call under the cursor."""
        if isinstance(self._cursor, CallBlock):
            self.post_message(self.CallAction(self._cursor.call.id, action))

    def action_copy(self) -> None:
        """Asks for the text of the block under the cursor on the clipboard."""
        if self._cursor is not None:
            self.post_message(self.CopyRequested(self._cursor.copy_text))

    def action_files(self) -> None:
        """Asks for the files of the block under the cursor to be opened."""
        block = self._cursor
        if block is not None and block.files:
            self.post_message(
                self.FilesRequested(block.files, block.call.server if isinstance(block, CallBlock) else "")
            )

    def action_more(self) -> None:
        """Shows a longer page of an open result."""
        if isinstance(self._cursor, CallBlock):
            self._cursor.detail.show_more()
            self._cursor.touch()
            self._follow(False)
            self.changed(self._cursor)
            self.refresh_bindings()

    def action_cursor(self, delta: int) -> None:
        """Moves the cursor."""
        self.move_cursor(delta)

    def action_page_up(self) -> None:
        """A screenful back."""
        self._scroll_by_hand(self.top - max(self.size.height - 2, 1))

    def action_page_down(self) -> None:
        """A screenful on."""
        self._scroll_by_hand(self.top + max(self.size.height - 2, 1))

    def action_scroll_home(self) -> None:
        """To the first line."""
        self._scroll_by_hand(0)

    def action_scroll_end(self) -> None:
        """To the end, and follows it from then on."""
        self._follow(True)
        self._settle()
        self._wake()

    def action_scroll_up(self) -> None:
        """A line back."""
        self._scroll_by_hand(self.top - 1)

    def action_scroll_down(self) -> None:
        """A line on."""
        self._scroll_by_hand(self.top + 1)

    def _toggle(self, block: Block) -> None:
        """Opens or folds a block where it stands: its first line stays, so the view no longer follows the end."""
        self._follow(False)
        block.toggle()
        self.changed(block)
        self._flush()
        if self._list.top_of(block) < self.top:
            self._show(block)
        self._follow(self.top >= self.max_scroll_y)
        self.refresh_bindings()

    # ------------------------------------------------------------------ mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Remembers where a press began, to tell a click from a drag."""
        self._pressed_at = event.offset

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """The press is over."""
        self._dragged = self._pressed_at is not None and self._pressed_at != event.offset
        self._pressed_at = None

    async def _on_click(self, event: events.Click) -> None:
        """A click puts the cursor on a block, another opens or folds it; on a link it opens the link."""
        event.prevent_default()  # a double click would select everything there is
        if self._dragged:
            return
        href = event.style.meta.get("href")
        if isinstance(href, str):
            if is_web_link(href):
                self.console_app.open_url(href)
            return
        index, inside = self._list.find(self.top + event.y)
        if index >= len(self.blocks) or inside < self.blocks[index].gap:
            return
        block = self.blocks[index]
        again = block is self._cursor
        self._put_cursor(block)
        if again and block.opens:
            self._toggle(block)

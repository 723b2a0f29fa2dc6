"""A server's JSON-RPC as it passes, both ways, from the handshake on: filtered, paused, opened, exported."""

from __future__ import annotations

import asyncio
import json
import time
from bisect import bisect_left
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static

from console_app.console.reports import wire_text
from console_app.domain import FanoutError, amounts, one_line, plural
from console_app.mcp_client import RawMessage, Traffic
from console_app.tui.lineview.lines import Line, Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.servers.folding_tree import FoldingTree
from console_app.tui.servers.tree_dialog import json_nodes
from console_app.tui.widgets.dialog import Dialog, HintedInput
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.pick_list import PickList
from console_app.tui.widgets.row_list import RowList

LOOK = 0.2  # seconds between two looks at what passed
ALL = "all methods"
METHOD = 27  # cells; the longest of the protocol that is common: notifications/progress
WIDE = 100  # cells from which on a row says what is in the message
SUBJECT = 6  # cells below which nothing of what a message is about is to be seen


class WireList(RowList):
    def __init__(self, rows: wire_text.WireRows, redact: wire_text.Redact) -> None:
        super().__init__()
        self._wire = rows
        self._redact = redact

    @property
    def message(self) -> RawMessage | None:
        rows = self._wire.rows
        return rows[self.cursor] if 0 <= self.cursor < len(rows) else None

    def look(self) -> None:
        """Take in what came; the cursor stays on its message, or goes along with the newest if it is there."""
        message = None if self.cursor == self.count - 1 else self.message
        if self._wire.look():
            self.show(message)

    def show(self, message: RawMessage | None = None) -> None:
        """Show the rows as they are now, the cursor on a message (or the next, if it was dropped) or on the newest."""
        rows = self._wire.rows
        at = len(rows) - 1 if message is None else bisect_left(rows, message.number, key=lambda row: row.number)
        self.set_count(len(rows), at)

    def paint_row(self, row: int, width: int, palette: Palette) -> Line:
        message, chosen = self._wire.rows[row], row == self.cursor
        arrow, ink = ("→", palette.accent) if message.sent else ("←", palette.secondary)
        kind = "" if message.kind in ("request", "notification") else f" {message.kind}"
        at = time.strftime("%H:%M:%S", time.localtime(message.at)) + f".{int(message.at % 1 * 1000):03}"
        id = "" if message.id is None else f"#{one_line(str(message.id), 8)}"
        took = amounts.measured(message.seconds) if message.seconds is not None else ""
        left: list[Piece] = [
            ("▌" if chosen else " ", palette.primary),
            (f"{at} ", palette.muted),
            (f"{arrow} ", ink),
            (one_line(message.method or "?", METHOD), palette.strong if chosen else palette.base),
            (kind, palette.error if message.kind == "error" else palette.success),
        ]
        room = min(17 + METHOD + 7, width - 23)  # what stands behind it is left whole
        gap = room - Line.cells(left)
        if width < WIDE and gap > SUBJECT and (about := one_line(self._redact(wire_text.subject(message)), gap - 1)):
            left.append((f" {about}", palette.muted))
            gap = room - Line.cells(left)
        if gap > 0:
            left.append((" " * gap, palette.base))
        left = Line.trim(left, room)
        left += [
            (f" {id:<6}", palette.muted),
            (f"{took:>7}", palette.base),
            (f" {amounts.size(message.size):>7}", palette.muted),
        ]
        if width >= WIDE:
            left.append((f"  {one_line(wire_text.brief(message, self._redact), width)}", palette.muted))
        return Line.fit(Line.trim(left, width - 1), width, palette.base)


class WireScreen(Dialog[None], sheets=("servers.tcss",)):
    """The wire of one server. Exports go to `folder`."""

    DEFAULT_CLASSES = "dialog -tall workbench"
    AUTO_FOCUS = "WireList"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", tooltip="open a message as a tree", id="wire.open"),
        Binding("slash", "search", "filter", tooltip="show only messages with these words", id="wire.search"),
        Binding("m", "method", "method", tooltip="show only messages of one method", id="wire.method"),
        Binding("p", "pause", "pause/go on", tooltip="pause the list; recording goes on", id="wire.pause"),
        Binding("x", "export", "export", tooltip="export the filtered messages as JSONL", id="wire.export"),
        Binding("c", "clear", "clear", tooltip="clear the recording", id="wire.clear"),
        Binding("tab", "next_place", "filter or list", id="wire.next_place", show=False, priority=True),
        Binding("escape,q", "leave", "back", id="wire.back"),
    ]

    def __init__(self, server: str, traffic: Traffic, redact: wire_text.Redact, folder: Path) -> None:
        super().__init__()
        self._server = server
        self._traffic = traffic
        self._redact = redact
        self._folder = folder
        self._rows = wire_text.WireRows(traffic)
        self._list = WireList(self._rows, redact)
        self._paused = False

    def compose(self) -> ComposeResult:
        with self.box(f"Wire of {one_line(self._server, 60)}"):
            yield HintedInput(hint="/ to filter: words in the method or the message", id="search")
            yield self._list
            yield Static(id="facts")
            yield KeyHints()

    def on_mount(self) -> None:
        self._look()
        self.set_interval(LOOK, self._look)

    def _look(self) -> None:
        if not self._paused:
            self._list.look()
        self._tell()

    def _tell(self) -> None:
        kept = plural(len(self._traffic), "message")
        shown = len(self._rows.rows)
        filtered = bool(self._rows.words or self._rows.method)
        parts = [Content.styled(f"{shown:,} of {kept}" if filtered else kept, "$foreground")]
        if self._rows.method:
            parts.append(Content.styled(f"only {one_line(self._rows.method, 40)}", "$accent"))
        if self._traffic.dropped:
            what = "dropped: the newest 10,000 or 20 MB are kept, and 500 notices a second"
            parts.append(Content.styled(f"{self._traffic.dropped:,} {what}", "$warning"))
        if self._paused:
            parts.append(Content.styled(f"paused · {self._rows.unseen:,} more since", "$warning"))
        self.query_one("#facts", Static).update(Content(" · ").join(parts))

    @on(RowList.Clicked)
    def _clicked(self, event: RowList.Clicked) -> None:
        if event.again:
            self.action_open()

    @on(Input.Changed, "#search")
    def _typed(self, event: Input.Changed) -> None:
        self._filter(event.value, self._rows.method)

    @on(Input.Submitted, "#search")
    def _searched(self) -> None:
        self._list.focus()

    def _filter(self, words: str, method: str) -> None:
        self._rows.filter(words, method)
        self._list.show()
        self._tell()

    def action_open(self) -> None:
        if (message := self._list.message) is not None:
            self.app.push_screen(MessageScreen(self._server, message, self._redact))

    def action_search(self) -> None:
        self.query_one("#search", Input).focus()

    def action_next_place(self) -> None:
        search = self.query_one("#search", Input)
        (self._list if self.focused is search else search).focus()

    @work(exclusive=True)
    async def action_method(self) -> None:
        counted = self._rows.methods()
        choices = {ALL: ""} | {name or "?": plural(count, "message") for name, count in counted.items()}
        picked = await self.app.push_screen_wait(PickList("Method", choices, current=self._rows.method or ALL))
        if picked is not None:
            self._filter(self.query_one("#search", Input).value, "" if picked == ALL else picked)

    def action_pause(self) -> None:
        self._paused = not self._paused
        self._look()

    @work(exclusive=True, group="export")
    async def action_export(self) -> None:
        rows = list(self._rows.rows)
        try:
            path = await asyncio.to_thread(wire_text.export, self._folder, self._server, rows, self._redact)
        except FanoutError as error:
            self.notify(one_line(error.line, 300), severity="error", markup=False)
            return
        self.notify(f"{plural(len(rows), 'message')} in {path}, without secrets that are known.", markup=False)

    def action_clear(self) -> None:
        self._traffic.clear()
        self._filter(self.query_one("#search", Input).value, self._rows.method)

    def action_leave(self) -> None:
        search = self.query_one("#search", Input)
        if search.value or self._rows.method:
            search.value = ""
            self._filter("", "")
            self._list.focus()
        elif self.focused is search:
            self._list.focus()
        else:
            self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        typing = self.focused is not None and self.focused.id == "search"
        return not typing or action in ("leave", "next_place")


class MessageScreen(Dialog[None], sheets=("servers.tcss",)):
    DEFAULT_CLASSES = "dialog -tall workbench"
    AUTO_FOCUS = "FoldingTree"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "copy", tooltip="copy its JSON", id="message.copy"),
        Binding("escape,q,enter", "dismiss(None)", "back", id="message.back"),
    ]

    def __init__(self, server: str, message: RawMessage, redact: wire_text.Redact) -> None:
        super().__init__()
        self._server = server
        self._message = message
        self._data = wire_text.redacted(message.data, redact)

    def compose(self) -> ComposeResult:
        one = self._message
        way = f"→ to {one_line(self._server, 40)}" if one.sent else f"← from {one_line(self._server, 40)}"
        facts = [way, one.kind, time.strftime("%H:%M:%S", time.localtime(one.at)), amounts.size(one.size)]
        facts += [f"answered in {amounts.measured(one.seconds)}"] if one.seconds is not None else []
        facts += ["cut: it was too large to be kept whole"] if one.size > len(one.raw) else []
        with self.box(one_line(one.method or "a message", 80)):
            yield Static(Content(" · ".join(facts)), id="facts")
            yield FoldingTree(json_nodes(self._data))
            yield KeyHints()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(json.dumps(self._data, ensure_ascii=False, indent=2))
        self.notify("Copied.", markup=False, timeout=2)

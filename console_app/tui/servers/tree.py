"""The tree of servers and what they offer: its switches, the widget that shows it, and the lines on one of its rows.

Nothing is applied here: `SwitchTree.selection` is what saving would make of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from console_app.config.servers import Item, Selection
from console_app.console.servers import HubSwitches, Offered
from console_app.domain import one_line, plural
from console_app.mcp_client import ServerStatus
from console_app.records import dataclass
from console_app.tui.lineview import spinner
from console_app.tui.lineview.lines import Line, Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.widgets.row_list import RowList

Mark = Literal["on", "partly", "off"]


@dataclass(frozen=True, slots=True)
class ServerRow:
    status: ServerStatus
    mark: Mark
    open: bool
    tools_on: int
    tools: int
    tokens: int  # of the tools that are on
    changed: bool


@dataclass(frozen=True, slots=True)
class ItemRow:
    item: Offered
    on: bool
    changed: bool
    mark: str = ""  # of a resource: "changed" at its server, or "watched"


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A line that only says something: why a server has nothing below it, or why a tool of it can't be had."""

    server: str
    text: str
    warns: bool = False


Row = ServerRow | ItemRow | NoteRow


class SwitchTree:
    """The servers of `switches`, as they would be after saving."""

    def __init__(self, switches: HubSwitches, mark: Callable[[Item], str] = lambda _: "") -> None:
        self._switches = switches
        self._mark = mark
        self._items: dict[str, list[Offered]] = {}
        self._haystacks: dict[Item, str] = {}
        self.statuses: Sequence[ServerStatus] = ()
        self.open: set[str] = set()
        self._flipped: set[str] = set()  # servers switched otherwise than they are saved
        self._flipped_items: set[Item] = set()
        self.refresh()

    def refresh(self) -> None:
        """Read the servers anew. Your changes that are not saved stay."""
        self.statuses = self._switches.statuses()
        names = {status.name for status in self.statuses}
        self._items = {name: [] for name in names}
        for item in self._switches.offered():
            if item.server in names:
                self._items[item.server].append(item)
        known = [item for items in self._items.values() for item in items]
        self._haystacks = {item.key: f"{item.server} {item.name} {item.about}".casefold() for item in known}
        self._flipped &= names

    def forget(self) -> None:
        self._flipped.clear()
        self._flipped_items.clear()

    # -- what is on

    def is_saved_on(self, server: str) -> bool:
        return self._switches.selection.servers.get(server, self._switches.default_on(server))

    def is_on(self, server: str) -> bool:
        return self.is_saved_on(server) != (server in self._flipped)

    def is_item_on(self, key: Item) -> bool:
        """Tell whether a tool, prompt or resource would be on, given that its server is."""
        return (key not in self._switches.selection.off) != (key in self._flipped_items)

    def mark(self, server: str) -> Mark:
        if not self.is_on(server):
            return "off"
        items = self._items.get(server, ())
        on = sum(self.is_item_on(item.key) for item in items)
        return "on" if on == len(items) else "partly"

    @property
    def changes(self) -> int:
        return len(self._flipped) + len(self._flipped_items)

    @property
    def selection(self) -> Selection:
        servers = {name: on for name, on in self._switches.selection.servers.items() if name not in self._flipped}
        for name in self._flipped:
            if self.is_on(name) != self._switches.default_on(name):
                servers[name] = self.is_on(name)
        return Selection(servers, self._switches.selection.off ^ self._flipped_items)

    def totals(self, *, saved: bool = False) -> tuple[int, int]:
        """Return (tools on, their tokens in every request), as it would be or as `saved`."""
        off = self._switches.selection.off
        found = [
            item.tokens
            for server, items in self._items.items()
            if (self.is_saved_on(server) if saved else self.is_on(server))
            for item in items
            if item.kind == "tool" and (item.key not in off if saved else self.is_item_on(item.key))
        ]
        return len(found), sum(found)

    # -- switching

    def toggle(self, row: Row) -> None:
        """Switch a row: a server on goes off, one that is off or partly on goes on with everything."""
        match row:
            case ServerRow():
                self._set_server(row.status.name, row.mark != "on")
                if row.mark == "partly":
                    self._set_items(self._items.get(row.status.name, ()), True)
            case ItemRow():
                if not self.is_on(row.item.server):
                    # The one thing that was picked, of a server that was off as a whole.
                    self._set_server(row.item.server, True)
                    self._set_items(self._items[row.item.server], False)
                    self._set_items([row.item], True)
                else:
                    self._set_items([row.item], not row.on)
            case NoteRow():
                pass

    def set_all(self, rows: Sequence[Row], on: bool) -> None:
        """Switch the things among `rows` (those that a search found), and the servers they need."""
        items = [row.item for row in rows if isinstance(row, ItemRow)]
        self._set_items(items, on)
        if on:
            for name in {item.server for item in items}:
                self._set_server(name, True)

    def _set_server(self, name: str, on: bool) -> None:
        (self._flipped.discard if self.is_saved_on(name) is on else self._flipped.add)(name)

    def _set_items(self, items: Sequence[Offered], on: bool) -> None:
        off = self._switches.selection.off
        for item in items:
            (self._flipped_items.discard if (item.key not in off) is on else self._flipped_items.add)(item.key)

    # -- rows

    def rows(self, query: str = "") -> list[Row]:
        """Return the lines to show. A query leaves what holds all its words, in names or descriptions, and opens it."""
        words = query.casefold().split()
        rows: list[Row] = []
        for status in self.statuses:
            found = self._found(status, words)
            if found is None:
                continue
            is_open = bool(words and found) or (not words and status.name in self.open)
            rows.append(self._server_row(status, is_open))
            if is_open:
                on, flipped = self.is_on(status.name), self._flipped_items
                for one in found:
                    key = one.key
                    rows.append(ItemRow(one, on and self.is_item_on(key), key in flipped, self._mark(key)))
                if not found:
                    rows.append(NoteRow(status.name, _why_empty(status)))
                for tool in status.rejected if not words else ():
                    refused = f"{one_line(tool.name, 60)} is refused: {one_line(tool.reason, 300)}"
                    rows.append(NoteRow(status.name, refused, warns=True))
        return rows

    def _found(self, status: ServerStatus, words: Sequence[str]) -> list[Offered] | None:
        """Return the offers of a server that a search leaves; None when not even the server itself fits."""
        items = self._items.get(status.name, [])
        if not words:
            return items
        found = [item for item in items if all(word in self._haystacks[item.key] for word in words)]
        own = f"{status.name} {status.description}".casefold()
        return found if found or all(word in own for word in words) else None

    def _server_row(self, status: ServerStatus, is_open: bool) -> ServerRow:
        tools = [item for item in self._items.get(status.name, ()) if item.kind == "tool"]
        on = [item for item in tools if self.is_item_on(item.key)] if self.is_on(status.name) else []
        return ServerRow(
            status,
            self.mark(status.name),
            is_open,
            len(on),
            len(tools),
            sum(item.tokens for item in on),
            status.name in self._flipped or any(item.key in self._flipped_items for item in tools),
        )


def _why_empty(status: ServerStatus) -> str:
    state = status.state.value
    if state == "disabled" and status.reason:
        return f"It is off: {one_line(status.reason, 300)}."
    lost = "It has no tools while it is not connected; r tries again, l shows its log."
    return {
        "ready": "It offers nothing.",
        "disabled": "It is off. Its tools are listed once it is on and saved.",
        "needs sign-in": "Its tools are listed once you have signed in (s).",
        "failed": lost,
        "stopped": lost,
    }.get(state, "Its tools are listed when it is ready.")


SWITCHES: dict[Mark, str] = {"on": "[✓]", "partly": "[–]", "off": "[ ]"}
SWITCH_CELLS = range(3, 6)  # of a server's line; of what is below it, two further right
INDENT = 2
ITEM_NAME = 26  # cells that names get before descriptions begin
NAME = 18
NARROW = 50  # cells below which a tool's description is only told of the one under the cursor
_GLYPHS = {"ready": "●", "failed": "✗", "stopped": "○", "disabled": "○", "needs sign-in": "!"}
_TAGS = {"tool": "", "prompt": "prompt ", "resource": "resource "}
_MARKS: dict[str, Callable[[Palette], Sequence[Piece]]] = {
    "changed": lambda palette: [("● changed ", palette.warning)],
    "watched": lambda palette: [("○ watched ", palette.accent)],
}


def _server(row: ServerRow, width: int, palette: Palette, now: float, edge: Piece, chosen: bool) -> Line:
    status = row.status
    name = one_line(status.name, 40)
    left: list[Piece] = [
        edge,
        ("▾ " if row.open else "▸ ", palette.muted),
        (SWITCHES[row.mark], switch_style(row.mark, palette)),
        (" *" if row.changed else "  ", palette.warning),
        (f"{name:<{NAME}} ", palette.strong if chosen or row.mark != "off" else palette.base),
    ]
    state = state_pieces(status, now, palette)
    right: list[Piece] = []
    if row.tools:
        counted = (
            plural(row.tools, "tool") if row.tools_on in (0, row.tools) else f"{row.tools_on} of {row.tools} tools"
        )
        right = [(counted, palette.muted)]
        if row.tokens:
            right += [(" · ", palette.faint), (f"~{row.tokens:,} tokens", palette.base)]
    room = width - Line.cells(left) - 4
    while len(right) > 1 and Line.cells(state[:2]) + Line.cells(right) > room:
        right = right[:-2]  # whether it works is worth more than what it costs
    if Line.cells(state[:2]) + Line.cells(right) > room:
        right = []
    while status.state.value == "ready" and len(state) > 2 and Line.cells(state) + Line.cells(right) > room:
        del state[-2 if status.rejected and len(state) > 3 else -1]  # how it is connected before what was refused
    return _two_sides([*left, *state], right, width, palette)


def _item(row: ItemRow, width: int, palette: Palette, edge: Piece, chosen: bool) -> Line:
    item = row.item
    name = f"{one_line(item.name, 60):<{ITEM_NAME - len(_TAGS[item.kind])}}"
    ink = palette.strong if chosen else palette.base if row.on else palette.muted
    left: list[Piece] = [
        edge,
        ("  " + " " * INDENT, palette.base),
        (SWITCHES["on" if row.on else "off"], switch_style("on" if row.on else "off", palette)),
        (" *" if row.changed else "  ", palette.warning),
        (_TAGS[item.kind], palette.accent),
        *_MARKS.get(row.mark, lambda _palette: ())(palette),
        (f"{name} ", ink),
        (one_line(item.about, 300) if width >= NARROW else "", palette.muted),
    ]
    return _two_sides(left, [(f"~{item.tokens:,}", palette.muted)] if item.tokens else [], width, palette)


def _two_sides(left: list[Piece], right: list[Piece], width: int, palette: Palette) -> Line:
    """Return the left cut to leave room for the right, which goes where there is too little for both."""
    room = width - Line.cells(right) - 2
    if not right or room < 24:
        return Line.fit(Line.trim(left, width - 1), width, palette.base)
    left = Line.trim(left, room)
    gap = width - 1 - Line.cells(left) - Line.cells(right)
    return Line.fit([*left, (" " * gap, palette.base), *right], width, palette.base)


def switch_style(mark: Mark, palette: Palette) -> Style:
    return {"on": palette.success, "partly": palette.warning, "off": palette.muted}[mark]


def state_pieces(status: ServerStatus, now: float, palette: Palette) -> list[Piece]:
    state = status.state.value
    style = {"ready": palette.success, "failed": palette.error, "needs sign-in": palette.warning}.get(
        state, palette.muted if state in ("disabled", "stopped") else palette.secondary
    )
    pieces: list[Piece] = [(f"{_GLYPHS.get(state) or spinner(palette.turning(now))} ", style), (state, style)]
    if state == "ready":
        pieces.append((f" · {one_line(status.transport, 10)}", palette.muted))
        pieces.append((f" · {one_line(status.protocol_version, 20)}" if status.protocol_version else "", palette.muted))
        if status.rejected:
            pieces.append((f" · {plural(len(status.rejected), 'tool')} refused", palette.warning))
    elif state == "disabled":
        about = status.reason or status.description
        pieces.append((f" · {one_line(about, 300)}" if about else "", palette.muted))
    elif status.reason:
        pieces.append((f": {one_line(status.reason, 300)}", palette.base))
    return [piece for piece in pieces if piece[0]]


def _details(row: Row | None, width: int, height: int, palette: Palette) -> list[Line]:
    lines: list[list[Piece]] = []
    if isinstance(row, NoteRow):
        lines = _wrapped([(row.text, palette.warning)], width - 2, height) if row.warns else []
    elif isinstance(row, ItemRow):
        head: list[Piece] = [
            (one_line(f"{row.item.server} · {row.item.name}", 120), palette.strong),
            (f"  {row.item.kind}", palette.muted),
            (f" · {row.item.traits}" if row.item.traits else "", palette.muted),
        ]
        about = one_line(row.item.about, 2000) or "No description."
        lines = [head, *_wrapped([(about, palette.base)], width - 2, height - 1)]
    elif row is not None:
        lines = _server_details(row.status, width, height, palette)
    shown = [
        Line.fit([(" ", palette.base), *Line.trim(line, width - 2)], width, palette.base) for line in lines[:height]
    ]
    return shown + [Line.fit([], width, palette.base)] * (height - len(shown))


def _server_details(status: ServerStatus, width: int, height: int, palette: Palette) -> list[list[Piece]]:
    head: list[Piece] = [(one_line(status.name, 60), palette.strong)]
    facts = [status.server_info, status.transport, status.protocol_version and f"protocol {status.protocol_version}"]
    offered = ((status.prompts, "prompt"), (status.resources, "resource"))
    facts += [plural(count, what) for count, what in offered if count]
    facts += status.facts
    head.append((f"  {' · '.join(one_line(fact, 200) for fact in facts if fact)}", palette.muted))
    lines = _wrapped(head, width - 2, 2)
    if status.reason:
        ink = palette.muted if status.state.value in ("disabled", "stopped") else palette.error  # your own choice
        lines += _wrapped([(one_line(status.reason, 1000), ink)], width - 2, 2)
    for tool in status.rejected[:2]:
        lines.append([(f"{one_line(tool.name, 40)} is refused: {one_line(tool.reason, 200)}", palette.warning)])
    lines += [[(one_line(problem, 300), palette.warning)] for problem in status.problems[:1]]
    about = one_line(status.description or status.instructions, 1000)
    return lines + _wrapped([(about, palette.base)], width - 2, height - len(lines)) if about else lines


def _wrapped(pieces: list[Piece], width: int, most: int) -> list[list[Piece]]:
    rows = [row.pieces for row in Line.wrap(pieces, max(width, 1))]
    if len(rows) > most > 0:
        rows = [*rows[: most - 1], [*rows[most - 1], (" …", pieces[0][1])]]
    return rows[: max(most, 0)]


def _summary(tree: SwitchTree, in_requests: Callable[[int], int], width: int, palette: Palette) -> Line:
    """Sum up what is on and what it costs, how many servers failed, and what is not saved."""
    tools, tokens = tree.totals()
    _, before = tree.totals(saved=True)
    counted: list[Piece] = [
        (f" {plural(tools, 'tool')} on", palette.strong),
        (" · ", palette.faint),
        (f"~{(held := in_requests(tokens)):,} tokens", palette.base),
    ]
    every: list[Piece] = [(" in every request" + (f" instead of ~{tokens:,}" if held < tokens else ""), palette.muted)]
    if tokens != before:
        every.append((f" ({tokens - before:+,})", palette.success if tokens < before else palette.warning))
    unsaved: list[Piece] = []
    if tree.changes:
        unsaved = [(" · ", palette.faint), (f"* {plural(tree.changes, 'change')} not saved", palette.warning)]
    broken = sum(status.state.value == "failed" for status in tree.statuses)
    failed: list[Piece] = [(" · ", palette.faint), (f"✗ {plural(broken, 'server')} failed", palette.error)]
    told = [*(failed if broken else []), *unsaved]
    # In little room what is not saved comes first, and what the tokens are for goes.
    for pieces in ([*counted, *every, *told], [*counted, *told], [*counted, *unsaved]):
        if Line.cells(pieces) <= width:
            return Line.fit(pieces, width, palette.base)
    return Line.fit(Line.trim([(" ", palette.base), *unsaved[1:]] if unsaved else counted, width), width, palette.base)


class ServerTree(RowList):
    def __init__(self, switches: SwitchTree, clock: Callable[[], float]) -> None:
        super().__init__()
        self.switches = switches
        self.rows: list[Row] = []
        self._clock = clock

    def show(self, query: str, chosen: object = None) -> None:
        """Show the rows as they are now; the cursor goes to the row with the identity `chosen`, or stays on its own."""
        before = chosen or identity(self.row)
        self.rows = self.switches.rows(query)
        place = next((at for at, row in enumerate(self.rows) if identity(row) == before), None)
        self.set_count(len(self.rows), place)

    @property
    def row(self) -> Row | None:
        return self.rows[self.cursor] if 0 <= self.cursor < len(self.rows) else None

    def paint_row(self, row: int, width: int, palette: Palette) -> Line:
        one, chosen = self.rows[row], row == self.cursor
        edge: Piece = ("▌" if chosen else " ", palette.primary)
        match one:
            case ServerRow():
                return _server(one, width, palette, self._clock(), edge, chosen)
            case ItemRow():
                return _item(one, width, palette, edge, chosen)
            case NoteRow():
                text: Piece = (f"✗ {one.text}", palette.warning) if one.warns else (one.text, palette.muted)
                return Line.fit(Line.trim([edge, ("      ", palette.base), text], width), width, palette.base)


class Details(Widget):
    DEFAULT_CSS = "Details { height: 5; width: 1fr; border-top: solid $panel; }"

    def __init__(self, tree: ServerTree, in_requests: Callable[[int], int]) -> None:
        super().__init__()
        self._tree = tree
        self._in_requests = in_requests

    def render_line(self, y: int) -> Strip:
        width, height = self.content_size
        palette = self._tree.palette
        if y == height - 1:
            return _summary(self._tree.switches, self._in_requests, width, palette)
        if y == 0 and not self._tree.rows:
            known = self._tree.switches.statuses
            nothing = "Nothing fits the search." if known else "No server is configured; a adds one."
            return Line.fit([(f" {nothing}", palette.muted)], width, palette.base)
        return _details(self._tree.row, width, max(height - 1, 1), palette)[y]


def identity(row: Row | None) -> object:
    """Return what a row is of, the same before and after it was made anew."""
    match row:
        case ServerRow():
            return "server", row.status.name
        case ItemRow():
            return "item", row.item.key
        case NoteRow():
            return "note", row.server, row.text
        case None:
            return None

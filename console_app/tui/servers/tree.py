"""The tree of servers and what they offer, with its switches: what is on, what you changed, what a search leaves.

Pure state. Nothing is applied here: `selection` is what saving would make of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from console_app.config.servers import Item, Selection
from console_app.console.servers import Offered, ServerSwitches
from console_app.domain import one_line

if TYPE_CHECKING:
    from console_app.mcp_client import LeftOut, ServerStatus

Mark = Literal["on", "partly", "off"]


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A server's line."""

    status: ServerStatus
    mark: Mark
    open: bool
    tools_on: int
    tools: int
    tokens: int  # of the tools that are on
    changed: bool


@dataclass(frozen=True, slots=True)
class ItemRow:
    """The line of one tool, prompt or resource."""

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


def _unmarked(_item: Item) -> str:
    return ""


class SwitchTree:
    """The servers of `switches`, as they would be after saving."""

    def __init__(self, switches: ServerSwitches, mark: Callable[[Item], str] | None = None) -> None:
        self._switches = switches
        self._mark = mark or _unmarked
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
        self._haystacks = {
            item.key: f"{item.server} {item.name} {item.about}".casefold()
            for items in self._items.values()
            for item in items
        }
        self._flipped &= names

    def forget(self) -> None:
        """Drop the changes that were not saved."""
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
        """The three-state switch of a server."""
        if not self.is_on(server):
            return "off"
        items = self._items.get(server, ())
        on = sum(self.is_item_on(item.key) for item in items)
        return "on" if on == len(items) else "partly"

    @property
    def changes(self) -> int:
        """Count the switches that differ from the saved ones."""
        return len(self._flipped) + len(self._flipped_items)

    @property
    def selection(self) -> Selection:
        """Return the selection that saving would keep."""
        servers = {name: on for name, on in self._switches.selection.servers.items() if name not in self._flipped}
        for name in self._flipped:
            if self.is_on(name) != self._switches.default_on(name):
                servers[name] = self.is_on(name)
        return Selection(servers, self._switches.selection.off ^ self._flipped_items)

    def totals(self, *, saved: bool = False) -> tuple[int, int]:
        """(tools on, their tokens in every request), as it would be or as `saved`."""
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
        """Space on a row: a server on goes off, one that is off or partly on goes on with everything."""
        match row:
            case ServerRow():
                name = row.status.name
                if row.mark == "on":
                    self._set_server(name, False)
                else:
                    self._set_server(name, True)
                    if row.mark == "partly":
                        self._set_items(self._items.get(name, ()), True)
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
        """Switches the things among `rows` (what a search found), and the servers they need."""
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
        """The lines to show. A query leaves what holds all of its words, in names or descriptions, and opens it."""
        words = query.casefold().split()
        rows: list[Row] = []
        for status in self.statuses:
            found = self._found(status, words)
            if found is None:
                continue
            is_open = bool(words and found) or (not words and status.name in self.open)
            rows.append(self._server_row(status, is_open))
            if is_open:
                on = self.is_on(status.name)
                rows += [
                    ItemRow(
                        item,
                        on and self.is_item_on(item.key),
                        item.key in self._flipped_items,
                        self._mark(item.key),
                    )
                    for item in found
                ]
                if not found:
                    rows.append(NoteRow(status.name, _why_empty(status)))
                if not words:
                    rows += [NoteRow(status.name, _refused(tool), warns=True) for tool in status.rejected]
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


def _refused(tool: LeftOut) -> str:
    return f"{one_line(tool.name, 60)} is refused: {one_line(tool.reason, 300)}"


def _why_empty(status: ServerStatus) -> str:
    match status.state.value:
        case "ready":
            return "It offers nothing."
        case "disabled":
            if status.reason:
                return f"It is off: {one_line(status.reason, 300)}."
            return "It is off. Its tools are listed once it is on and saved."
        case "needs sign-in":
            return "Its tools are listed once you have signed in (s)."
        case "failed" | "stopped":
            return "It has no tools while it is not connected; r tries again, l shows its log."
        case _:
            return "Its tools are listed when it is ready."

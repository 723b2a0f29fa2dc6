"""The servers screen: a tree of servers and what they offer, with switches that take effect when you save."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, cast, get_args

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from console_app.config.servers import Typed
from console_app.console.reports import tail
from console_app.console.servers import HubSwitches, Offered
from console_app.domain import FanoutError, Level, one_line, safe_text, visible
from console_app.tui.asking.consent import Confirm
from console_app.tui.servers.offers import ServerOffers
from console_app.tui.servers.tree import (
    INDENT,
    SWITCH_CELLS,
    Details,
    ItemRow,
    NoteRow,
    Row,
    ServerRow,
    ServerTree,
    SwitchTree,
    identity,
)
from console_app.tui.terminal.key_names import key_name, writes_text
from console_app.tui.textual_internals import own_bindings
from console_app.tui.widgets.dialog import Dialog, HintedInput
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.pick_list import PickList
from console_app.tui.widgets.row_list import RowList
from console_app.tui.widgets.text_dialog import TextDialog

LOOK = 0.2  # seconds between two looks at what the servers do
P = ParamSpec("P")


class ServersScreen(Dialog[bool], sheets=("servers.tcss",)):
    """Gives whether anything was saved."""

    DEFAULT_CLASSES = "dialog -tall"
    AUTO_FOCUS = "ServerTree"

    # In the order of importance: what doesn't fit into the hints drops off from the end, closing and help never.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "switch", "on/off", id="servers.toggle"),
        Binding("enter", "save_and_close", "save", id="servers.save_and_close"),
        Binding("enter", "open", "open", tooltip="open or fold a server", id="servers.open"),
        Binding("enter", "use", "open", tooltip="open a tool, read a resource, use a prompt", id="servers.use"),
        Binding("right", "unfold(True)", "open a server", id="servers.unfold", show=False),
        Binding("left", "unfold(False)", "fold a server", id="servers.fold", show=False),
        Binding("slash", "search", "search", id="servers.search"),
        Binding("ctrl+s", "save", "save", tooltip="save and stay", id="servers.save", show=False),
        Binding("s", "sign_in", "sign in", id="servers.sign_in"),
        Binding("w", "wire", "wire", tooltip="the server's live JSON-RPC", id="servers.wire"),
        Binding("r", "reconnect", "reconnect", tooltip="reconnect the server", id="servers.reconnect"),
        Binding("l", "log", "log", tooltip="the server's log", id="servers.log"),
        Binding("a", "add", "add", tooltip="add a server", id="servers.add"),
        Binding("p", "ping", "ping", tooltip="ping the server", id="servers.ping"),
        Binding("i", "about", "about", tooltip="all that is known of the server", id="servers.about"),
        Binding("e", "edit", "edit", tooltip="change a server", id="servers.edit"),
        Binding("d,delete", "remove", "remove", tooltip="take a server out of mcp.json", id="servers.remove"),
        Binding("h", "rest", "off for an hour", tooltip="disconnect the server for an hour", id="servers.rest"),
        Binding("o", "open_all", "open or fold all", id="servers.open_all", show=False),
        Binding("plus", "all(True)", "switch on all listed", id="servers.all_on", show=False),
        Binding("minus", "all(False)", "switch off all listed", id="servers.all_off", show=False),
        Binding("tab", "next_place", "search or tree", id="servers.next_place", show=False, priority=True),
        Binding("f1", "help", "help", id="servers.help"),
        Binding("escape,ctrl+l", "leave", "close", id="servers.close"),
    ]

    def __init__(
        self,
        switches: HubSwitches,
        clock: Callable[[], float],
        on_server: str,
        offers: ServerOffers,
        in_requests: Callable[[int], int],
    ) -> None:
        super().__init__()
        self._switches = switches
        self._offers = offers
        self._tree = ServerTree(SwitchTree(switches, offers.mark), clock)
        self._details = Details(self._tree, in_requests)
        self._seen: object = None
        self._saved = False
        self._first = on_server

    @classmethod
    def all(cls) -> tuple[tuple[str, type[Dialog[Any]]], ...]:
        """Return the screens that are opened from it too, each with where it is."""
        from console_app.tui.servers.resource_screen import ResourceScreen
        from console_app.tui.servers.wire_screen import WireScreen

        return ("On the servers", cls), ("On a server's wire", WireScreen), ("On a resource", ResourceScreen)

    def compose(self) -> ComposeResult:
        with self.box("Servers"):
            yield HintedInput(hint="/ to search servers, tools and descriptions", id="search")
            yield self._tree
            yield self._details
            yield KeyHints()

    def on_mount(self) -> None:
        statuses = self._tree.switches.statuses
        if len(statuses) == 1:
            self._tree.switches.open.add(statuses[0].name)
        self._look()
        if self._first:
            names = [identity(row) for row in self._tree.rows]
            self._tree.move_to(names.index(("server", self._first)) if ("server", self._first) in names else 0)
        self.set_interval(LOOK, self._look)

    def _look(self) -> None:
        statuses = tuple(self._switches.statuses())
        seen = (self._switches.revision, statuses, self._offers.watching.revision, self._news)
        moving = any(not status.state.settled for status in statuses)
        if seen != self._seen:
            self._seen = seen
            self._tree.switches.refresh()
            self._show()
        elif moving:
            self._tree.refresh()

    @on(Input.Changed, "#search")
    def _show(self) -> None:
        self._tree.show(self._search.value)
        self._details.refresh()
        dialog = self.query_one("#box")
        dialog.border_subtitle = self._news if not self._tree.switches.changes else "enter save · esc close"
        self.refresh_bindings()

    @property
    def _news(self) -> str:
        return self._offers.file.unread if self._offers.file is not None else ""

    @property
    def _search(self) -> Input:
        return self.query_one("#search", Input)

    @property
    def _server(self) -> str:
        row = self._tree.row
        if isinstance(row, ServerRow):
            return row.status.name
        if isinstance(row, ItemRow):
            return row.item.server
        return "" if row is None else row.server

    # -- the cursor and the search

    @on(RowList.Moved)
    def _moved(self) -> None:
        self._details.refresh()
        self.refresh_bindings()

    @on(RowList.Clicked)
    def _clicked(self, event: RowList.Clicked) -> None:
        row = self._tree.rows[event.row]
        at = event.cell - (INDENT if isinstance(row, ItemRow) else 0)
        if at in SWITCH_CELLS:
            self.action_switch()
        elif isinstance(row, ServerRow) and (event.again or event.cell in (1, 2)):
            self.action_open()
        elif event.again and self._usable(row):
            self.action_use()

    @on(Input.Submitted, "#search")
    def _searched(self) -> None:
        self._tree.focus()

    def on_key(self, event: events.Key) -> None:
        if self.focused is self._search:
            if event.key in ("down", "up"):
                event.stop()
                self._tree.focus()
        elif writes_text(event) and event.character and event.key not in self.active_bindings:
            event.stop()
            self._search.focus()
            self._search.insert_text_at_cursor(event.character)

    def action_search(self) -> None:
        self._search.focus()

    def action_next_place(self) -> None:
        (self._tree if self.focused is self._search else self._search).focus()

    # -- switches

    def action_switch(self) -> None:
        if (row := self._tree.row) is not None:
            self._tree.switches.toggle(row)
            self._show()

    def action_all(self, on: bool) -> None:
        self._tree.switches.set_all(self._tree.rows, on)
        self._show()

    def action_open(self) -> None:
        if name := self._server:
            self.action_unfold(name not in self._tree.switches.open)

    def _usable(self, row: Row | None) -> bool:
        """Return whether Enter opens or uses what a server offers. A tool can be looked at while it is off, too."""
        if not isinstance(row, ItemRow) or self._tree.switches.changes:
            return False
        return self._offers.bench is not None if row.item.kind == "tool" else row.on

    def action_use(self) -> None:
        if isinstance(row := self._tree.row, ItemRow):
            self.run_worker(partial(self._use, row.item), exclusive=True)

    async def _use(self, item: Offered) -> None:
        if await self._offers.use(item):
            self.dismiss(self._saved)

    def action_unfold(self, open: bool) -> None:
        name, opened = self._server, self._tree.switches.open
        (opened.add if open else opened.discard)(name)
        if not open:
            place = next((at for at, row in enumerate(self._tree.rows) if identity(row) == ("server", name)), 0)
            self._tree.move_to(place)
        self._show()

    def action_open_all(self) -> None:
        names = {status.name for status in self._tree.switches.statuses}
        opened = self._tree.switches.open
        if opened >= names:
            opened.clear()
        else:
            opened |= names
        self._show()

    def action_save(self) -> None:
        if self._tree.switches.changes:
            self._work(self._save)

    def action_save_and_close(self) -> None:
        self._work(self._save, close=True)

    async def _save(self, *, close: bool = False) -> None:
        selection = self._tree.switches.selection
        self._tree.switches.forget()
        self._saved = True
        if close:
            self.dismiss(True)
        await self._switches.apply(selection)
        if not close:
            self._tree.switches.refresh()
            self._show()
            self.notify("Saved.", markup=False, timeout=2)

    def action_leave(self) -> None:
        if self._search.value:
            self._search.value = ""
            self._tree.focus()
        elif self.focused is self._search:
            self._tree.focus()
        elif self._tree.switches.changes:
            self.run_worker(self._ask_and_leave, exclusive=True)
        else:
            self.dismiss(self._saved)

    async def _ask_and_leave(self) -> None:
        asked = Confirm("Servers", "Some switches are not saved.", {"s": "save", "d": "discard"})
        answer = await self.app.push_screen_wait(asked)
        if answer == "s":
            self.action_save_and_close()
        elif answer == "d":
            self.dismiss(self._saved)

    # -- keys for one server

    def action_wire(self) -> None:
        if self._offers.bench is not None:
            self.run_worker(partial(self._offers.bench.wire, self._server), exclusive=True)

    def action_about(self) -> None:
        if self._offers.bench is not None:
            self.run_worker(partial(self._offers.bench.about, self._server), exclusive=True)

    def action_ping(self) -> None:
        if self._offers.bench is not None:
            self._work(self._offers.bench.ping, self._server)

    def action_rest(self) -> None:
        self._work(self._switches.rest, self._server)

    def action_help(self) -> None:
        rows: dict[str, list[str]] = {}
        for _, binding in own_bindings(self):
            if binding.id:
                rows.setdefault(binding.tooltip or binding.description, []).append(key_name(binding.key))
        text = "\n".join(f"{' · '.join(keys):<16} {what}" for what, keys in rows.items())
        self.app.push_screen(TextDialog("Keys of the servers", lambda: text))

    def action_reconnect(self) -> None:
        self._work(self._switches.reconnect, self._server)

    def action_sign_in(self) -> None:
        self.notify(f"Sign in to {one_line(self._server, 40)} in your browser.", markup=False)
        self._work(self._switches.sign_in, self._server)

    def action_log(self) -> None:
        status = next((one for one in self._tree.switches.statuses if one.name == self._server), None)
        if status is None:
            return
        if status.log_path is None:
            self.notify("A server that is not a program of this machine has no log here.", markup=False)
        else:
            set_level = partial(self._switches.set_log_level, status.name)
            self.app.push_screen(ServerLogDialog(status.name, status.log_path, status.log_level, set_level))

    def action_add(self) -> None:
        self.run_worker(partial(self._edit, ""), exclusive=True)

    def action_edit(self) -> None:
        self.run_worker(partial(self._edit, self._server), exclusive=True)

    async def _edit(self, name: str) -> None:
        taken = {status.name for status in self._tree.switches.statuses}
        try:
            written = dict(self._switches.written(name)) if name else {}
        except FanoutError as error:
            self._fail(error)
            return
        made = await self.app.push_screen_wait(ServerForm(name, written, taken - {name}, self._switches.file))
        if made is not None:
            self._work(self._put, *made)

    async def _put(self, name: str, fields: dict[str, Any]) -> None:
        before = identity(self._tree.row)
        await self._switches.put(name, fields)
        self._tree.switches.open.add(name)
        if self.is_attached and identity(self._tree.row) == before:  # else the cursor was moved meanwhile
            self._tree.switches.refresh()
            self._tree.show(self._search.value, ("server", name))
            self._show()
        self.notify(f"{one_line(name, 40)} is written to {self._switches.file}", markup=False)

    def action_remove(self) -> None:
        self.run_worker(partial(self._ask_and_remove, self._server), exclusive=True)

    async def _ask_and_remove(self, name: str) -> None:
        question = f"Take {one_line(name, 40)} out of {self._switches.file}? It is ended at once."
        if await self.app.push_screen_wait(Confirm("Remove", question, {"y": "remove"})):
            self._work(self._switches.remove, name)

    def _work(self, work: Callable[P, Coroutine[Any, Any, None]], *args: P.args, **named: P.kwargs) -> None:
        """Run something that takes a while, in the app, as it may outlive this screen. Say its error in one line."""

        async def run() -> None:
            try:
                await work(*args, **named)
            except FanoutError as error:
                self._fail(error)

        self.app.run_worker(run, name="servers")

    def _fail(self, error: FanoutError) -> None:
        self.app.notify(one_line(error.line, 400), severity="error", markup=False, timeout=10)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        searching = self.focused is not None and self.focused is self._search
        if action in ("leave", "next_place", "save"):
            return True
        if searching:
            return False  # letters belong to the search
        row = self._tree.row
        match action:
            case "save_and_close":
                return self._tree.switches.changes > 0
            case "use":
                return self._usable(row)
            case "open" | "unfold":
                return row is not None and (action != "open" or isinstance(row, ServerRow | NoteRow))
            case "switch":
                return row is not None and not isinstance(row, NoteRow)
            case "sign_in":
                return any(
                    s.name == self._server and s.state.value == "needs sign-in" for s in self._tree.switches.statuses
                )
            case "reconnect" | "log" | "edit" | "remove" | "rest":
                return row is not None
            case "wire" | "ping" | "about":
                return row is not None and self._offers.bench is not None
            case _:
                return True


LEVELS: tuple[Level, ...] = get_args(Level)
_LINE = re.compile(r"\d\d:\d\d:\d\d \[(\w+)\] ")
_ABOUT = {
    "debug": "everything",
    "info": "what a server says when it is asked for nothing else",
    "warning": "warnings and errors",
    "error": "errors alone",
}


class ServerLogDialog(TextDialog):
    """Shows the log from a level on. `set_level` asks the server for lines from that level on; raises FanoutError."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("v", "level", "level", id="log.level")]

    def __init__(self, name: str, path: Path, level: Level, set_level: Callable[[Level], Awaitable[None]]) -> None:
        title = f"Log of {one_line(name, 40)}"
        super().__init__(title, lambda: from_level(tail(path), self._level), at_end=True, every=0.5)
        self._level: Level = level
        self._set_level = set_level

    def on_mount(self) -> None:
        self._name_level()

    def _name_level(self) -> None:
        self.name_keys(f"{self._level} and above · v level · c copy · esc close")

    @work(exclusive=True)
    async def action_level(self) -> None:
        choices = {level: _ABOUT.get(level, "") for level in LEVELS}
        note = "The server is told too: lines below it are no longer written."
        picked = await self.app.push_screen_wait(PickList("Log level", choices, current=self._level, note=note))
        if picked is None:
            return
        self._level = cast("Level", picked)
        self._name_level()
        self._show()
        try:
            await self._set_level(self._level)
        except FanoutError as error:
            self.notify(one_line(error.line, 300), severity="warning", markup=False)


def from_level(text: str, level: Level) -> str:
    """Return the lines of a log without those marked as below `level`. Lines without a mark are standard error."""
    least = LEVELS.index(level)
    if not least:
        return text
    lines: list[str] = []
    dropping = False
    for line in text.split("\n"):
        if (marked := _LINE.match(line)) is not None:
            dropping = marked[1] in LEVELS and LEVELS.index(cast("Level", marked[1])) < least
        elif not line.startswith((" ", "\t")):
            dropping = False  # only what is indented goes on from the line above
        if not dropping:
            lines.append(line)
    return "\n".join(lines)


class ServerForm(Dialog[tuple[str, dict[str, Any]] | None], sheets=("../asking/form.tcss",)):
    """Gives (name, entry for mcp.json), or None for Escape. The name of a server that is there can't be changed."""

    DEFAULT_CLASSES = "dialog form"
    AUTO_FOCUS = "Input"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "save", id="server_form.save", priority=True),
        Binding("tab", "app.focus_next", "next field", id="server_form.next", priority=True),
        Binding("escape", "dismiss(None)", "back", id="server_form.back"),
    ]

    def __init__(self, name: str, written: Mapping[str, Any], taken: set[str], file: Path) -> None:
        super().__init__()
        self._server = name
        self._written = written
        self._taken = taken
        self._file = file
        self._first = Typed.of(name, written)
        self._tried = False

    def compose(self) -> ComposeResult:
        with self.box("Change a server" if self._server else "Add a server") as dialog:
            dialog.border_subtitle = Content(one_line(str(self._file), 60))  # pyright: ignore[reportAttributeAccessIssue]
            yield Static("Name", classes="label")
            yield Input(
                visible(self._first.name),
                id="name",
                disabled=bool(self._server),
                placeholder="server name",
                select_on_focus=False,
            )
            yield Static(classes="problem", id="name-problem")
            yield Static("Command or address", classes="label")
            yield HintedInput(
                self._first.target,
                id="target",
                hint="npx -y some-server   or   https://example.org/mcp",
                select_on_focus=False,
            )
            yield Static(classes="problem", id="target-problem")
            yield Static(classes="note", id="explained")
            yield Static(Content("Environment or headers, NAME=value a line; ${VAR} is filled in"), classes="label")
            yield TextArea(self._first.lines, id="lines", compact=True)
            yield Static(classes="problem", id="lines-problem")
            yield KeyHints()

    def on_mount(self) -> None:
        if self._server:
            self.query_one("#target", Input).focus()
        self._tell()

    @property
    def _typed(self) -> Typed:
        return Typed(
            self._server or self.query_one("#name", Input).value.strip(),
            self.query_one("#target", Input).value,
            self.query_one("#lines", TextArea).text,
        )

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _tell(self) -> dict[str, str]:
        typed = self._typed
        wrong = typed.problems(self._taken)
        if not safe_text.is_safe(typed.name):
            wrong.setdefault("name", "has characters that can't be seen")
        for field in ("name", "target", "lines"):
            # Before the first try a field that is still empty is no mistake.
            text = wrong.get(field, "") if self._tried or wrong.get(field, "")[:9] != "is needed" else ""
            line = self.query_one(f"#{field}-problem", Static)
            line.update(Content(f"✗ {text}"))
            line.set_class(bool(text), "-said")
        self.query_one("#explained", Static).update(Content(one_line(typed.explained(), 300)))
        return wrong

    @on(Input.Submitted)
    def action_save(self) -> None:
        self._tried = True
        wrong = self._tell()
        if wrong:
            self.query_one(f"#{next(iter(wrong))}").focus()
        else:
            typed = self._typed
            self.dismiss((typed.name, typed.fields(self._written)))

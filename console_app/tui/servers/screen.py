"""The servers screen: a tree of servers and what they offer, with switches that take effect when you save."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.types import CSSPathType
from textual.widgets import Input

from console_app.console.servers import Offered, ServerSwitches
from console_app.domain import FanoutError, one_line
from console_app.tui.servers.server_form import ServerForm
from console_app.tui.servers.server_log import ServerLogDialog
from console_app.tui.servers.tree import ItemRow, NoteRow, Row, ServerRow, SwitchTree
from console_app.tui.servers.tree_view import INDENT, SWITCH_CELLS, Details, ServerTree, identity
from console_app.tui.terminal.key_names import key_name, writes_text
from console_app.tui.textual_internals import own_bindings
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.hinted_input import HintedInput
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.row_list import RowList
from console_app.tui.widgets.text_dialog import Confirm, ConfirmChoice, TextDialog

if TYPE_CHECKING:
    from console_app.tui.servers.offers import ServerOffers
    from console_app.tui.servers.workbench import Workbench

LOOK = 0.2  # seconds between two looks at what the servers do
P = ParamSpec("P")


class ServersScreen(Dialog[bool]):
    """Gives whether anything was saved."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../widgets/dialog.tcss", "servers.tcss"]
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
        switches: ServerSwitches,
        clock: Callable[[], float],
        on_server: str = "",
        offers: ServerOffers | None = None,
        searches: Callable[[int], bool] = lambda tokens: False,
    ) -> None:
        super().__init__()
        self._switches = switches
        self._offers = offers
        self._tree = ServerTree(SwitchTree(switches, offers.mark if offers is not None else None), clock)
        self._details = Details(self._tree, searches)
        self._seen: object = None
        self._saved = False
        self._first = on_server

    def compose(self) -> ComposeResult:
        """Lay out the search, the tree, what the cursor is on, and the keys."""
        with Vertical(id="box") as dialog:
            dialog.border_title = "Servers"
            yield HintedInput(hint="/ to search servers, tools and descriptions", id="search")
            yield self._tree
            yield self._details
            yield KeyHints()

    def on_mount(self) -> None:
        """Fold everything but the only server there is."""
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
        seen = (
            self._switches.revision,
            statuses,
            self._offers.watching.revision if self._offers is not None else 0,
            self._news,
        )
        moving = any(not status.state.settled for status in statuses)
        if seen != self._seen:
            self._seen = seen
            self._tree.switches.refresh()
            self._show()
        elif moving:
            self._tree.refresh()

    def _go_to(self, server: str) -> None:
        self._tree.switches.refresh()
        self._tree.show(self._search.value, ("server", server))
        self._show()

    def _show(self) -> None:
        self._tree.show(self._search.value)
        self._details.refresh()
        dialog = self.query_one("#box")
        dialog.border_subtitle = self._news if not self._tree.switches.changes else "enter save · esc close"
        self.refresh_bindings()

    @property
    def _news(self) -> str:
        """The words for an mcp.json that is another on disk, or ""."""
        file = self._offers.file if self._offers is not None else None
        return file.unread if file is not None else ""

    @property
    def _search(self) -> Input:
        return self.query_one("#search", Input)

    @property
    def _server(self) -> str:
        return _server_of(self._tree.row)

    @property
    def _bench(self) -> Workbench | None:
        return self._offers.bench if self._offers is not None else None

    # -- the cursor and the search

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        event.stop()
        self._details.refresh()
        self.refresh_bindings()

    @on(RowList.Clicked)
    def _clicked(self, event: RowList.Clicked) -> None:
        """Turn a switch that was clicked, or open a server where the cursor was there already."""
        event.stop()
        row = self._tree.rows[event.row]
        at = event.cell - (INDENT if isinstance(row, ItemRow) else 0)
        if at in SWITCH_CELLS:
            self.action_switch()
        elif isinstance(row, ServerRow) and (event.again or event.cell in (1, 2)):
            self.action_open()
        elif event.again and self._usable(row):
            self.action_use()

    @on(Input.Changed, "#search")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._show()

    @on(Input.Submitted, "#search")
    def _searched(self, event: Input.Submitted) -> None:
        event.stop()
        self._tree.focus()

    def on_key(self, event: events.Key) -> None:
        """A letter that is no key of this screen begins a search; the arrows leave it."""
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
        """Tab: from the search to the tree and back."""
        (self._tree if self.focused is self._search else self._search).focus()

    # -- switches

    def action_switch(self) -> None:
        if (row := self._tree.row) is not None:
            self._tree.switches.toggle(row)
            self._show()

    def action_all(self, on: bool) -> None:
        """+ and -: everything that is listed below the servers that are open."""
        self._tree.switches.set_all(self._tree.rows, on)
        self._show()

    def action_open(self) -> None:
        if name := self._server:
            self.action_unfold(name not in self._tree.switches.open)

    def _usable(self, row: Row | None) -> bool:
        """Return whether Enter opens or uses what a server offers. A tool can be looked at while it is off, too."""
        if self._offers is None or not isinstance(row, ItemRow) or self._tree.switches.changes:
            return False
        return self._offers.bench is not None if row.item.kind == "tool" else row.on

    def action_use(self) -> None:
        """Enter on a tool, a prompt or a resource: it is opened, read, or goes into the prompt."""
        if isinstance(row := self._tree.row, ItemRow):
            self.run_worker(partial(self._use, row.item), exclusive=True)

    async def _use(self, item: Offered) -> None:
        assert self._offers is not None
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
        """Escape: out of the search, else out; asks when something would be lost."""
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
        answers = [ConfirmChoice("s", "save", "save"), ConfirmChoice("d", "discard", "discard")]
        answer = await self.app.push_screen_wait(Confirm("Servers", "Some switches are not saved.", answers))
        if answer == "save":
            self.action_save_and_close()
        elif answer == "discard":
            self.dismiss(self._saved)

    # -- keys for one server

    def action_wire(self) -> None:
        if self._bench is not None:
            self.run_worker(partial(self._bench.wire, self._server), exclusive=True)

    def action_about(self) -> None:
        if self._bench is not None:
            self.run_worker(partial(self._bench.about, self._server), exclusive=True)

    def action_ping(self) -> None:
        if self._bench is not None:
            self._work(self._bench.ping, self._server)

    def action_rest(self) -> None:
        self._work(self._switches.rest, self._server)

    def action_help(self) -> None:
        """F1: every key of this screen, those too that the hints have no room for."""
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
            self._go_to(name)
        self.notify(f"{one_line(name, 40)} is written to {self._switches.file}", markup=False)

    def action_remove(self) -> None:
        self.run_worker(partial(self._ask_and_remove, self._server), exclusive=True)

    async def _ask_and_remove(self, name: str) -> None:
        question = f"Take {one_line(name, 40)} out of {self._switches.file}? It is ended at once."
        answer = await self.app.push_screen_wait(Confirm("Remove", question, [ConfirmChoice("y", "remove", "yes")]))
        if answer == "yes":
            self._work(self._switches.remove, name)

    def _work(self, work: Callable[P, Coroutine[Any, Any, None]], *args: P.args, **named: P.kwargs) -> None:
        """Run something that takes a while, and say its error in one line. The app runs it, as it may outlive this
        screen."""
        self.app.run_worker(partial(self._report_errors, partial(work, *args, **named)), name="servers")

    async def _report_errors(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except FanoutError as error:
            self._fail(error)

    def _fail(self, error: FanoutError) -> None:
        self.app.notify(one_line(error.line, 400), severity="error", markup=False, timeout=10)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key does something where the cursor is."""
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
                return row is not None and self._bench is not None
            case _:
                return True


def _server_of(row: Row | None) -> str:
    match row:
        case ServerRow():
            return row.status.name
        case ItemRow():
            return row.item.server
        case NoteRow():
            return row.server
        case None:
            return ""

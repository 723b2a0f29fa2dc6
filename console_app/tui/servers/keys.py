"""What the keys of the servers screen do to one server: reconnect, sign in, its log, add, change and remove it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec

from console_app.console.servers.switches import ServerSwitches
from console_app.domain.errors import FanoutError
from console_app.domain.safe_text import one_line
from console_app.tui.servers.server_form import ServerForm
from console_app.tui.servers.server_log import ServerLogDialog
from console_app.tui.servers.tree_view import ServerTree, identity
from console_app.tui.terminal.key_names import key_name
from console_app.tui.textual_internals import own_bindings
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.text_dialog import Confirm, ConfirmChoice, TextDialog

if TYPE_CHECKING:
    from console_app.tui.servers.workbench import Workbench

P = ParamSpec("P")


class ServerKeys(Dialog[bool]):
    """Actions over the attributes that the screen sets."""

    _switches: ServerSwitches
    _tree: ServerTree

    @property
    @abstractmethod
    def _server(self) -> str:
        """The server that the cursor is on or in."""

    @abstractmethod
    def _go_to(self, server: str) -> None:
        """Puts the cursor on a server that has just been written."""

    @property
    @abstractmethod
    def _bench(self) -> Workbench | None:
        """What opens servers and tools; None where there is no hub."""

    def action_wire(self) -> None:
        """w."""
        if self._bench is not None:
            self.run_worker(partial(self._bench.wire, self._server), exclusive=True)

    def action_about(self) -> None:
        """i."""
        if self._bench is not None:
            self.run_worker(partial(self._bench.about, self._server), exclusive=True)

    def action_ping(self) -> None:
        """p."""
        if self._bench is not None:
            self._work(self._bench.ping, self._server)

    def action_rest(self) -> None:
        """h."""
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
        """r."""
        self._work(self._switches.reconnect, self._server)

    def action_sign_in(self) -> None:
        """s."""
        self.notify(f"Sign in to {one_line(self._server, 40)} in your browser.", markup=False)
        self._work(self._switches.sign_in, self._server)

    def action_log(self) -> None:
        """l."""
        status = next((one for one in self._tree.switches.statuses if one.name == self._server), None)
        if status is None:
            return
        if status.log_path is None:
            self.notify("A server that is not a program of this machine has no log here.", markup=False)
        else:
            set_level = partial(self._switches.set_log_level, status.name)
            self.app.push_screen(ServerLogDialog(status.name, status.log_path, status.log_level, set_level))

    def action_add(self) -> None:
        """a."""
        self.run_worker(partial(self._edit, ""), exclusive=True)

    def action_edit(self) -> None:
        """e."""
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
        """d."""
        self.run_worker(partial(self._ask_and_remove, self._server), exclusive=True)

    async def _ask_and_remove(self, name: str) -> None:
        question = f"Take {one_line(name, 40)} out of {self._switches.file}? It is ended at once."
        answer = await self.app.push_screen_wait(Confirm("Remove", question, [ConfirmChoice("y", "remove", "yes")]))
        if answer == "yes":
            self._work(self._switches.remove, name)

    def _work(self, work: Callable[P, Coroutine[Any, Any, None]], *args: P.args, **named: P.kwargs) -> None:
        """Runs what takes a while; its error is one line. Of the app, as it may outlive this screen."""
        self.app.run_worker(partial(self._report_errors, partial(work, *args, **named)), name="servers")

    async def _report_errors(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except FanoutError as error:
            self._fail(error)

    def _fail(self, error: FanoutError) -> None:
        self.app.notify(one_line(error.line, 400), severity="error", markup=False, timeout=10)

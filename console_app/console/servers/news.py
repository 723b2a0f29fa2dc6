"""News of servers: of their states, of the files that say which there are, of watched resources, and how the newest
ping of each went."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING

from console_app.config.trust import Changes, ServerFiles, Untrusted
from console_app.console.ui_port import UiPort
from console_app.domain import FanoutError, amounts, one_line, plural
from console_app.mcp_client import Hub, ServerStatus, Traffic

if TYPE_CHECKING:
    from console_app.console.servers.switches import HubSwitches

MOST_NAMED = 6


class FileNews:
    """Tell one console that files of servers have changed, and read them again on /reload."""

    def __init__(self, files: ServerFiles, switches: HubSwitches, ui: UiPort) -> None:
        self._files = files
        self._switches = switches
        self._ui = ui

    @property
    def unread(self) -> str:
        names = " and ".join(one_line(path.name, 40) for path in self._files.unread)
        return f"{names} changed · /reload reads it" if names else ""

    async def look(self) -> None:
        for path in await asyncio.to_thread(self._files.news):
            self._ui.tell("info", f"{one_line(str(path), 200)} has changed. /reload reads it.")

    async def reload(self) -> None:
        try:
            choice = await asyncio.to_thread(self._files.read)
            if isinstance(choice, Untrusted):
                if not await self._trusts(choice):
                    return
                choice = await asyncio.to_thread(self._files.read)
            if isinstance(choice, Untrusted):
                return  # another again, between the yes and the reading
            for note in choice.notes:
                self._ui.tell("warning", one_line(note, 400))
            if choice.path is None:
                self._ui.toast("No mcp.json is read here.")
                return
            before, now = self._files.choice, choice.servers
            found = Changes.between(before.servers, now)
            await self._switches.reload(choice, found)
            await asyncio.to_thread(self._files.take, choice)
        except FanoutError as error:
            self._ui.tell("error", f"{one_line(error.line, 400)} Nothing was changed.")
            return
        another = before.path != choice.path  # the servers of the file before are gone from nothing that is yours
        what = (
            f"its servers are used now: {_named([one.name for one in now]) or 'none'}" if another else described(found)
        )
        self._ui.tell("info", f"{one_line(str(choice.path), 200)}: {what}.")

    async def _trusts(self, refused: Untrusted) -> bool:
        found = Changes.between(self._files.choice.servers, refused.servers)
        said = (refused.said[name] for name in (*found.added, *found.changed))
        lines = (f"{one_line(str(refused.path), 400)} has changed:", described(found), *said)
        if not await self._ui.trusts("\n".join(lines)):
            self._ui.toast("Not trusted: the servers stay as they are.")
            return False
        await asyncio.to_thread(self._files.trust, refused)
        return True


def described(found: Changes) -> str:
    parts = [
        f"{what} {_named(names)}"
        for what, names in (("added", found.added), ("removed", found.removed), ("restarted", found.changed))
        if names
    ]
    return " · ".join(parts) or "no server has changed"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(one_line(name, 40) for name in names[:MOST_NAMED]) + more


class ServerNews:
    """Tell one face of servers that need its user, once; what isn't so any more is taken back where it can be."""

    def __init__(self, statuses: Callable[[], Sequence[ServerStatus]], ui: UiPort) -> None:
        self._statuses = statuses
        self._ui = ui
        self._told: dict[str, tuple[str, str]] = {}  # server to its state, and the line about it

    def changed(self) -> None:
        troubled = {one.name: one for one in self._statuses() if one.state in ("failed", "needs sign-in")}
        for name, (state, line) in list(self._told.items()):
            if name not in troubled or troubled[name].state != state:
                del self._told[name]
                self._ui.take_back(line)
        for name, server in troubled.items():
            if name not in self._told:
                self._told[name] = str(server.state), _line(server)
                self._ui.tell("warning", self._told[name][1])


def _line(server: ServerStatus) -> str:
    name = one_line(server.name, 40)
    if server.state == "failed":
        why = one_line(server.reason, 200).rstrip(".")
        return f"Server {name} failed: {why}{'' if why.endswith('…') else '.'} Ctrl+L shows all servers."
    return f"Server {name} needs you to sign in, in /mcp or with fanout mcp auth {name}."


def server_report(status: ServerStatus, traffic: Traffic, ping: str, wire: str) -> str:
    """Report all that is known of a server, secrets too."""
    theirs, ours = traffic.capabilities
    dropped = f", {traffic.dropped:,} dropped" if traffic.dropped else ""
    counts = ((status.tools, "tool"), (status.prompts, "prompt"), (status.resources, "resource"))
    rows = [
        ("state", status.state.value + (f": {status.reason}" if status.reason else "")),
        ("server", status.server_info),
        ("about", status.description),
        ("runs", status.runs),
        ("spoken", " · ".join(part for part in (status.transport, status.protocol_version) if part)),
        ("offers", ", ".join(plural(count, what) for count, what in counts)),
        ("log", str(status.log_path or "")),
        *((what, text) for what, _, text in (fact.partition(" ") for fact in status.facts)),
    ]
    lines = [
        *[f"{name:<10} {text}" for name, text in rows if text],
        f"ping       {ping}",
        f"wire       {plural(len(traffic), 'message')}{dropped}: {wire}",
    ]
    if traffic.handshake is None:
        lines += ["", "The connection is not initialized yet."]
    else:
        lines += ["", "The server says that it", *(f"  {line}" for line in theirs or ["can do nothing"])]
        lines += ["", "Fanout offered it that it", *(f"  {line}" for line in ours or ["can do nothing"])]
    if status.rejected:
        lines += ["", "Tools that can't be offered", *(f"  {one.name}: {one.reason}" for one in status.rejected)]
    if status.problems:
        lines += ["", "Lists that are not whole", *(f"  {one}" for one in status.problems)]
    if status.instructions:
        lines += ["", "What it tells the model about itself", status.instructions]
    return "\n".join(lines)


class Pings:
    """The pings of one console. `statuses` are the servers as the user sees them."""

    def __init__(self, hub: Hub, statuses: Callable[[], Sequence[ServerStatus]], redact: Callable[[str], str]) -> None:
        self._hub = hub
        self._statuses = statuses
        self._redact = redact
        self._newest: dict[str, str] = {}  # how they went, by server

    async def ping(self, server: str) -> str:
        name, status = one_line(server, 40), self._status(server)
        if status is not None and status.state.value == "starting":
            return f"{name} is still starting; a ping has no answer before it is ready."
        if status is not None and status.state.value != "ready":
            why = ": ".join(filter(None, (status.state.value, one_line(status.reason, 200))))
            self._newest[server] = f"no answer: it is {why}"
            return f"{name} is {why.rstrip('.')}."
        try:
            took = amounts.measured(await self._hub.ping(server))
        except FanoutError as error:
            self._newest[server] = f"no answer: {one_line(error.line, 200)}"
            raise
        self._newest[server] = took
        return f"{name} answered in {took}."

    def report(self, server: str, *, not_asked: str, wire: str) -> str:
        if (status := self._status(server)) is None:
            return "It is not in mcp.json any more."
        ping = self._newest.get(server, not_asked)
        return self._redact(server_report(status, self._hub.traffic(server), ping, wire))

    def _status(self, server: str) -> ServerStatus | None:
        return next((one for one in self._statuses() if one.name == server), None)


PAUSE = 0.3  # seconds in which changes are told in one line
MOST_URIS = 3


class Watching:
    """The watched resources of one hub. A change is told once, and again only after the resource was read."""

    def __init__(self, hub: Hub | None, ui: UiPort) -> None:
        self._hub = hub
        self._ui = ui
        self.revision = 0  # goes up with each change
        self._changed: set[tuple[str, str]] = set()
        self._untold: dict[str, list[str]] = {}
        self._context = copy_context()
        if hub is not None:
            hub.on_update = self._updated

    def mark(self, server: str, uri: str) -> str:
        if (server, uri) in self._changed:
            return "changed"
        return "watched" if self._hub is not None and self._hub.subscribed(server, uri) else ""

    def seen(self, server: str, uri: str) -> None:
        if (server, uri) in self._changed:
            self._changed.discard((server, uri))
            self.revision += 1

    async def switch(self, server: str, uri: str) -> bool:
        assert self._hub is not None
        on = not self._hub.subscribed(server, uri)
        await self._hub.connection(server).catalogue.subscribe(uri, on=on)
        if not on:
            self._changed.discard((server, uri))
        self.revision += 1
        return on

    def _updated(self, server: str, uri: str) -> None:
        if (server, uri) in self._changed:
            return
        self._changed.add((server, uri))
        self.revision += 1
        if not self._untold:
            # A server's own task calls this, and knows nothing of the app that a line is told in.
            asyncio.get_running_loop().call_later(PAUSE, self._tell, context=self._context)
        self._untold.setdefault(server, []).append(uri)

    def _tell(self) -> None:
        untold, self._untold = self._untold, {}
        assert self._hub is not None
        for server, uris in untold.items():
            name = one_line(server, 40)
            if len(uris) == 1:
                how = f"{self._hub.mention(server, uris[0])} attaches it as it is now."
                self._ui.tell("info", f"{one_line(uris[0], 120)} of {name} has changed. {one_line(how, 160)}")
            else:
                named = ", ".join(one_line(uri, 60) for uri in uris[:MOST_URIS])
                more = f" and {len(uris) - MOST_URIS:,} more" if len(uris) > MOST_URIS else ""
                self._ui.tell("info", f"{len(uris):,} resources of {name} have changed: {named}{more}.")

"""Pings servers, and tells how the newest ping of each went in the report on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextvars import copy_context

from console_app.console.ui_port import UiPort
from console_app.domain import FanoutError, amounts, one_line, plural
from console_app.mcp_client import Hub, ServerStatus, Traffic


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
MOST_NAMED = 3


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
                named = ", ".join(one_line(uri, 60) for uri in uris[:MOST_NAMED])
                more = f" and {len(uris) - MOST_NAMED:,} more" if len(uris) > MOST_NAMED else ""
                self._ui.tell("info", f"{len(uris):,} resources of {name} have changed: {named}{more}.")

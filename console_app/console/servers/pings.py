"""Pings servers, and tells how the newest ping of each went in the report on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from console_app.domain import FanoutError, amounts, one_line, plural
from console_app.mcp_client import Hub, ServerStatus, Traffic


def server_report(status: ServerStatus, traffic: Traffic, ping: str, wire: str) -> str:
    """Report all that is known of a server, secrets too. `ping` says how the newest went, `wire` where its messages
    are."""
    theirs, ours = traffic.capabilities
    dropped = f", {traffic.dropped:,} dropped" if traffic.dropped else ""
    lines = [
        *_facts(status),
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


def _facts(status: ServerStatus) -> list[str]:
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
    return [f"{name:<10} {text}" for name, text in rows if text]


class Pings:
    """The pings of one console. `statuses` are the servers as the user sees them."""

    def __init__(self, hub: Hub, statuses: Callable[[], Sequence[ServerStatus]], redact: Callable[[str], str]) -> None:
        self._hub = hub
        self._statuses = statuses
        self._redact = redact
        self._newest: dict[str, str] = {}  # how they went, by server

    async def ping(self, server: str) -> str:
        """Ask a server for a sign of life; say how long it took, or why there is none. Raises ServerError."""
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
        """Return all that is known of a server, without secrets. `wire` says where its messages are to be seen."""
        if (status := self._status(server)) is None:
            return "It is not in mcp.json any more."
        ping = self._newest.get(server, not_asked)
        return self._redact(server_report(status, self._hub.traffic(server), ping, wire))

    def _status(self, server: str) -> ServerStatus | None:
        return next((one for one in self._statuses() if one.name == server), None)

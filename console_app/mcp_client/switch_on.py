"""Switches on a server that is configured and off, and waits until its tools are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from console_app.domain.errors import ServerError
from console_app.domain.safe_text import one_line
from console_app.domain.tools import ToolSpec
from console_app.mcp_client.connecting.status import ServerState, ServerStatus
from console_app.mcp_client.tools.naming import plain

if TYPE_CHECKING:
    from console_app.mcp_client.hub import Hub


_LONGEST = 300  # characters of a reason: it is the server's words


def _why_missing(wire_name: str, statuses: Sequence[ServerStatus], off: Iterable[ToolSpec]) -> str:
    """Say in a few words that a tool or its server is switched off or failed, or that the tool was left out; else "".

    `off` are the tools that are switched off. The beginning of a tool's name tells the server, which may list nothing.
    """
    if switched_off := next((spec for spec in off if spec.name == wire_name), None):
        return f"{one_line(switched_off.label, 100)} is switched off"
    named = [status for status in statuses if wire_name.startswith(plain(status.name, ""))]
    if not named:
        return ""
    server = max(named, key=lambda status: len(status.name))
    name = one_line(server.name, 60)
    reason = one_line(server.reason, _LONGEST)
    match server.state:
        case ServerState.READY:
            refused = (one for one in server.rejected if one.name and plain(server.name, one.name) == wire_name)
            tool = next(refused, None)
            return f"{name}.{one_line(tool.name, 60)} is left out: {one_line(tool.reason, _LONGEST)}" if tool else ""
        case ServerState.FAILED:
            return f"server {name} failed: {reason}"
        case ServerState.DISABLED:
            return f"server {name} is switched off" + (f": {reason}" if reason else "")
        case _:
            return f"server {name} is {server.state}" + (f": {reason}" if reason else "")


class HubSwitch:
    """The ServerSwitch of a hub: a server that it switches on stays so until the program ends.

    `statuses` stands for the hub's own where the user has more to say of a server than the hub knows.
    """

    def __init__(self, hub: Hub, statuses: Callable[[], Sequence[ServerStatus]] | None = None) -> None:
        self._hub = hub
        self._statuses = statuses or hub.statuses

    def off(self) -> Mapping[str, str]:
        """Return the servers that are switched off and could be on, name to description; one that failed is on."""
        disabled = (one for one in self._statuses() if one.state is ServerState.DISABLED and not one.reason)
        return {status.name: status.description for status in disabled}

    def runs(self, name: str) -> str:
        return next((status.runs for status in self._statuses() if status.name == name), "")

    async def switch_on(self, name: str) -> Sequence[ToolSpec]:
        """Return the tools of a server that are on, once it is up. Raises ServerError where it doesn't come up."""
        await self._hub.set_enabled(name, True)
        while not (status := self._status(name)).state.settled:
            await self._hub.listed(name)
        if status.state is not ServerState.READY:
            raise ServerError(f"{name} was switched on and is {status.state}: {status.reason or 'no reason given'}")
        return [spec for spec in self._hub.tools() if spec.server == name]

    def why_missing(self, tool: str) -> str:
        return _why_missing(tool, self._statuses(), self._hub.tools_off())

    def _status(self, name: str) -> ServerStatus:
        return next(status for status in self._hub.statuses() if status.name == name)

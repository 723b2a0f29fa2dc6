"""Switches on a server that is configured and off, and waits until its tools are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from console_app.domain.errors import ServerError
from console_app.domain.tools import ToolSpec
from console_app.mcp_client.connecting.status import ServerState, ServerStatus
from console_app.mcp_client.tools.absence import why_missing

if TYPE_CHECKING:
    from console_app.mcp_client.hub import Hub


class HubSwitch:
    """The ServerSwitch of a hub: what it switches on stays so until the program ends."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def off(self) -> Mapping[str, str]:
        """Those that mcp.json or the user has switched off and that could be on; one that failed is on."""
        statuses = self._hub.statuses()
        disabled = (one for one in statuses if one.state is ServerState.DISABLED and not one.reason)
        return {status.name: status.description for status in disabled}

    def runs(self, name: str) -> str:
        return next((status.runs for status in self._hub.statuses() if status.name == name), "")

    async def switch_on(self, name: str) -> Sequence[ToolSpec]:
        """Its tools that are on, once it is up. Raises ServerError with the reason when it doesn't come up."""
        await self._hub.set_enabled(name, True)
        while not (status := self._status(name)).state.settled:
            await self._hub.listed(name)
        if status.state is not ServerState.READY:
            raise ServerError(f"{name} was switched on and is {status.state}: {status.reason or 'no reason given'}")
        return [spec for spec in self._hub.tools() if spec.server == name]

    def why_missing(self, tool: str) -> str:
        return why_missing(tool, self._hub.statuses(), self._hub.tools_off())

    def _status(self, name: str) -> ServerStatus:
        return next(status for status in self._hub.statuses() if status.name == name)

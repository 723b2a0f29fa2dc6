"""Resources that you watch: what the servers say has changed, until you have read it."""

from __future__ import annotations

import asyncio
from contextvars import copy_context

from console_app.console.ui_port import UiPort
from console_app.domain import one_line
from console_app.mcp_client import Hub

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
        """Return the word that marks a resource: "changed", "watched", or "" for none."""
        if (server, uri) in self._changed:
            return "changed"
        return "watched" if self._hub is not None and self._hub.subscribed(server, uri) else ""

    def seen(self, server: str, uri: str) -> None:
        """Note that a resource was read, so that it counts as changed no more."""
        if (server, uri) in self._changed:
            self._changed.discard((server, uri))
            self.revision += 1

    async def switch(self, server: str, uri: str) -> bool:
        """Start or stop watching a resource, and return whether it is watched now. Raises ServerError."""
        assert self._hub is not None
        on = not self._hub.subscribed(server, uri)
        await self._hub.subscribe(server, uri, on=on)
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

"""What the first prompt of a console waits for: services that load, then servers that connect. Plain state, no widget.

Servers connect with or without a prompt; who sends one may start it without those that are not there yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from console_app.domain import one_line

MOST_NAMED = 2  # servers; the others are counted


class ServerView(Protocol):
    """What is shown of one MCP server (`mcp_client.hub.Hub.statuses` gives these)."""

    @property
    def name(self) -> str:
        """Its name in mcp.json."""
        ...

    @property
    def state(self) -> str:
        """starting, ready, reconnecting, failed, stopped or disabled."""
        ...

    @property
    def reason(self) -> str:
        """Why it is in that state, in one line; "" where there is nothing to say."""
        ...

    @property
    def tools(self) -> int:
        """How many of its tools are on."""
        ...

    @property
    def transport(self) -> str:
        """stdio, http or sse."""
        ...


class Readiness:
    """The start of one console. `connect` returns when a prompt need not wait for servers any longer."""

    def __init__(self, servers: Callable[[], Sequence[ServerView]], connect: Callable[[], Awaitable[None]]) -> None:
        self._servers = servers
        self._connect = connect
        self._services = asyncio.Event()
        self._connected = asyncio.Event()

    def services_ready(self) -> None:
        """All but the servers is there."""
        self._services.set()

    def waits_for_nothing(self) -> None:
        """Everything is there, as far as it will be: a face that starts all by itself says so."""
        self._services.set()
        self._connected.set()

    async def connect(self) -> None:
        """Waits for the servers, once everything else is loaded."""
        try:
            await self._connect()
        finally:
            self._connected.set()

    def skip(self) -> bool:
        """The first prompt is not to wait for servers; False when it doesn't."""
        if not self.connecting:
            return False
        self._connected.set()
        return True

    async def ready(self) -> None:
        """Returns when a turn may begin."""
        await self._services.wait()
        await self._connected.wait()

    @property
    def loading(self) -> bool:
        """Whether something is still missing that no turn can do without."""
        return not self._services.is_set()

    @property
    def connecting(self) -> Sequence[str]:
        """The servers that a prompt waits for."""
        return () if self._connected.is_set() else self.missing

    @property
    def awaited(self) -> str:
        """The servers that a prompt waits for, in words; "" for none."""
        return named(self.connecting) if self.connecting else ""

    @property
    def missing(self) -> Sequence[str]:
        """The servers that are still connecting."""
        return [one_line(server.name, 30) for server in self._servers() if server.state == "starting"]


def named(servers: Sequence[str]) -> str:
    """`server files`, `servers files and web`, `servers files, web and 3 more`."""
    if len(servers) == 1:
        return f"server {servers[0]}"
    first, more = servers[:MOST_NAMED], len(servers) - MOST_NAMED
    return f"servers {', '.join(first)} and {more} more" if more > 0 else f"servers {' and '.join(first)}"

"""The wait of a console's first prompt: for services that load, then for servers that connect, unless it goes without
those."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from console_app.console.talk.sessions import Sessions
from console_app.console.ui_port import UiPort
from console_app.domain import FanoutError, one_line

if TYPE_CHECKING:
    from console_app.console.services import Services
    from console_app.mcp_client import ServerStatus

MOST_NAMED = 2  # servers; the others are counted


class Readiness:
    """The start of one console. `connect` returns when a prompt need not wait for servers any longer."""

    def __init__(self, servers: Callable[[], Sequence[ServerStatus]], connect: Callable[[], Awaitable[None]]) -> None:
        self._servers = servers
        self._connect = connect
        self._services = asyncio.Event()
        self._connected = asyncio.Event()

    def services_ready(self) -> None:
        self._services.set()

    def waits_for_nothing(self) -> None:
        """Take it that nothing more will be loaded or connected, as a face does that starts all by itself."""
        self._services.set()
        self._connected.set()

    async def connect(self) -> None:
        try:
            await self._connect()
        finally:
            self._connected.set()

    def skip(self) -> bool:
        if not self.connecting:
            return False
        self._connected.set()
        return True

    async def ready(self) -> None:
        await self._services.wait()
        await self._connected.wait()

    @property
    def loading(self) -> bool:
        return not self._services.is_set()

    @property
    def connecting(self) -> Sequence[str]:
        return () if self._connected.is_set() else self.missing

    @property
    def awaited(self) -> str:
        return named(self.connecting) if self.connecting else ""

    @property
    def missing(self) -> Sequence[str]:
        return [one_line(server.name, 30) for server in self._servers() if server.state == "starting"]


def named(servers: Sequence[str]) -> str:
    """`server files`, `servers files and web`, `servers files, web and 3 more`."""
    if len(servers) == 1:
        return f"server {servers[0]}"
    first, more = servers[:MOST_NAMED], len(servers) - MOST_NAMED
    return f"servers {', '.join(first)} and {more} more" if more > 0 else f"servers {' and '.join(first)}"


log = logging.getLogger(__name__)


class ConsoleStart:
    """Start one console. A part that fails is reported, and the rest can be used. `tried` is called once the session
    asked for is open, or can't be."""

    def __init__(self, services: Services, readiness: Readiness, ui: UiPort, tried: Callable[[], None]) -> None:
        self._services = services
        self._readiness = readiness
        self._ui = ui
        self._tried = tried
        self._missing_reported = False

    async def run(self, sessions: Sessions) -> None:
        try:
            await asyncio.gather(self._services.start(), self._open(sessions))
        except FanoutError as error:
            self._ui.tell("error", error.line)
        except Exception as error:
            log.exception("starting the services failed")
            what = one_line(repr(error), 200)
            self._ui.tell("error", f"Fanout could not start everything: {what}. /log has the details.")
        finally:
            self._readiness.services_ready()
            self._ui.changed()
        await self._readiness.connect()

    async def _open(self, sessions: Sessions) -> None:
        if self._services.resume:
            try:
                await sessions.resume(self._services.resume)
            finally:
                self._tried()
        if self._services.replay is not None:
            async for event in self._services.replay.play():
                self._ui.show(event)

    async def ready_to_send(self, sessions: Sessions) -> None:
        await self._readiness.ready()
        await sessions.settled()
        if (missing := self._readiness.missing) and not self._missing_reported:
            self._missing_reported = True
            tools = "Its tools come once it is ready" if len(missing) == 1 else "Their tools come as each is ready"
            self._ui.tell("info", f"Started without {named(missing)}, still connecting. {tools}.")

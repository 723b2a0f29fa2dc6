"""How a console starts, behind its first paint: services load, a session that was asked for opens, servers connect."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from console_app.console.talk.readiness import Readiness, named
from console_app.console.talk.sessions import Sessions
from console_app.console.ui_port import UiPort
from console_app.domain import FanoutError, one_line

if TYPE_CHECKING:
    from console_app.sessions import Replay

log = logging.getLogger(__name__)


class Startable(Protocol):
    """What a console runs on, as far as its start goes."""

    start: Callable[[], Awaitable[None]]
    resume: str
    replay: Replay | None


class ConsoleStart:
    """Of one console. What goes wrong is told, and the console is of use without. `tried` is called once the session
    that was asked for is open, or can't be opened."""

    def __init__(
        self, services: Startable, readiness: Readiness, ui: UiPort, tried: Callable[[], None] = lambda: None
    ) -> None:
        self._services = services
        self._readiness = readiness
        self._ui = ui
        self._tried = tried
        self._missing_reported = False

    async def run(self, sessions: Sessions) -> None:
        """Returns when nothing has to be waited for any longer."""
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
        """What the command line asks for: a session to go on with, or one to play."""
        if self._services.resume:
            try:
                await sessions.resume(self._services.resume)
            finally:
                self._tried()
        if self._services.replay is not None:
            async for event in self._services.replay.play():
                self._ui.show(event)

    async def ready_to_send(self, sessions: Sessions) -> None:
        """Returns when a turn may begin."""
        await self._readiness.ready()
        await sessions.settled()
        if (missing := self._readiness.missing) and not self._missing_reported:
            self._missing_reported = True
            tools = "Its tools come once it is ready" if len(missing) == 1 else "Their tools come as each is ready"
            self._ui.tell("info", f"Started without {named(missing)}, still connecting. {tools}.")

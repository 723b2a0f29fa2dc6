"""The prompts and resources of one server, listed in the background and again when they change, and their use."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from console_app.domain import Level, errors
from console_app.mcp_client.connecting import faults
from console_app.mcp_client.connecting.faults import CallRefused, ConnectionLost
from console_app.mcp_client.offering.offers import (
    Offers,
    PromptMessage,
    ResourceContent,
    ResourceTemplate,
    ServerPrompt,
)
from console_app.mcp_client.tools.convert import ResultFiles

if TYPE_CHECKING:
    from console_app.mcp_client.connecting.session import ServerSession

log = logging.getLogger(__name__)


class Catalogue:
    """One server's prompts and resources. Every method that asks the server raises ServerError, and takes
    `seconds` at most."""

    def __init__(
        self,
        server: str,
        session: Callable[[], Awaitable[ServerSession]],
        files: ResultFiles,
        seconds: float,
        changed: Callable[[], None],
    ) -> None:
        self.offers = Offers()
        self.listed = asyncio.Event()  # the lists have come, whatever is in them
        self.subscribed: set[str] = set()  # resources to be told of, over all connections
        self.log_level: Level = "info"
        self._server = server
        self._session = session
        self._files = files
        self._seconds = seconds
        self._changed = changed

    async def refresh(self, session: ServerSession) -> None:
        """Lists again; what can't be listed is empty, with the reason in the offers. A first list that is slow holds
        no other up."""
        try:
            self._take(await session.offers(self._seconds, self._take_first))
        except Exception as error:
            self._take(Offers(problems=(f"nothing could be listed: {faults.connection_reason(error)}",)))

    def _take_first(self, so_far: Offers) -> None:
        if not self.listed.is_set():  # else what was listed before says more
            self._take(so_far)

    def _take(self, offers: Offers) -> None:
        self.offers = offers
        self.listed.set()
        self._changed()

    def forget(self) -> None:
        """Forget what the server offered: it is gone."""
        self.offers = Offers()
        self.listed.clear()

    async def restore(self, session: ServerSession) -> None:
        """Tell a new connection what was asked of the one before."""
        try:
            if self.log_level != "info":
                await session.set_log_level(self.log_level)
            for uri in sorted(self.subscribed):
                await session.subscribe(uri, on=True)
        except (CallRefused, ConnectionLost) as error:
            log.info("%s: %s", self._server, error)

    async def read(self, uri: str) -> list[ResourceContent]:
        async with self._asked() as session:
            return await session.read_resource(uri, self._files)

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> list[PromptMessage]:
        """Return the messages of a prompt, filled in."""
        async with self._asked() as session:
            return await session.get_prompt(name, arguments, self._files)

    async def complete(
        self, ref: ServerPrompt | ResourceTemplate, argument: str, value: str, others: Mapping[str, str]
    ) -> list[str]:
        """Return what the server proposes for an argument that is being typed."""
        async with self._asked() as session:
            return await session.complete(ref, argument, value, others)

    async def subscribe(self, uri: str, *, on: bool) -> None:
        """Ask to be told when a resource changes, or no longer."""
        (self.subscribed.add if on else self.subscribed.discard)(uri)
        try:
            async with self._asked() as session:
                await session.subscribe(uri, on=on)
        except errors.ServerError:
            self.subscribed.discard(uri)  # what was refused is not asked for again with each reconnect
            raise

    async def set_log_level(self, level: Level) -> None:
        """Ask for log lines from `level` on."""
        self.log_level = level
        async with self._asked() as session:
            await session.set_log_level(level)

    async def ping(self) -> float:
        """Return how many seconds the server took for a sign of life."""
        async with self._asked() as session:
            began = time.perf_counter()
            await session.ping()
            return time.perf_counter() - began

    @asynccontextmanager
    async def _asked(self) -> AsyncGenerator[ServerSession]:
        """Yield the session to ask something of, for as long as it may take. Raises ServerError."""
        try:
            async with asyncio.timeout(self._seconds):
                yield await self._session()
        except (CallRefused, ConnectionLost) as error:
            raise errors.ServerError(f"{self._server}: {str(error) or 'the connection was lost'}") from error
        except TimeoutError:
            raise errors.ServerError(f"{self._server}: no answer within {self._seconds:g} s") from None

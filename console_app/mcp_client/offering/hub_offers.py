"""What a hub's servers offer beside tools: prompts, resources, completion, and the level of their log lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from console_app.config.servers import Item, Kind
from console_app.domain.errors import ServerError
from console_app.domain.events import Level
from console_app.mcp_client.connecting.connection import Connection
from console_app.mcp_client.connecting.status import ServerState
from console_app.mcp_client.offering.offers import (
    Offers,
    PromptMessage,
    Resource,
    ResourceContent,
    ResourceTemplate,
    ServerPrompt,
)
from console_app.mcp_client.offering.typed_names import typed_names, typed_prompts, written_uri


class OffersOfServers(ABC):
    """A part of the Hub. Lists are what is known now; whatever asks a server raises ServerError."""

    _connections: dict[str, Connection]
    _off: frozenset[Item]

    @abstractmethod
    def _changed(self) -> None:
        """Something about a server is another now."""

    def prompts(self) -> Sequence[ServerPrompt]:
        """The prompts of all servers that are up, without those switched off."""
        return [
            one for offers in self.offers() for one in offers.prompts if self._is_on(one.server, "prompt", one.name)
        ]

    def resources(self) -> Sequence[Resource]:
        """The resources of all servers that are up, without those switched off."""
        return [
            one for offers in self.offers() for one in offers.resources if self._is_on(one.server, "resource", one.uri)
        ]

    def templates(self) -> Sequence[ResourceTemplate]:
        """The resource templates of all servers that are up, without those switched off."""
        return [
            one
            for offers in self.offers()
            for one in offers.templates
            if self._is_on(one.server, "resource", one.uri_template)
        ]

    def typed_servers(self) -> dict[str, str]:
        """What is typed for each server, to its name."""
        return typed_names(self._connections)

    def typed_prompts(self) -> dict[str, ServerPrompt]:
        """`server:prompt`, as it is typed, to each prompt that is on."""
        return typed_prompts(self.prompts(), self._connections)

    def mention(self, server: str, uri: str) -> str:
        """How a resource is named in a prompt: `@server:uri`."""
        typed = next((typed for typed, name in self.typed_servers().items() if name == server), server)
        return f"@{typed}:{written_uri(uri)}"

    async def listed(self, server: str) -> None:
        """Returns once what a server offers beside tools is known, the server is down, or after a while."""
        await self._connection(server).listed()

    def offers(self) -> Sequence[Offers]:
        """All that each server lists beside tools, what is switched off too."""
        return [connection.catalogue.offers for connection in self._connections.values()]

    async def get_prompt(self, prompt: ServerPrompt, arguments: Mapping[str, str]) -> list[PromptMessage]:
        """The messages of a prompt, filled in."""
        return await self._connection(prompt.server).catalogue.get_prompt(prompt.name, arguments)

    async def complete(
        self, ref: ServerPrompt | ResourceTemplate, argument: str, value: str, others: Mapping[str, str] | None = None
    ) -> list[str]:
        """What the server proposes for `argument`, of which `value` is typed; `others` are those filled in already."""
        return await self._connection(ref.server).catalogue.complete(ref, argument, value, others or {})

    async def read_resource(self, server: str, uri: str) -> list[ResourceContent]:
        """The parts of a resource; bytes become files."""
        return await self._connection(server).catalogue.read(uri)

    def offers_resource(self, server: str, uri: str) -> bool:
        """Whether a resource may be read: it need not be listed, but it must not be switched off."""
        return self._is_on(server, "resource", uri)

    def subscribed(self, server: str, uri: str) -> bool:
        """Whether we asked to be told when a resource changes."""
        connection = self._connections.get(server)
        return connection is not None and uri in connection.catalogue.subscribed

    async def subscribe(self, server: str, uri: str, *, on: bool = True) -> None:
        """Asks to be told (`on_update`) when a resource changes, or no longer. Holds over reconnects."""
        await self._connection(server).catalogue.subscribe(uri, on=on)

    async def set_log_level(self, level: Level, server: str | None = None) -> None:
        """Which log lines are wanted, of one server or of all; below it they are dropped here too."""
        chosen = self._connections.values() if server is None else [self._connection(server)]
        for connection in chosen:
            connection.catalogue.log_level = level
            if connection.state is ServerState.READY:
                await connection.catalogue.set_log_level(level)
        self._changed()

    async def ping(self, server: str) -> float:
        """How many seconds a server took for a sign of life."""
        return await self._connection(server).catalogue.ping()

    def _is_on(self, server: str, kind: Kind, name: str) -> bool:
        return (server, kind, name) not in self._off

    def _connection(self, name: str) -> Connection:
        connection = self._connections.get(name)
        if connection is None:
            raise ServerError(f"there is no server {name}")
        return connection

"""The tools of one server as it listed them last, with what of them isn't what the user trusted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from console_app.config.servers import ServerConfig
from console_app.mcp_client.connecting.status import RejectedTool
from console_app.mcp_client.tools.definitions import Definitions, hash_of

if TYPE_CHECKING:
    from mcp_types import Tool

    from console_app.mcp_client.connecting.session import ServerListing


class ListedTools:
    """`hashes` are those of the definitions, `changed` how one differs from what was trusted; both by name."""

    def __init__(self, config: ServerConfig, definitions: Definitions | None) -> None:
        self._config = config
        self._definitions = definitions
        self.forget()

    def forget(self) -> None:
        """The server is gone, or is to be listed anew from nothing."""
        self.tools: tuple[Tool, ...] = ()
        self.rejected: tuple[RejectedTool, ...] = ()
        self.hashes: dict[str, str] = {}
        self.changed: dict[str, str] = {}

    def named(self, name: str) -> Tool | None:
        """The tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    async def take(self, listing: ServerListing) -> None:
        """These are the tools now. All of it changes at once, so that no definition is seen with another's hash."""

        def examined() -> tuple[dict[str, str], dict[str, str]]:
            changed = self._definitions.changed(self._config, listing.tools) if self._definitions is not None else {}
            return {tool.name: hash_of(tool) for tool in listing.tools}, changed

        self.hashes, self.changed = await asyncio.to_thread(examined)
        self.tools, self.rejected = listing.tools, listing.rejected

    async def accept(self, name: str, shown: str) -> bool:
        """The user trusts the tool whose definition has the hash `shown`; False when it is another by now."""
        tool = self.named(name)
        if tool is None or self.hashes.get(name) != shown:
            return False
        if self._definitions is not None:
            if not await asyncio.to_thread(self._definitions.accept, self._config, tool, shown):
                return False
            if self.hashes.get(name) == shown:  # else they were listed again meanwhile
                self.changed.pop(name, None)
        return self.hashes.get(name) == shown

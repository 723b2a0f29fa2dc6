"""What servers offer beside tools, as the main screen uses it: prompts as commands, resources to read and to watch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from console_app.console.completion import Completions, Token
from console_app.console.console import Console
from console_app.mcp_client.hub import Hub
from console_app.tui.commands.registry import CommandRegistry
from console_app.tui.servers.completing import ServerCompletion
from console_app.tui.servers.prompts import prompt_commands
from console_app.tui.ui import Ui

if TYPE_CHECKING:
    from console_app.config.servers import Item
    from console_app.console.servers.switches import Offered
    from console_app.tui.servers.workbench import Workbench


class ServerOffers:
    """Of one console. Without a hub, as in a replay, nothing is offered."""

    def __init__(
        self, hub: Hub | None, ui: Ui, commands: CommandRegistry, console: Console, send: Callable[[str], None]
    ) -> None:
        self._hub = hub
        self._ui = ui
        self._commands = commands
        self._send = send
        self._completion = ServerCompletion(hub) if hub is not None else None
        self.watching = console.watching
        self.bench: Workbench | None = None  # once there is a conversation in which tools can run
        self.file = console.server_files  # says when mcp.json changes

    def changed(self) -> None:
        """Some server came, went, or has another list."""
        if self._hub is not None:
            self._commands.offer(prompt_commands(self._hub, self._ui, self._send))

    def mark(self, item: Item) -> str:
        """What there is to say of a thing in the servers screen: "changed", "watched" or ""."""
        server, kind, name = item
        return self.watching.mark(server, name) if kind == "resource" else ""

    async def use(self, item: Offered) -> bool:
        """Opens a tool, reads a resource, or puts a prompt where prompts are typed; whether something of it is on its
        way, or in the prompt, now."""
        if item.kind == "tool":
            return self.bench is not None and await self.bench.tool(item)
        from console_app.tui.servers.using import use

        return self._hub is not None and await use(self._ui, self._hub, self.watching, item)

    async def read(self, server: str, uri: str) -> None:
        """Shows a resource that a result links to."""
        from console_app.tui.servers.using import read

        if self._hub is not None:
            await read(self._ui, self._hub, self.watching, server, uri)

    def is_prompt(self, name: str) -> bool:
        """Whether `server:prompt` can only mean a prompt, since there is such a server."""
        server = name.partition(":")[0]
        return self._hub is not None and server in self._hub.typed_servers()

    async def completions(self, token: Token) -> AsyncIterator[Completions]:
        """What servers know for a token, more of it each time."""
        if self._completion is None:
            yield Completions()
            return
        async for found in self._completion.later(token):
            yield found

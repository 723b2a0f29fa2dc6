"""All MCP servers as one set of tools. They connect in the background; what is ready is offered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console_app.config.secrets.credentials import Credentials, FileCredentials
from console_app.config.secrets.redaction import Redactor
from console_app.config.servers.mcp_servers import ServerConfig
from console_app.config.servers.tool_choice import Item
from console_app.domain.errors import ToolError
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import ToolResult, ToolSpec
from console_app.mcp_client.connecting.asking import Asking
from console_app.mcp_client.connecting.connection import Connection
from console_app.mcp_client.connecting.shared import RETRY_DELAYS, Shared
from console_app.mcp_client.connecting.status import ServerState, ServerStatus
from console_app.mcp_client.exchange import Exchanges
from console_app.mcp_client.offering import instructions
from console_app.mcp_client.offering.hub_offers import OffersOfServers
from console_app.mcp_client.tools import convert, injection
from console_app.mcp_client.tools.definitions import Definitions
from console_app.mcp_client.tools.naming import WireNames
from console_app.mcp_client.traffic import RawMessage, Traffic
from console_app.mcp_client.transport import Guard

if TYPE_CHECKING:
    from mcp_types import Tool


class Hub(OffersOfServers):
    """A Toolset over many servers. `on_change` is called in the event loop after a change of any state or offer,
    `on_update` with a server and the URI of a resource there that changed (after `subscribe`)."""

    def __init__(
        self,
        servers: Sequence[ServerConfig],
        *,
        log_dir: Path,
        files_dir: Path,
        on_change: Callable[[], None] | None = None,
        on_update: Callable[[str, str], None] | None = None,
        asking: Asking | None = None,
        credentials: Credentials | None = None,
        definitions: Definitions | None = None,
        injected: Mapping[str, Any] | None = None,
        retry_delays: Sequence[float] = RETRY_DELAYS,
        redactor: Redactor | None = None,
    ) -> None:
        self._injected = dict(injected or {})
        self.on_change = on_change
        self.on_update = on_update
        self.asking = asking or Asking()
        self._names = WireNames()
        self._specs: tuple[ToolSpec, ...] | None = None
        self._off: frozenset[Item] = frozenset()
        self._exchanges = Exchanges()
        self._guard = Guard()
        self._shared = Shared(
            log_dir=log_dir,
            files=convert.ResultFiles(files_dir),
            guard=self._guard,
            changed=self._changed,
            credentials=credentials or FileCredentials(files_dir.parent / "credentials.json"),
            definitions=definitions,
            updated=self._updated,
            asking=self.asking,
            exchanges=self._exchanges,
            retry_delays=tuple(retry_delays),
            redactor=redactor or Redactor(),
        )
        self._connections = {config.name: Connection(config, self._shared) for config in servers}

    async def start(self) -> None:
        """Begins to connect to every server; returns at once."""
        for connection in self._connections.values():
            connection.start()

    async def ready(self, timeout: float | None = None, *, stragglers: float | None = None) -> None:
        """Returns once every server is ready, failed or disabled, or after `timeout` seconds.

        With `stragglers`, also that many seconds after the first server had tools to offer: one that hangs then
        delays nobody.
        """
        waiting = [asyncio.ensure_future(connection.settled()) for connection in self._connections.values()]
        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        try:
            while waiting:
                _, pending = await asyncio.wait(
                    waiting,
                    timeout=None if end is None else max(0.0, end - loop.time()),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if not pending or (end is not None and loop.time() >= end):
                    return
                if stragglers is not None and self.tools():
                    end = min(end or float("inf"), loop.time() + stragglers)
                    stragglers = None
                waiting = list(pending)
        finally:
            for task in waiting:
                task.cancel()

    async def settled(self, name: str) -> None:
        """Returns once one server is ready, failed or disabled. Raises ServerError for an unknown name."""
        await self._connection(name).settled()

    async def reconnect(self, name: str) -> None:
        """Connects to one server anew, and returns once that has settled. Raises ServerError for an unknown name."""
        await self._connection(name).reconnect()

    async def sign_in(self, name: str) -> ServerStatus:
        """Opens the browser (`asking.open_url`) for the user to sign in to a server; its status once that settled.

        Tokens are kept and refreshed; the state is `ready` when it worked. Raises ServerError for an unknown name.
        """
        connection = self._connection(name)
        await connection.sign_in()
        return connection.status

    async def sign_out(self, name: str) -> None:
        """Forgets what was kept of a sign-in, and connects anew without it."""
        connection = self._connection(name)
        await connection.sign_out()
        await connection.reconnect()

    async def trust_tools(self, name: str, shown: Mapping[str, str]) -> Sequence[str]:
        """Trusts the changed tools of a server as they were shown, tool to the hash of its definition; returns those
        that still are that. Raises ServerError."""
        connection = self._connection(name)
        changed = [tool for tool in connection.listed_tools.changed if tool in shown]
        return [tool for tool in changed if await connection.accept(tool, shown[tool])]

    async def close(self, *, hurried: bool = False) -> None:
        """Ends every connection, all at once, and every program that was started, with their children.

        `hurried` leaves programs hardly any time to leave by themselves."""
        self._guard.hurried = hurried
        await asyncio.gather(*(connection.stop() for connection in self._connections.values()))
        await self._guard.close()

    async def set_enabled(self, name: str, on: bool) -> None:
        """Switches one server on (it connects in the background) or off (its program has ended on return)."""
        connection = self._connection(name)
        if connection.config.disabled is on:
            await self.put(connection.config.model_copy(update={"disabled": not on}))

    async def put(self, config: ServerConfig) -> None:
        """Adds a server, or replaces the one of that name, and begins to connect to it."""
        before = self._connections.get(config.name)
        if before is not None:
            await before.stop()
        connection = self._connections[config.name] = Connection(config, self._shared)
        connection.start()
        self._changed()

    async def remove(self, name: str) -> None:
        """Ends a server and forgets it."""
        await self._connection(name).stop()
        del self._connections[name]
        self._changed()

    def select(self, off: Collection[Item]) -> None:
        """Which tools, prompts and resources are switched off: they are offered to nobody until they are on again."""
        self._off = frozenset(off)
        self._changed()

    def statuses(self) -> Sequence[ServerStatus]:
        """Every server as it is now, in the order of mcp.json."""
        return [connection.status for connection in self._connections.values()]

    def tools(self) -> Sequence[ToolSpec]:
        """The tools that are on, of all servers that are up, in the order of mcp.json and of each server's list."""
        if self._specs is None:
            self._specs = tuple(spec for spec in self.all_tools() if self._is_on(spec.server, "tool", spec.tool))
        return self._specs

    def all_tools(self) -> Sequence[ToolSpec]:
        """`tools`, and those that are switched off."""
        connections = self._connections.values()
        return [self._spec(connection, tool) for connection in connections for tool in connection.listed_tools.tools]

    def tools_off(self) -> Sequence[ToolSpec]:
        """The tools that are switched off, of servers that are up."""
        return [spec for spec in self.all_tools() if not self._is_on(spec.server, "tool", spec.tool)]

    def tool(self, server: str, name: str) -> ToolSpec | None:
        """One tool of a server, whether it is on or off; None where there is none such now."""
        connection = self._connections.get(server)
        found = connection.listed_tools.named(name) if connection is not None else None
        return self._spec(connection, found) if connection is not None and found is not None else None

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        """Runs one call. Raises ToolError when no server has the tool; every other failure is a result."""
        spec = invocation.spec
        connection = self._connections.get(spec.server)
        if connection is None:
            raise ToolError(f"no server {spec.server or '?'} has the tool {spec.tool or spec.name}")
        if spec.identity is not None and spec.identity != connection.identity:
            raise ToolError(f"{spec.server} is another server now than when this call was decided: it did not run")
        return await connection.call(
            spec.tool,
            self._arguments(connection, invocation, reporter),
            reporter,
            dict(invocation.meta),
            invocation.call_id,
            definition=spec.definition,
            accept=bool(spec.changed),  # no rule and no mode lets such a call pass: somebody has looked at it
        )

    def _arguments(self, connection: Connection, invocation: Invocation, reporter: CallReporter) -> dict[str, Any]:
        """What was approved, with what the tool wants Fanout to fill in."""
        tool = connection.listed_tools.named(invocation.spec.tool)
        schema: dict[str, Any] = tool.input_schema if tool is not None else {}
        wants_all = "_mcp_data" in injection.named(schema) and self._injected.get("_mcp_data") is True
        catalogue = injection.catalogue_of(self.statuses(), self.tools()) if wants_all else {}
        arguments, names = injection.filled_in(schema, invocation.arguments, self._injected, catalogue)
        if names:
            reporter.log("info", f"filled in by Fanout: {', '.join(names)}")
        return arguments

    def exchange(self, call_id: str) -> Sequence[RawMessage]:
        """The raw JSON-RPC messages of a call, in order: what was kept of it (mcp_client.exchange)."""
        return self._exchanges.of(call_id)

    def traffic(self, server: str) -> Traffic:
        """All JSON-RPC messages of a server, both ways: what was kept of them."""
        return self._exchanges.traffic(server)

    def instructions(self) -> str:
        """What the servers tell the model about themselves: a section for the system prompt, or ""."""
        return instructions.section(self.statuses())

    def _updated(self, server: str, uri: str) -> None:
        if self.on_update is not None:
            self.on_update(server, uri)

    def _changed(self) -> None:
        self._specs = None
        if self.on_change is not None:
            self.on_change()

    def _spec(self, connection: Connection, tool: Tool) -> ToolSpec:
        annotations = convert.annotations_of(tool)
        config, listed = connection.config, connection.listed_tools
        changed = listed.changed.get(tool.name, "")
        return ToolSpec(
            name=self._names.name(config.name, tool.name),
            server=config.name,
            tool=tool.name,
            description=tool.description or "",
            input_schema=injection.hidden(tool.input_schema),
            output_schema=tool.output_schema,
            annotations=annotations,
            require_approval=bool(changed) or bool({tool.name, "*"} & set(config.require_approval)),
            changed=changed,
            definition=listed.hashes.get(tool.name, ""),
            identity=connection.identity,
            timeout=config.timeout,
            server_limit=config.max_concurrency,
            destructive_in_line=annotations.says_destructive and not config.parallel_destructive,
        )


__all__ = ["Hub", "ServerState", "ServerStatus"]

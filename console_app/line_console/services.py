"""What the line console needs from the outside: the part of `ConsoleServices` that no screen is needed for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from console_app.console.starting import Startable

if TYPE_CHECKING:
    from console_app.config.custom_commands import CustomCommands
    from console_app.config.own_settings import OwnSettings
    from console_app.config.server_files import ServerFiles
    from console_app.config.tool_choice import Item, Selection
    from console_app.config.trust_report import ProjectTrust
    from console_app.console.connecting import Connecting
    from console_app.console.models import Models
    from console_app.console.permissions import RuleFile
    from console_app.console.question_queue import QuestionQueue
    from console_app.console.readiness import ServerView
    from console_app.domain.ports.store import SessionStore
    from console_app.engine.engine import Engine
    from console_app.mcp_client.hub import Hub
    from console_app.mcp_client.status import ServerStatus
    from console_app.mcp_client.traffic import RawMessage
    from console_app.sessions.library import Library


class OfferedView(Protocol):
    """One thing that a server offers."""

    @property
    def server(self) -> str:
        """Whose it is."""
        ...

    @property
    def kind(self) -> str:
        """tool, prompt or resource."""
        ...

    @property
    def name(self) -> str:
        """Of a resource: its URI or template."""
        ...

    @property
    def about(self) -> str:
        """What the server says of it."""
        ...

    @property
    def key(self) -> Item:
        """What it is switched by."""
        ...


class Switches(Protocol):
    """The servers. Whatever is asked for raises FanoutError."""

    @property
    def selection(self) -> Selection:
        """What is switched now."""
        ...

    def statuses(self) -> Sequence[ServerStatus]:
        """Every server, in the order of mcp.json."""
        ...

    def offered(self) -> Sequence[OfferedView]:
        """Everything that the servers list, what is off too."""
        ...

    async def apply(self, selection: Selection) -> None:
        """Switches servers and tools, and keeps the picks for this folder."""
        ...

    async def reconnect(self, name: str) -> None:
        """Connects to a server anew."""
        ...

    async def rest(self, name: str) -> None:
        """Disconnects a server for an hour."""
        ...

    async def sign_in(self, name: str) -> None:
        """Opens the browser to sign in to a server."""
        ...

    async def put(self, name: str, fields: Mapping[str, Any]) -> None:
        """Writes a server into mcp.json, and connects to it."""
        ...

    async def remove(self, name: str) -> None:
        """Takes a server out of mcp.json, and ends it."""
        ...


class LineServices(Startable, Protocol):
    """See `ConsoleServices` of the console on a screen, which is one: each field means the same."""

    engine: Engine
    models: Models
    history_path: Path
    log_path: Path
    theme_dirs: Sequence[Path]
    connect: Callable[[], Awaitable[None]]
    close: Callable[[], Awaitable[None]]
    server_statuses: Callable[[], Sequence[ServerView]]
    server_files: ServerFiles | None
    project_trust: ProjectTrust | None
    hub: Hub | None
    redact: Callable[[str], str]
    exchange: Callable[[str], Sequence[RawMessage]]
    on_servers_changed: Callable[[Callable[[], None]], None]
    human: QuestionQueue
    store: SessionStore | None
    library: Library | None
    remember_theme: Callable[[str], None] | None
    rules: RuleFile | None
    working_folder: Path
    pictures_path: Path | None
    clock: Callable[[], float]
    custom_commands: Callable[[], CustomCommands]
    settings: OwnSettings | None
    diagnose: Callable[[], Awaitable[Sequence[str]]] | None
    connecting: Connecting | None
    problems: Sequence[str]

    @property
    def servers(self) -> Switches | None:
        """The servers and their switches; None where there are none."""
        ...

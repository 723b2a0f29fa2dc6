"""What a hub's connections have in common, and small things of a connection's life."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from console_app.config.secrets import Credentials, Redactor
from console_app.mcp_client.connecting.asking import Asking
from console_app.mcp_client.exchange import Exchanges
from console_app.mcp_client.tools.convert import ResultFiles
from console_app.mcp_client.tools.definitions import Definitions
from console_app.mcp_client.transport import Guard

RETRY_DELAYS = (0.5, 1.0, 2.0, 4.0, 8.0)  # seconds before each new try after a connection was lost


@dataclass(frozen=True, slots=True)
class Shared:
    """What all connections of a hub have in common.

    `changed` is called in the event loop after each change of a state, tool or other offer; `updated` with a server
    and the URI of a resource that changed there. `redactor` knows what no log and no reason may hold.
    """

    log_dir: Path
    files: ResultFiles
    guard: Guard
    changed: Callable[[], None]
    credentials: Credentials
    definitions: Definitions | None = None  # None: whatever a tool has become, it is trusted
    updated: Callable[[str, str], None] = lambda _server, _uri: None
    asking: Asking = field(default_factory=Asking)
    exchanges: Exchanges = field(default_factory=Exchanges)
    retry_delays: tuple[float, ...] = RETRY_DELAYS
    redactor: Redactor = field(default_factory=Redactor)


@dataclass(frozen=True, slots=True)
class ConnectionEnding:
    """Why a connection ended, in one line, and whether the user has to sign in first."""

    reason: str
    sign_in: bool = False

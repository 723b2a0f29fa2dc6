"""What a conversation of an editor runs on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from console_app.config.servers import ServerConfig
    from console_app.console import Services
    from console_app.domain import Event
    from console_app.mcp_client import Hub


@dataclass(frozen=True, slots=True)
class SessionParts:
    """Of one conversation. `start` returns when a turn may begin, with what its user should know then; `stored` are the
    events of a conversation that is gone on with, and `notes` tell what is to be known of it."""

    services: Services
    hub: Hub
    start: Callable[[], Awaitable[Sequence[str]]]
    question_limit: float | None
    stored: Sequence[Event] = ()
    notes: Sequence[str] = ()


class OpenSession(Protocol):
    """Makes the parts of a conversation in `folder`, with the editor's `servers` beside Fanout's; with `session_id`, of
    that stored one. Raises FanoutError."""

    async def __call__(
        self, folder: Path, servers: Sequence[ServerConfig], session_id: str | None = None
    ) -> SessionParts: ...

"""Name the parts that the conversation of an editor is made from."""

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
    """Parts of one conversation. `start` returns when a turn may begin, with notices. `stored` are events to go on
    with, `notes` notices about it."""

    services: Services
    hub: Hub
    start: Callable[[], Awaitable[Sequence[str]]]
    question_limit: float | None
    stored: Sequence[Event] = ()
    notes: Sequence[str] = ()


class OpenSession(Protocol):
    """Makes the parts of a conversation in `folder`, with the editor's `servers` beside Fanout's. Raises
    FanoutError."""

    async def __call__(
        self, folder: Path, servers: Sequence[ServerConfig], session_id: str | None = None
    ) -> SessionParts: ...

"""The port to whatever keeps sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from console_app.domain.events import Event


class SessionStore(Protocol):
    """Keeps the events of a session, in order, before they are shown."""

    async def append(self, events: Sequence[Event]) -> None:
        """Stores events durably; shown-only ones are drafts, which go when the message they add up to is stored."""
        ...

"""Prompts before their turns: as they stand in the queue, and as people see the one that is next."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass

from console_app.domain import UserMessage

Around = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class Queued:
    """A prompt in the queue. Only names in `typed` count; the rest was pasted. `message` is ready to go. The turn runs
    within `around`, which may raise UsageError."""

    text: str
    typed: str | None = None
    message: UserMessage | None = None
    around: Around = nullcontext


@dataclass(frozen=True, slots=True)
class Sent:
    """A prompt whose turn has not begun: it waits for servers to connect, say, or for what it names at one."""

    text: str
    since: float  # seconds of the conversation's clock

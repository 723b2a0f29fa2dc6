"""What a front end offers a conversation: places to say things, ways to ask, and eyes for what happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from console_app.domain.events import Event, Level


class UiPort(Protocol):
    """A front end, as `conversation` sees it. Whoever waits for an answer runs in a task of its own."""

    # What happens

    def show(self, event: Event) -> None:
        """Shows an event, which was stored."""
        ...

    async def next_slice(self) -> None:
        """Returns when the next slice of events may come: a front end may need a breath, or a pipe may be full."""
        ...

    async def show_stored(self, events: Sequence[Event]) -> None:
        """Shows a stored conversation in place of the one there is."""
        ...

    def show_new(self) -> None:
        """Shows a conversation in which nothing was said yet, in place of the one there is."""
        ...

    def another_session(self) -> AbstractContextManager[None]:
        """Around the way to another session: what is written within is meant for that one, and what was written before
        stays with the one there is."""
        ...

    def changed(self) -> None:
        """What runs, what is queued, the mode, the model or the state of the disk has changed."""
        ...

    # Saying and asking

    def tell(self, level: Level, text: str) -> None:
        """A line that stays."""
        ...

    def toast(self, text: str, seconds: float = 4) -> None:
        """A line that goes away by itself."""
        ...

    async def choose(self, title: str, options: Mapping[str, str]) -> str | None:
        """One of `options` (a value, and what there is to say of it), or None where nobody chose."""
        ...

    async def ask(self, title: str, hint: str = "") -> str | None:
        """A line of text, or None where nobody gave one."""
        ...

    async def trusts(self, text: str) -> bool:
        """Whether what a project's files would run and set, shown whole, was agreed to."""
        ...

    def give_back(self, text: str) -> bool:
        """A message that was not sent, back where it was written; False where something else is being written."""
        ...

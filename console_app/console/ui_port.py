"""The port to a face: places to say things, ways to ask, and eyes for what happens."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from console_app.domain import Event, Level, UsageError
from console_app.domain.transcript import CallView, Transcript


class UiPort(Protocol):
    """A face, as `console` sees it. A verb that asks is awaited in a task of its own. These bodies are for a face that
    nobody looks at: no answer is a no."""

    @property
    @abstractmethod
    def transcript(self) -> Transcript:
        """Return the conversation as far as it was shown: each event that came to `show` is applied to it."""
        ...

    # What happens

    @abstractmethod
    def show(self, event: Event) -> None:
        """Apply an event, which is stored already, to the transcript, and show it."""

    @abstractmethod
    async def next_slice(self) -> None:
        """Returns when the next slice of events may come: a face may need a breath, or a pipe may be full."""

    async def show_stored(self, events: Sequence[Event]) -> None:
        """Begin a transcript of these events in place of the one there is, and show it."""

    def show_new(self) -> None:
        """Begin an empty transcript, and show a conversation in which nothing was said yet."""

    def another_session(self) -> AbstractContextManager[None]:
        """Surround the way to another session: what is written within is meant for that one."""
        return nullcontext()

    def changed(self) -> None:
        """Show that what runs, what is queued, the mode, the model or the state of the disk has changed."""

    # Saying and asking

    @abstractmethod
    def tell(self, level: Level, text: str) -> None:
        """Show a line that stays."""

    def take_back(self, text: str) -> None:
        """Take away a line that was told and is true no more, where it stands outside the conversation."""

    @abstractmethod
    def toast(self, text: str, seconds: float = 4) -> None:
        """Show a line that goes away by itself."""

    async def report(
        self,
        title: str,
        read: Callable[[], str],
        *,
        at_end: bool = False,
        every: float | None = None,
        whole: asyncio.Task[None] | None = None,
    ) -> None:
        """Show a text from its beginning or `at_end`, read again `every` so many seconds. A face that can't show it
        grow waits for `whole`."""
        if whole is not None:
            await asyncio.wait({whole})
        self.tell_whole(read(), at_end)

    def tell_whole(self, text: str, at_end: bool) -> None:
        """Show the text of a report that no more comes of."""
        self.tell("info", text)

    async def choose(self, title: str, options: Mapping[str, str], *, current: str = "") -> str | None:
        """Ask for one of `options` (a value, and what there is to say of it); None where nobody chose."""
        return None

    async def ask(self, title: str, hint: str = "") -> str | None:
        """Ask for a line of text; None where nobody wrote one."""
        return None

    async def trusts(self, text: str) -> bool:
        """Show all of `text`, and ask whether the user trusts these files as they are."""
        return False

    def give_back(self, text: str) -> bool:
        """Put a message that was not sent back where it was written; False where something else is being written."""
        return False

    def call(self, name: str) -> CallView:
        """Return the call that a command names, as with its number. Raises UsageError where none has the name."""
        raise UsageError("calls have no names here")

    def key_of(self, intent: str) -> str:
        """Return what to press or to type for an intent."""
        return f"/{intent}"

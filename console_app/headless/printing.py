"""What a run without a terminal offers its conversation: events are printed, and nobody is there to be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from console_app.domain.events import Event, Level
from console_app.domain.safe_text import one_line
from console_app.domain.transcript import Transcript
from console_app.headless.output import OutputStreams
from console_app.headless.writers import Writer


class Printing:
    """A UiPort. `error` is what kept the run from its end, if anything did."""

    def __init__(self, output: OutputStreams, transcript: Transcript, writer: Writer) -> None:
        self._output = output
        self._transcript = transcript
        self._writer = writer
        self.error = ""

    def show(self, event: Event) -> None:
        """See UiPort."""
        self._transcript.apply(event)
        self._writer.write(event)

    async def next_slice(self) -> None:
        """A slow reader slows the turn and doesn't fill the memory."""
        await self._output.drain()

    async def show_stored(self, events: Sequence[Event]) -> None:
        """Only what comes from here on is printed."""

    def another_session(self) -> AbstractContextManager[None]:
        """See UiPort."""
        return nullcontext()

    def show_new(self) -> None:
        """See UiPort."""

    def changed(self) -> None:
        """See UiPort."""

    def tell(self, level: Level, text: str) -> None:
        """A line to standard error; an error is the run's own, printed at its end."""
        if level == "error":
            self.error = self.error or text
        else:
            self._output.error_line(one_line(text, 400))

    def toast(self, text: str, seconds: float = 4) -> None:
        """Nobody looks."""

    async def choose(self, title: str, options: Mapping[str, str]) -> str | None:
        """Nobody chooses."""
        return None

    async def ask(self, title: str, hint: str = "") -> str | None:
        """Nobody answers."""
        return None

    async def trusts(self, text: str) -> bool:
        """Nobody agrees."""
        return False

    def give_back(self, text: str) -> bool:
        """Nobody takes it."""
        return False

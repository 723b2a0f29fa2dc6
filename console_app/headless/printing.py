"""What a run without a terminal offers its conversation: events are printed, and nobody is there to be asked."""

from __future__ import annotations

from console_app.console.ui_port import UiPort
from console_app.domain.events import Event, Level
from console_app.domain.safe_text import one_line
from console_app.domain.transcript import Transcript
from console_app.headless.output import OutputStreams
from console_app.headless.writers import Writer


class Printing(UiPort):
    """A UiPort. `error` is what kept the run from its end, if anything did."""

    def __init__(self, output: OutputStreams, transcript: Transcript, writer: Writer) -> None:
        self._output = output
        self._transcript = transcript
        self._writer = writer
        self.error = ""

    @property
    def transcript(self) -> Transcript:
        """The conversation as far as it was printed."""
        return self._transcript

    def show(self, event: Event) -> None:
        self._transcript.apply(event)
        self._writer.write(event)

    async def next_slice(self) -> None:
        """A slow reader slows the turn and doesn't fill the memory."""
        await self._output.drain()

    def tell(self, level: Level, text: str) -> None:
        """A line to standard error; an error is the run's own, printed at its end."""
        if level == "error":
            self.error = self.error or text
        else:
            self._output.error_line(one_line(text, 400))

    def toast(self, text: str, seconds: float = 4) -> None:
        """Nobody looks."""

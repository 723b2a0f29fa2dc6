"""Present a conversation line by line: events are printed, choices are numbered lists, nothing disappears."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from console_app.console import UiPort
from console_app.domain import Event, Level, one_line, plural
from console_app.domain.transcript import CallView, Transcript
from console_app.line_console.call_numbers import CallNumbers
from console_app.line_console.dialogue import Dialogue
from console_app.line_console.narrator import Narrator
from console_app.line_console.wording import turn_lines

LAST_LINES = 40  # of a text that is read at its end

log = logging.getLogger(__name__)


class LineUi(UiPort):
    """A UiPort. `draft` is a message that was given back, for /draft and /editor."""

    def __init__(
        self,
        dialogue: Dialogue,
        numbers: CallNumbers,
        narrator: Narrator,
        on_change: Callable[[], None],
        say_due: Callable[[], Awaitable[None]],
    ) -> None:
        """`say_due` says what has to be looked up first."""
        self.draft = ""
        self.dialogue = dialogue
        self._numbers = numbers
        self._narrator = narrator
        self._on_change = on_change
        self._say_due = say_due

    @property
    def transcript(self) -> Transcript:
        """The conversation as far as it was told."""
        return self._numbers.transcript

    def call(self, name: str) -> CallView:
        return self._numbers.call(name)

    async def report(
        self,
        title: str,
        read: Callable[[], str],
        *,
        at_end: bool = False,
        every: float | None = None,
        whole: asyncio.Task[None] | None = None,
    ) -> None:
        """Says a text once it is whole; of one that grows at its end the newest lines."""
        if whole is not None:
            await asyncio.wait({whole})
        text = read()
        self.dialogue.say("\n".join(text.splitlines()[-LAST_LINES:]) if at_end else text)

    def show(self, event: Event) -> None:
        """Tells an event; one that can't be told becomes an error, since the turn goes on and the session is whole."""
        try:
            self._narrator.tell(event)
        except Exception as error:
            log.exception("an event could not be told")
            self.tell("error", f"An event could not be told: {error!r}. /log has the details.")

    async def next_slice(self) -> None:
        """Waits for room: a terminal that takes no more slows the turn and doesn't fill the memory."""
        await self._say_due()
        await self.dialogue.keeps_up()

    async def show_stored(self, events: Sequence[Event]) -> None:
        """Says the end of a long conversation; /read says any turn."""
        transcript = Transcript.of(events)
        self._numbers.another_session(transcript)
        self._narrator.forget()
        turns = transcript.turns
        self.dialogue.say(f"A session of {plural(len(turns), 'turn')} is open. /read reads one.")
        if turns:
            self.dialogue.say("It ended so:")
            self.read(turns[-1].number)

    def read(self, turn: int) -> bool:
        """Print a turn. Return False where there is none of that number."""
        found = next((one for one in self._numbers.transcript.turns if one.number == turn), None)
        if found is None:
            return False
        numbers = {call.id: self._numbers.of(call.id) for step in found.steps for call in step.batch.calls}
        for line in turn_lines(found, numbers):
            self.dialogue.say(line)
        return True

    def show_new(self) -> None:
        self._numbers.another_session(Transcript())
        self._narrator.forget()
        self.dialogue.say("A new session begins.")

    def changed(self) -> None:
        self._on_change()

    def tell(self, level: Level, text: str) -> None:
        self.dialogue.say(text if level in ("info", "debug") else f"{level.capitalize()}: {text}")

    def toast(self, text: str, seconds: float = 4) -> None:
        """Says it, and takes nothing back."""
        self.dialogue.say(text)

    async def choose(self, title: str, options: Mapping[str, str], *, current: str = "") -> str | None:
        return await self.dialogue.choose(title, options)

    async def ask(self, title: str, hint: str = "") -> str | None:
        words = ", ".join(part for part in (title, hint) if part)
        return await self.dialogue.ask(f"{one_line(words, 300)}. A full stop alone leaves.")

    async def trusts(self, text: str) -> bool:
        self.dialogue.say(text)
        return await self.dialogue.agrees("Trust these files as they are now?")

    def give_back(self, text: str) -> bool:
        if self.draft:
            return False
        self.draft = text
        self.dialogue.say(f"Yours again, not sent: {text}\n/draft sends it, /editor changes it first.")
        return True

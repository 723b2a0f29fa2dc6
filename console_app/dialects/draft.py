"""The calls of one region while it is read: opened, completed or failed, and the events that tell of it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from console_app.dialects.model import Arguments, ErrorKind, ScanEvent, Unreadable
from console_app.dialects.panels import Panels, written_name
from console_app.dialects.shapes import NO_CALL, NotACall, Shaped, arguments_of
from console_app.dialects.source import Source
from console_app.dialects.tool_schemas import ToolSchemas


@dataclass(frozen=True, slots=True)
class CallAttempt:
    """One call an answer attempted: with `arguments` when it could be read, with `failure` when not.

    `closed` tells whether its own delimiters were all there; without them a token limit may have cut it. `marked`:
    a marker opened it. `doubt`: why it may be a quotation all the same.
    """

    name: str | None
    start: int
    end: int
    dialect: str
    arguments: Arguments | None = None
    repaired: tuple[str, ...] = ()
    known: bool = True
    closed: bool = True
    marked: bool = True
    doubt: str = ""
    failure: ErrorKind | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Reopening:
    """A call that ended with a raw value may go on: text after it may still be part of the value, if `end`
    shows that the real end comes later, every match of which begins with `lead`. `begin` is where the value began;
    `arguments` gives them all for a value that is longer.
    """

    begin: int
    end: re.Pattern[str]
    lead: str
    arguments: Callable[[str], Arguments]


class Draft:
    """Collects the attempts of a region under one dialect; `base` is the index of the first. `marked`: a marker
    opened the region: then calls of unknown tools too are told of while they are read.
    """

    def __init__(
        self, src: Source, tools: ToolSchemas, dialect: str, base: int, events: list[ScanEvent], *, marked: bool
    ) -> None:
        self.src = src
        self.tools = tools
        self._base = base
        self.dialect = dialect
        self.marked = marked
        self.attempts: list[CallAttempt] = []
        self.ignored: list[tuple[int, int, str]] = []
        self.reopening: Reopening | None = None
        self.answer: str | None = None
        """What the model said by calling nothing, in dialects that answer so."""
        self.early: Callable[[int, CallAttempt], bool] | None = None
        """Told of each call of a list, by its index, once the next begins; whether nothing takes it back any more."""
        self.settled = 0
        """How many calls, from the first, were told of so."""
        self.panels = Panels(src, tools, base, events, marked)

    @property
    def calls(self) -> list[CallAttempt]:
        return [attempt for attempt in self.attempts if attempt.failure is None]

    def name_of(self, written: str) -> tuple[str, bool]:
        """The tool's name for a written one, and whether there is such a tool."""
        found = self.tools.resolve(written)
        return (found, True) if found else (written.strip(), False)

    def open(self, written: str, at: int) -> None:
        """The name of the call being read is sure; its arguments are the text from `at` on."""
        self.panels.open(len(self.attempts), self.name_of(written)[0], at, self.dialect)

    def done(
        self, written: str, arguments: Arguments, start: int, end: int, repaired: tuple[str, ...] = (), at: int = -1
    ) -> None:
        """A call was read whole, from `start` to `end`; its arguments began at `at`."""
        name, known = self.name_of(written)
        place = len(self.attempts)
        if self.panels.name(place) != name:
            self.panels.retract_from(place)
            self.open(written, start if at < 0 else at)
        self.panels.close(place, end)
        done = CallAttempt(name, start, end, self.dialect, arguments, repaired, known, marked=self.marked)
        self.attempts.append(done)

    def done_loosely(
        self, written: str, value: object, start: int, end: int, *, repaired: tuple[str, ...] = (), flat: bool = False
    ) -> None:
        """A call was read whole, its arguments in whatever form the model chose."""
        name, _ = self.name_of(written)
        try:
            arguments, more = arguments_of(value, name, self.tools, flat)
        except Unreadable as error:
            self.fail("invalid", error.message, start, end, name)
            return
        self.done(written, arguments, start, end, repaired=repaired + more)

    def shaped(self, found: Shaped | NotACall, start: int, end: int, repaired: tuple[str, ...]) -> None:
        """A JSON object was read; it may be a call, an unreadable one, or something else."""
        if isinstance(found, Shaped) and found.name in NO_CALL and not self.tools.resolve(found.name):
            self.panels.retract_from(len(self.attempts))
            self.answer = found.arguments if isinstance(found.arguments, str) else ""
        elif isinstance(found, Shaped):
            self.done_loosely(found.name, found.arguments, start, end, repaired=repaired, flat=found.flat)
        elif found.silent:
            self.panels.retract_from(len(self.attempts))
            self.ignored.append((start, end, found.why))
        else:
            self.fail("invalid", found.why, start, end)

    def fail(self, kind: ErrorKind, why: str, start: int, end: int, written: str | None = None) -> None:
        """The call being read can't be: cut off, or not understandable."""
        place = len(self.attempts)
        written = written or written_name(self.src.text(start, min(end, start + 400)))
        name = self.name_of(written)[0] if written else None
        self.panels.retract(place)
        self.attempts.append(CallAttempt(name, start, end, self.dialect, failure=kind, why=why))

    def settle_newest(self) -> None:
        """The next call of the list begins: the newest stands, whatever comes of the others."""
        place = len(self.attempts) - 1
        if self.early and self.settled == place and self.early(self._base + place, self.attempts[place]):
            self.settled += 1

    def keep_settled(self) -> None:
        """None of it was a call after all but those that stand."""
        self.panels.retract_from(self.settled)
        del self.attempts[self.settled :]

    def unclosed(self) -> None:
        """The last call was complete, but a delimiter that should follow it never came."""
        if len(self.attempts) > self.settled and self.attempts[-1].failure is None:
            self.attempts[-1] = replace(self.attempts[-1], closed=False)

    def settle(self) -> None:
        """The region is read: what is open beyond its attempts never was a call."""
        self.panels.retract_from(len(self.attempts))

    def discard(self) -> None:
        """None of it was a call after all."""
        self.panels.retract_from(0)
        self.attempts.clear()

    def adopt(self, attempt: CallAttempt) -> None:
        """Take over an attempt that was read elsewhere."""
        place = len(self.attempts)
        if attempt.failure is None and attempt.name:
            self.panels.open(place, attempt.name, attempt.start, attempt.dialect)
            self.panels.close(place, attempt.end)
        self.attempts.append(replace(attempt, marked=self.marked))

    def relabel(self, dialect: str) -> None:
        """The dialect was another than it seemed."""
        self.dialect = dialect
        self.attempts = [replace(attempt, dialect=dialect) for attempt in self.attempts]

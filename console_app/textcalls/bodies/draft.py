"""The calls of a region while it is read: opened, completed or failed, and the events that tell of it.

A call has a panel as soon as its name is sure; it is fed as text comes, and withdrawn if it was no call. JSON objects
show their name before they are complete, so names are looked up between two pieces of the answer.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from console_app.textcalls.bodies.framing import Frame
from console_app.textcalls.bodies.shapes import MAPPED, NAMED, NO_CALL, NotACall, Shaped, arguments_of
from console_app.textcalls.model import (
    Arguments,
    CallArgumentsDelta,
    CallNamed,
    CallRetracted,
    ErrorKind,
    ParsedCall,
    ProblemKind,
    ScanEvent,
    ScanProblem,
    Unreadable,
)
from console_app.textcalls.source import Source
from console_app.textcalls.tool_schemas import ToolSchemas

_REACH = 300
RAW_LIMIT = 500
Note: TypeAlias = tuple[int, int, str, str | None]
"""Where something was ignored, from and to; why; and the tool that it seemed to call."""


@dataclass(slots=True)
class CallAttempt:
    """A call that an answer attempted: with `arguments` when it could be read, with `failure` when not. `closed`: its
    own delimiters were all there, so that no token limit cut it. The rest is as of a parsed call.
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
    stood: str = ""
    asks: str | None = None
    failure: ErrorKind | None = None
    why: str = ""

    @property
    def whole(self) -> bool:
        """Tell whether it was read to its own end, and nothing in it had to be mended."""
        return self.failure is None and self.closed and not self.repaired


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


@dataclass(slots=True)
class _Panel:
    name: str
    sent: int
    complete: bool = False


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
        self.answer: str | None = None  # of the model in dialects that answer by a call of nothing
        self._events = events
        self._panels: list[_Panel | None] = []  # by the places of their calls
        self._value: Frame | None = None  # that is being read, whose objects may be calls
        self._first = 0  # the place of the first of them
        self._fed = 0  # panels, from the first, that have all of their text

    @property
    def calls(self) -> int:
        return sum(attempt.failure is None for attempt in self.attempts)

    def name_of(self, written: str) -> str:
        """Return the tool's name for a written one, which is left as it is where there is no such tool."""
        return self.tools.resolve(written) or written.strip()

    def open(self, written: str, at: int) -> None:
        """Announce the call that is read, whose arguments are the text from `at` on."""
        self._open(len(self.attempts), self.name_of(written), at, self.dialect)

    def _open(self, place: int, name: str, at: int, dialect: str) -> None:
        """Open a panel unless it is; its arguments are the text from `at` on."""
        self._panels += [None] * (place + 1 - len(self._panels))
        if self._panels[place] is None:
            self._panels[place] = _Panel(name, at)
            self._fed = min(self._fed, place)
            self._events.append(CallNamed(self._base + place, name, dialect))

    def _feed(self, place: int, upto: int, *, complete: bool = False) -> None:
        """Tell what has come of a call; where it is `complete`, what comes later is not its own."""
        panel = self._panels[place]
        if panel is not None and not panel.complete:
            panel.complete = complete
            if upto > panel.sent:
                self._events.append(CallArgumentsDelta(self._base + place, self.src.text(panel.sent, upto)))
                panel.sent = upto

    def _retract(self, place: int) -> None:
        self._panels += [None] * (place + 1 - len(self._panels))
        if self._panels[place] is not None:
            self._panels[place] = None
            self._events.append(CallRetracted(self._base + place))

    def _retract_from(self, place: int) -> None:
        """No call at this place or after it, until others are announced."""
        if len(self._panels) == place and self._fed <= place:
            return
        for later in range(len(self._panels) - 1, place - 1, -1):
            self._retract(later)
        self._panels[place:] = []
        self._panels += [None] * (place - len(self._panels))
        self._fed = min(self._fed, place)

    def follow(self, value: Frame) -> None:
        """Look for the next calls in the objects of a value."""
        self._value, self._first = value, len(self._panels)
        self._fed = max(self._fed, self._first)

    def look(self) -> None:
        """Open panels for the objects whose names have come meanwhile, and feed those that are open."""
        members: list[tuple[int, int]] = []
        if self._value is not None:
            members = self._value.members
            begun = self._value.begun or [self._value.start]
            for start in begun[len(self._panels) - self._first :]:
                text = self.src.text(start, min(self.src.length, start + _REACH))
                named = NAMED.match(text)
                found = named or MAPPED.match(text)
                name = self.tools.resolve(found.group(1)) if found else None
                name = name or (named.group(1).strip() if named and self.marked else None)
                if name is None:
                    break
                self._open(len(self._panels), name, start, self.dialect)
        for place in range(self._fed, len(self._panels)):
            panel, whole = self._panels[place], place - self._first < len(members)
            self._feed(place, members[place - self._first][1] if whole else self.src.at)
            if place == self._fed and (whole or panel is None or panel.complete):
                self._fed += 1

    def done(self, written: str, arguments: Arguments, start: int, end: int, repaired: tuple[str, ...] = ()) -> None:
        name = self.name_of(written)
        known = name in self.tools
        self.take(CallAttempt(name, start, end, self.dialect, arguments, repaired, known, marked=self.marked))

    def take(self, attempt: CallAttempt) -> None:
        place = len(self.attempts)
        if attempt.failure is None and attempt.name is not None:
            panel = self._panels[place] if place < len(self._panels) else None
            if panel is None or panel.name != attempt.name:
                self._retract_from(place)
                self._open(place, attempt.name, attempt.start, attempt.dialect)
            self._feed(place, attempt.end, complete=True)
        self.attempts.append(attempt)

    def done_loosely(
        self, written: str, value: object, start: int, end: int, *, repaired: tuple[str, ...] = (), flat: bool = False
    ) -> None:
        """Take a call that was read whole, its arguments in whatever form the model chose."""
        name = self.name_of(written)
        try:
            arguments, more = arguments_of(value, name, self.tools, flat)
        except Unreadable as error:
            self.fail("invalid", error.message, start, end, name)
            return
        self.done(written, arguments, start, end, repaired=repaired + more)

    def shaped(self, found: Shaped | NotACall, start: int, end: int, repaired: tuple[str, ...]) -> None:
        """Take a JSON object, which may be a call, an unreadable one, or something else."""
        if isinstance(found, Shaped) and found.name in NO_CALL and not self.tools.resolve(found.name):
            self._retract_from(len(self.attempts))
            self.answer = found.arguments if isinstance(found.arguments, str) else ""
        elif isinstance(found, Shaped):
            self.done_loosely(found.name, found.arguments, start, end, repaired=repaired, flat=found.flat)
        elif found.silent:
            self._retract_from(len(self.attempts))
            self.ignored.append((start, end, found.why))
        else:
            self.fail("invalid", found.why, start, end)

    def fail(self, kind: ErrorKind, why: str, start: int, end: int, written: str | None = None) -> None:
        """Take a call that was cut off or can't be understood."""
        place = len(self.attempts)
        if not written and (found := NAMED.match(self.src.text(start, min(end, start + 400)).lstrip(", \r\n\t"))):
            written = found.group(1)
        name = self.name_of(written) if written else None
        self._retract(place)
        self.attempts.append(CallAttempt(name, start, end, self.dialect, failure=kind, why=why))

    def withdraw(self) -> None:
        self._retract_from(0)
        self.attempts.clear()

    def unclosed(self) -> None:
        """Note that the last call was complete, but a delimiter that should follow it never came."""
        if self.attempts and self.attempts[-1].failure is None:
            self.attempts[-1] = replace(self.attempts[-1], closed=False)

    def settle(self) -> None:
        """Take back what is open beyond the attempts of a region that was read."""
        self._retract_from(len(self.attempts))


class Places:
    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _breaks(self) -> list[int]:
        return [found.end() for found in re.finditer("\n", self._text)]

    def problem(
        self, kind: ProblemKind, message: str, start: int, end: int, name: str | None, index: int | None = None
    ) -> ScanProblem:
        line = bisect_right(self._breaks, start)
        column = start - (self._breaks[line - 1] if line else 0)
        raw = self._text[start : min(end, start + RAW_LIMIT)]
        return ScanProblem(kind, message, start, end, line + 1, column + 1, raw, name, index)


def concluded(
    attempts: Sequence[CallAttempt], notes: Sequence[Note], text: str
) -> tuple[tuple[ParsedCall, ...], tuple[ScanProblem, ...]]:
    """The calls in their order, and the problems in the order of the text, which is the whole answer."""
    place = Places(text)
    calls: list[ParsedCall] = []
    problems: list[ScanProblem] = []
    for index, attempt in enumerate(attempts):
        start, end, name = attempt.start, attempt.end, attempt.name
        if attempt.failure is not None:
            called = f"The call of {name}" if name else "A call"
            state = "was cut off" if attempt.failure == "truncated" else "could not be read"
            message = f"{called} {state}: {attempt.why}."
            problems.append(place.problem(attempt.failure, message, start, end, name, index))
            continue
        calls.append(parsed(index, attempt, text[start:end]))
        if attempt.repaired:
            message = f"The call of {name} was mended: {', '.join(attempt.repaired)}."
            problems.append(place.problem("repaired", message, start, end, name, index))
    for start, end, why, name in notes:
        problems.append(place.problem("ignored", f"{why[:1].upper()}{why[1:]}.", start, end, name))
    return tuple(calls), tuple(sorted(problems, key=lambda problem: problem.start))


def parsed(index: int, attempt: CallAttempt, raw: str) -> ParsedCall:
    assert attempt.arguments is not None, "it was read"
    return ParsedCall(
        index, attempt.name or "", attempt.arguments, attempt.dialect, raw, attempt.start, attempt.end,
        attempt.repaired, attempt.known, attempt.marked, attempt.stood, attempt.asks,
    )  # fmt: skip

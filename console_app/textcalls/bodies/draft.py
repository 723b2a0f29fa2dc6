"""The calls of a region while it is read: opened, completed or failed, and the events that tell of it.

A call has a panel as soon as its name is sure; it is fed as text comes, and withdrawn if it was no call. JSON objects
show their name before they are complete, so names are looked up between two pieces of the answer."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache, cached_property

from console_app.records import dataclass, field, replace
from console_app.textcalls import model
from console_app.textcalls.bodies.framing import Frame
from console_app.textcalls.bodies.shapes import MAPPED, NAMED, NO_CALL, NotACall, Shaped, arguments_of
from console_app.textcalls.dialects.coats import CHAT_TOKENS, HALF
from console_app.textcalls.patterns import any_of, compiled, lazily
from console_app.textcalls.source import Reading, Source
from console_app.textcalls.tool_schemas import ToolSchemas

_REACH = 300
RAW_LIMIT = 500
Note = tuple[int, int, str, str | None]
"""Where something was ignored, from and to; why; and the tool that it seemed to call."""


@dataclass(slots=True)
class CallAttempt:
    """A call that an answer attempted: with `arguments` when it could be read, with `failure` when not. `closed`: its
    own delimiters were all there, so that no token limit cut it. The rest is as of a parsed call."""

    name: str | None
    start: int
    end: int
    dialect: str
    arguments: model.Arguments | None = None
    repaired: tuple[str, ...] = ()
    known: bool = True
    closed: bool = True
    marked: bool = True
    stood: str = ""
    asks: str | None = None
    around: tuple[int, int] | None = None
    failure: model.ErrorKind | None = None
    why: str = ""


@dataclass(slots=True)  # there is one for nearly every call between tags
class Reopening:
    """A call whose raw value, from `begin` on, may go on behind it, if `end` comes later, every match of which begins
    with `lead`. `arguments` gives them all for a value that is longer."""

    begin: int
    end: re.Pattern[str]
    lead: str
    arguments: Callable[[str], model.Arguments]


@dataclass(slots=True)
class _Panel:
    name: str
    sent: int
    complete: bool = False


@dataclass(slots=True)
class Draft:
    """Collects the attempts of a region under one dialect; `base` is the index of the first. `marked`: a marker
    opened the region: then calls of unknown tools too are told of while they are read. `answer` is the model's in
    dialects that answer by a call of nothing."""

    src: Source
    tools: ToolSchemas
    dialect: str
    base: int
    events: list[model.ScanEvent]
    marked: bool
    mute: bool = False
    attempts: list[CallAttempt] = field(default_factory=list)
    ignored: list[tuple[int, int, str]] = field(default_factory=list)
    reopening: Reopening | None = None
    answer: str | None = None
    _panels: list[_Panel | None] = field(default_factory=list)  # by the places of their calls
    _value: Frame | None = None  # that is being read, whose objects may be calls
    _first: int = 0  # the place of the first of them
    _fed: int = 0  # panels, from the first, that have all of their text

    def name_of(self, written: str) -> str:
        """Return the tool's name for a written one, which is left as it is where there is no such tool."""
        return self.tools.resolve(written) or written.strip()

    def open(self, written: str, at: int) -> None:
        """Announce the call that is read, whose arguments are the text from `at` on."""
        self._open(len(self.attempts), self.name_of(written), at, self.dialect)

    def _open(self, place: int, name: str, at: int, dialect: str) -> None:
        """Open a panel unless it is; its arguments are the text from `at` on."""
        self._panels += [None] * (place + 1 - len(self._panels))
        if self._panels[place] is None and not self.mute:
            self._panels[place] = _Panel(name, at)
            self._fed = min(self._fed, place)
            self.events.append(model.CallNamed(self.base + place, name, dialect))

    def _feed(self, place: int, upto: int, *, complete: bool = False) -> None:
        """Tell what has come of a call; where it is `complete`, what comes later is not its own."""
        panel = self._panels[place]
        if panel is not None and not panel.complete:
            panel.complete = complete
            if upto > panel.sent:
                self.events.append(model.CallArgumentsDelta(self.base + place, self.src.text(panel.sent, upto)))
                panel.sent = upto

    def _retract(self, place: int) -> None:
        self._panels += [None] * (place + 1 - len(self._panels))
        if self._panels[place] is not None:
            self._panels[place] = None
            self.events.append(model.CallRetracted(self.base + place))

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

    def done(
        self, written: str, arguments: model.Arguments, start: int, end: int, repaired: tuple[str, ...] = ()
    ) -> None:
        name, form = self.name_of(written), self.dialect
        self.take(CallAttempt(name, start, end, form, arguments, repaired, name in self.tools, marked=self.marked))

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
        except model.Unreadable as error:
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

    def fail(self, kind: model.ErrorKind, why: str, start: int, end: int, written: str | None = "") -> None:
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
        self, kind: model.ProblemKind, message: str, start: int, end: int, name: str | None, index: int | None = None
    ) -> model.ScanProblem:
        line = bisect_right(self._breaks, start)
        column = start - (self._breaks[line - 1] if line else 0)
        raw = self._text[start : min(end, start + RAW_LIMIT)]
        return model.ScanProblem(kind, message, start, end, line + 1, column + 1, raw, name, index)


def concluded(
    attempts: Sequence[CallAttempt], notes: Sequence[Note], text: str
) -> tuple[tuple[model.ParsedCall, ...], tuple[model.ScanProblem, ...]]:
    """The calls in their order, and the problems in the order of the text, which is the whole answer."""
    place = Places(text)
    calls: list[model.ParsedCall] = []
    problems: list[model.ScanProblem] = []
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


def parsed(index: int, attempt: CallAttempt, raw: str) -> model.ParsedCall:
    assert attempt.arguments is not None, "it was read"
    return model.ParsedCall(
        index, attempt.name or "", attempt.arguments, attempt.dialect, raw, attempt.start, attempt.end,
        attempt.repaired, attempt.known, attempt.marked, attempt.stood, attempt.asks,
        attempt.around or (attempt.start, attempt.end),
    )  # fmt: skip


@dataclass(slots=True)
class Region:
    """A region that is read: where it began, with which token; patterns of what `opens` and `closes` such a one.
    `pretty`: its tokens are on lines of their own; `required`: a token limit cut off calls without a closing token."""

    start: int
    token: str = ""
    opens: str = ""
    closes: str = ""
    pretty: bool = False
    required: bool = True

    def at_close(self, src: Source) -> Reading[bool]:
        """Tell whether a closing token, or the end of a fence before it, stands here; `pos` stays."""
        if not self.closes:
            return False
        found = yield from src.match_like(_close_or_not(self.closes))
        return found is not None and found["close"] is not None

    def at_turn_end(self, src: Source) -> Reading[bool]:
        """Tell whether the model ended its turn here, or the answer ended within a tag."""
        half = _HALF_TAG.fullmatch(src.tail() or "x")
        return half is not None or (yield from src.match(_TURN_END, 96)) is not None

    def fail_unclosed(
        self, src: Source, draft: Draft, span: Frame, begin: int, what: str, written: str = ""
    ) -> Reading[None]:
        """Report the call that began at `begin`, whose value did not close: cut off inside `what`, or invalid; that
        too where a closing token stands in its broken string, for then the model had closed the call."""
        text = src.text(span.string_at, span.end) if span.string_at is not None and self.closes else ""
        swallowed = span.string_at if text and compiled(self.closes).search(text) else None
        if swallowed is None and (span.state == "cut" or (span.state == "open" and (yield from self.at_turn_end(src)))):
            draft.fail("truncated", f"the answer ended inside {what}", begin, span.end, written)
        else:
            why = span.why or "a string is not closed"
            here = swallowed is None and span.state == "open" and self.opens  # no string is open
            if here and (yield from src.match(compiled(rf"\s*{self.opens}"), 160)):
                draft.fail("invalid", why, begin, src.at, written)
            else:
                yield from self.fail_and_skip(src, draft, begin, why, swallowed, written)

    def fail_and_skip(
        self, src: Source, draft: Draft, begin: int, why: str, back: int | None = None, name: str = ""
    ) -> Reading[None]:
        """Report what began at `begin` as invalid and go to where the region ends. A model that wrote its tags on lines
        of their own is believed to close them so too, for a broken string may hold what looks like the end of a call.
        `back` is where a broken one began."""
        if back is not None:
            src.rewind(back)
        blanks = r"[^\S\n]*+"  # of one line: thousands of empty ones are not gone through anew from each
        closing = (rf"\n{blanks}" if self.pretty else "") + (self.closes or "(?!)")
        stop = compiled(rf"(?P<close>{closing})|\n(?={blanks}{self.opens or '(?!)'})")
        found = yield from src.find(stop, "\n<[｜`◁⟨]")
        if found and found.lastgroup == "close":
            src.pos = found.end()
        draft.fail("invalid", why, begin, src.at, name)


def close_region(src: Source, region: Region, draft: Draft, *, required: bool = True) -> Reading[None]:
    """Move past the closing token or half of one; where it is `required` and missing, the last call is not closed."""
    char = yield from src.ahead()
    if char == "`":
        fence = yield from src.match(_FENCE_END, 64)
        if fence:
            src.pos = fence.end()
            char = yield from src.ahead()
        elif (src.tail() or "x").strip("` \r\n") == "":
            src.pos = len(src.buf)
            char = ""
    if not region.closes:
        return
    if char and char in "<[◁⟨]":
        found = yield from src.match_like(_close_or_not(region.closes))
        if found and found["close"]:
            src.pos += found.end()
            return
        rest = src.tail()
        if rest and _HALF_CLOSE.fullmatch(rest):
            src.pos = len(src.buf)
    if required and region.required:
        draft.unclosed()


_HALF_TAG = lazily(r"<[^<>\n]*")
_HALF_CLOSE = lazily(rf"\s*{HALF}")
_FENCE_END = lazily(r"\s*```")
_TURN_END = lazily(rf"\s*{any_of(CHAT_TOKENS)}")


@cache
def _close_or_not(closes: str) -> re.Pattern[str]:
    """A closing token, or what can't become one any more, so that a call is done before much more has come."""
    return compiled(rf"(?P<close>\s*(?:```\s*)?{closes})|\s*(?=[^\s`])(?!{closes}|{HALF}\Z)")

"""The panels of calls still being read: opened as soon as a name is sure, fed as text comes, withdrawn if it
was no call.

Calls of one region are numbered in the order of their attempts. JSON objects show their name before they are
complete, so names are looked up between two pieces of the answer.
"""

from dataclasses import dataclass

from console_app.dialects.framing import Frame
from console_app.dialects.model import CallArgumentsDelta, CallNamed, CallRetracted, ScanEvent
from console_app.dialects.patterns import lazily
from console_app.dialects.shapes import CALL_KEYS, NAME_KEYS, WRAPPER_KEYS
from console_app.dialects.source import Source
from console_app.dialects.tool_schemas import ToolSchemas

_REACH = 300
_SIDE = r"(?:[\"'](?:id|type|index|tool_call_id)[\"']\s*:\s*(?:\"[^\"\\]*\"|'[^'\\]*'|\d+)\s*,\s*)*+"
_BEFORE_NAME = (
    r"\s*\[?\s*\{{1,2}\s*" + _SIDE + rf"(?:[\"'](?:{'|'.join(WRAPPER_KEYS)})[\"']\s*:\s*\{{\s*)?" + _SIDE
    + rf"[\"']?(?:{'|'.join(NAME_KEYS)})[\"']?\s*:\s*"
)  # fmt: skip
NAMED = lazily(_BEFORE_NAME + r"[\"']([^\"'\\]*)[\"']")
"""An object, or a list of objects, up to the name in the first."""
HALF_NAMED = lazily(_BEFORE_NAME + r"(?:[\"']([^\"'\\]*))?$")
_MAPPED = lazily(rf"\{{\s*\"(?!(?:{'|'.join(sorted(CALL_KEYS))})\")([^\"\\]+)\"\s*:\s*\{{")
"""An object whose one key is the name, as Apertus writes it."""


def written_name(text: str) -> str | None:
    """The name in an object that may not be complete."""
    found = NAMED.match(text.lstrip(", \r\n\t"))
    return (found.group(1) or None) if found else None


@dataclass(slots=True)
class _Panel:
    name: str
    sent: int
    complete: bool = False


class Panels:
    """The panels of one region; `base` is the index of the first. `any_name`: unknown tools have panels too."""

    def __init__(self, src: Source, tools: ToolSchemas, base: int, events: list[ScanEvent], any_name: bool) -> None:
        self._src = src
        self._tools = tools
        self._base = base
        self._events = events
        self._any_name = any_name
        self._panels: list[_Panel | None] = []
        self._value: Frame | None = None
        """The value that is being read, whose objects may be calls, the first of them at the place `_first`."""
        self._first = 0
        self._fed = 0
        """How many panels, from the first, have all of their text."""

    def follow(self, value: Frame) -> None:
        """A value is read, whose objects may be the next calls."""
        self._value, self._first = value, len(self._panels)
        self._fed = max(self._fed, self._first)

    def look(self, dialect: str) -> None:
        """Open panels for the objects whose names have come meanwhile, and feed those that are open."""
        members: list[tuple[int, int]] = []
        if self._value is not None:
            members = self._value.members
            begun = self._value.begun or [self._value.start]
            for start in begun[len(self._panels) - self._first :]:
                name = self._name_in(self._src.text(start, min(self._src.length, start + _REACH)))
                if name is None:
                    break
                self.open(len(self._panels), name, start, dialect)
        for place in range(self._fed, len(self._panels)):
            complete = place - self._first < len(members)
            self._feed(place, members[place - self._first][1] if complete else self._src.at)
            self._fed += complete

    def _name_in(self, text: str) -> str | None:
        """The name an object shows so far; that of no tool only where a marker says that it is a call."""
        found, mapped = NAMED.match(text), _MAPPED.match(text)
        if found is None:
            return self._tools.resolve(mapped.group(1)) if mapped else None
        return self._tools.resolve(found.group(1)) or (found.group(1).strip() if self._any_name else None)

    def name(self, place: int) -> str | None:
        """The name on a panel, if it is open."""
        panel = self._panels[place] if place < len(self._panels) else None
        return panel.name if panel else None

    def open(self, place: int, name: str, at: int, dialect: str) -> None:
        """Open a panel unless it is; its arguments are the text from `at` on."""
        self._panels.extend([None] * (place + 1 - len(self._panels)))
        if self._panels[place] is None:
            self._panels[place] = _Panel(name, at)
            self._fed = min(self._fed, place)
            self._events.append(CallNamed(self._base + place, name, dialect))

    def _feed(self, place: int, upto: int) -> None:
        """Tell what has come of a call."""
        panel = self._panels[place]
        if panel is not None and not panel.complete and upto > panel.sent:
            self._events.append(CallArgumentsDelta(self._base + place, self._src.text(panel.sent, upto)))
            panel.sent = upto

    def close(self, place: int, upto: int) -> None:
        """The call is complete; what comes after `upto` is not its own."""
        self._feed(place, upto)
        if (panel := self._panels[place]) is not None:
            panel.complete = True

    def retract(self, place: int) -> None:
        """There is no call at this place after all, or none that can be read."""
        self._panels.extend([None] * (place + 1 - len(self._panels)))
        if self._panels[place] is not None:
            self._panels[place] = None
            self._events.append(CallRetracted(self._base + place))

    def retract_from(self, place: int) -> None:
        """No call at this place or after it, until others are announced."""
        for later in range(len(self._panels) - 1, place - 1, -1):
            self.retract(later)
        del self._panels[place:]
        self._panels.extend([None] * (place - len(self._panels)))
        self._fed = min(self._fed, place)

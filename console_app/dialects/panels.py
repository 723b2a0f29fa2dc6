"""The panels of calls still being read: opened as soon as a name is sure, fed as text comes, withdrawn if it
was no call.

Calls of one region are numbered in the order of their attempts. JSON objects show their name before they are
complete, so their grammar only announces where each begins and ends, and names are looked up between two pieces
of the answer.
"""

from dataclasses import dataclass

from console_app.dialects.model import CallArgumentsDelta, CallNamed, CallRetracted, ScanEvent
from console_app.dialects.patterns import lazily
from console_app.dialects.shapes import CALL_KEYS, LIST_KEYS, NAME_KEYS, WRAPPER_KEYS
from console_app.dialects.source import Source
from console_app.dialects.tool_schemas import ToolSchemas

_REACH = 300
_SIDE = r"(?:[\"'](?:id|type|index|tool_call_id)[\"']\s*:\s*(?:\"[^\"\\]*\"|'[^'\\]*'|\d+)\s*,\s*)*+"
_NAME = lazily(
    r"\{{1,2}\s*" + _SIDE + rf"(?:[\"'](?:{'|'.join(WRAPPER_KEYS)})[\"']\s*:\s*\{{\s*)?" + _SIDE
    + rf"[\"']?(?:{'|'.join(NAME_KEYS)})[\"']?\s*:\s*[\"']([^\"'\\]+)[\"']"
)  # fmt: skip
_MAPPED = lazily(rf"\{{\s*\"(?!(?:{'|'.join(sorted(CALL_KEYS))})\")([^\"\\]+)\"\s*:\s*\{{")
"""An object whose one key is the name, as Apertus writes it."""
_LIST = lazily(rf"\{{\s*[\"'](?:{'|'.join(LIST_KEYS)})[\"']\s*:")


def written_name(text: str) -> str | None:
    """The name in an object that may not be complete."""
    found = _NAME.match(text.lstrip("[, \r\n\t"))
    return found.group(1) if found else None


@dataclass(slots=True)
class _Panel:
    name: str
    at: int
    sent: int


class Panels:
    """The panels of one region; `base` is the index of the first. `any_name`: unknown tools have panels too."""

    def __init__(self, src: Source, tools: ToolSchemas, base: int, events: list[ScanEvent], any_name: bool) -> None:
        self._src = src
        self._tools = tools
        self._base = base
        self._events = events
        self._any_name = any_name
        self._panels: list[_Panel | None] = []
        self._starts: list[int] = []
        self._ends: dict[int, int] = {}
        self._listed = False
        self._fed = 0
        """How many panels, from the first, have all of their text."""

    def member_opened(self, start: int, depth: int) -> None:
        """An object begins that may be a call, `depth` brackets deep with its own (1 to 3)."""
        if depth == 3:
            if not self._starts or not (self._listed or _LIST.match(self._src.text(self._starts[-1], start)[:_REACH])):
                return
            if not self._listed:
                self._starts.pop()
        self._listed = depth == 3
        self._starts.append(start)

    def member_closed(self, start: int, end: int) -> None:
        """The object that began at `start` is complete."""
        self._ends[start] = end

    def look(self, dialect: str) -> None:
        """Open panels for announced objects whose names have come meanwhile, and feed those that are open."""
        while len(self._panels) < len(self._starts):
            start = self._starts[len(self._panels)]
            name = self._name_in(self._src.text(start, min(self._src.length, start + _REACH)))
            if name is None:
                break
            self.open(len(self._panels), name, start, dialect)
        for place in range(self._fed, len(self._panels)):
            panel = self._panels[place]
            end = self._ends.get(panel.at) if panel is not None else 0
            self.feed(place, self._src.at if end is None else end)
            if end is not None and place == self._fed:
                self._fed += 1

    def _name_in(self, text: str) -> str | None:
        """The name an object shows so far; that of no tool only where a marker says that it is a call."""
        found, mapped = _NAME.match(text), _MAPPED.match(text)
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
            self._panels[place] = _Panel(name, at, at)
            self._fed = min(self._fed, place)
            self._events.append(CallNamed(self._base + place, name, dialect))

    def feed(self, place: int, upto: int) -> None:
        """Tell what has come of a call."""
        panel = self._panels[place] if place < len(self._panels) else None
        if panel is not None and upto > panel.sent:
            self._events.append(CallArgumentsDelta(self._base + place, self._src.text(panel.sent, upto)))
            panel.sent = upto

    def close(self, place: int, upto: int) -> None:
        """The call is complete; what comes after `upto` is not its own."""
        self.feed(place, upto)
        panel = self._panels[place]
        if panel is not None:
            self._ends[panel.at] = upto

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
        self._fed = min(self._fed, place)
        del self._starts[place:]
        missing = place - len(self._panels)
        self._panels.extend([None] * missing)
        self._starts.extend([0] * (place - len(self._starts)))

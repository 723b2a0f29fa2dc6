"""The line above several calls: how they stand, how long it took, and what running them at once saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from rich.cells import cell_len
from rich.style import Style

from console_app.domain import CallState, amounts, call_description, one_line
from console_app.domain.transcript import BatchView, CallView, ToModel, times
from console_app.tui.lineview.blocks.block import Block, framed, gutter_of, margin_of
from console_app.tui.lineview.calls.arguments import is_marked, without_marks
from console_app.tui.lineview.lines import Line, Piece, Row, crop, pieces_width
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.text.json_view import brief_arguments
from console_app.tui.lineview.wording import COUNTED, counted, counted_as, state_of

FRAMED_HEIGHT = 3  # lines of a folded framed panel
MAX_SERVER, MAX_TOOL = 24, 48
MAX_BRIEF = 60
NUMBERED = 9  # calls that a key reaches by their number


@dataclass(frozen=True, slots=True)
class Widths:
    """Cells that the widest of the calls takes: the word of its state, its name with and without the server, its
    arguments. `one_server`: they all are of one."""

    word: int
    label: int
    tool: int
    brief: int
    one_server: bool


class Panel(Block):
    """A call of the group, as the others see it."""

    def __init__(self, call: CallView) -> None:
        super().__init__()
        self.call = call

    @property
    def folded(self) -> bool:
        """Tell whether the call has no panel, and is only counted in the line under its batch."""
        return False

    @property
    def finished(self) -> bool:
        """Tell whether the call has its result."""
        return self.call.state is CallState.FINISHED


class Fold(Block):
    """The line under the rows of the group."""

    def hides(self, call: CallView) -> bool:
        """Tell whether the row of a call is folded, unless you selected or opened it."""
        return False


class CallGroup:
    """The calls of one answer as their panels see them."""

    def __init__(self, batch: BatchView) -> None:
        self.batch = batch
        self.room = 0  # lines of the view, 0 while unknown
        self.most_room = 0  # lines of the view in this terminal while no board stands under it
        self.ended = False  # no call of it will come or run any more, but one that you run again
        self.settled = False  # a later turn has begun: panels fold to a line
        self.newest = False  # no other batch came after it: keys reach its calls by their numbers
        self.only: str = ""  # the word of the calls that are shown, all others folded; "": no such choice
        self.version = 0
        self.header: Block | None = None
        self.panels: list[Panel] = []  # in call order
        self.fold: Fold | None = None
        self._outgrown = False
        self._telling: tuple[int, dict[str, tuple[str, ...]]] | None = None
        self._widths: tuple[int, Widths] | None = None
        self._scale = (-1, 0.0, times.OwnTime(0.0, 0.0))  # for a version and a moment
        self._known: tuple[int, float, float, bool] | None = None  # version, begin, end, open

    @property
    def calls(self) -> list[CallView]:
        """The calls, in call order."""
        return self.batch.calls

    @property
    def is_open(self) -> bool:
        """Tell whether a call has not ended yet."""
        return self._facts()[3]

    @property
    def has_header(self) -> bool:
        """Tell whether a line above the panels counts the calls."""
        return len(self.batch.calls) > 1

    @property
    def compact(self) -> bool:
        """Tell whether each panel is one line: framed, they would fill more than half the view, or their turn is over.

        Once there are too many for the terminal they stay so: text must not move under the eye. A board that comes and
        goes under the view takes its lines only for as long as it is there.
        """
        needed = len(self.batch.calls) * FRAMED_HEIGHT
        if not self._outgrown:
            self._outgrown = 0 < self._for_frames(max(self.room, self.most_room)) < needed
        return self.settled or self._outgrown or 0 < self._for_frames(self.room) < needed

    @staticmethod
    def _for_frames(room: int) -> int:
        """Return how many of `room` lines frames may fill."""
        return max((room + 1) // 2, FRAMED_HEIGHT) if room else 0

    @property
    def members(self) -> Sequence[Block]:
        """Its blocks, in the order in which they stand."""
        return [block for block in (self.header, *self.panels, self.fold) if block is not None]

    def number_of(self, panel: Panel) -> int:
        """The number by which a key reaches the panel; 0: none does."""
        first = self.panels[:NUMBERED] if self.newest else []
        return first.index(panel) + 1 if panel in first else 0

    def room_changed(self, height: int, most: int) -> bool:
        """The view is so many lines high, and was at `most`, in this terminal: whether its panels look different for
        that. Those that ended stay as they were seen, if they were."""
        if self.settled or (self.ended and self.room not in (0, height)):
            return False
        self.room, self.most_room = height, most
        self.version += 1
        return True

    def show_only_next(self) -> None:
        """Shows the calls of the next state alone that there are calls of, and behind the last of them all again."""
        found = {counted_as(call) for call in self.calls}
        words = ["", *(word for word in COUNTED if word in found)]
        self.only = words[(words.index(self.only) + 1) % len(words)] if self.only in words else ""
        self.changed()

    def changed(self) -> None:
        """A call was announced or changed its state: columns and scale may move, rows fold or unfold."""
        self.version += 1

    def scale(self, now: float) -> times.OwnTime:
        """The time that the lanes of the batch show: all but what only waited for a person."""
        version, begin, end, is_open = self._facts()
        if self._scale[:2] != (version, now):
            left_out = tuple(times.only_waiting(self.calls, now))
            self._scale = (version, now, times.OwnTime(begin, now if is_open else end, left_out))
        return self._scale[2]

    def _facts(self) -> tuple[int, float, float, bool]:
        """Keep what holds until a call changes its state: hundreds of panels ask for it each frame."""
        if self._known is None or self._known[0] != self.version:
            begin = min((lane_start(call) for call in self.calls), default=0.0)
            end = max((call.finished_at or begin for call in self.calls), default=begin)
            self._known = (self.version, begin, end, self.batch.is_open)
        return self._known

    def widths(self) -> Widths:
        """Measure the columns that the rows of one-line panels share."""
        if self._widths is None or self._widths[0] != self.version:
            self._widths = (self.version, self._measured())
        return self._widths[1]

    def brief(self, call: CallView, limit: int) -> str:
        """The arguments of a call in brief, what tells it apart from its neighbours first."""
        if self._telling is None or self._telling[0] != self.version:
            self._telling = (self.version, telling(self.calls))
        return brief_of(call, limit, self._telling[1].get(call.name, ()))

    def _measured(self) -> Widths:
        word, label, tool, badge, brief = 7, 4, 4, 0, 0
        for call in self.calls:
            server, name = label_of(call)
            word = max(word, cell_len(state_of(call)[1]))
            tool = max(tool, cell_len(name))
            label = max(label, cell_len(name) + (cell_len(server) + 3 if server else 0))
            badge = max(badge, sum(len(one) + 1 for one in badges(call)))
            brief = max(brief, cell_len(self.brief(call, MAX_BRIEF)))
        if not brief:  # else a badge stands in the room of its own arguments, and no row moves
            label, tool = label + badge, tool + badge
        one_server = len(self.calls) > 1 and len({call.server for call in self.calls}) == 1
        return Widths(word, label, tool, min(brief, MAX_BRIEF), one_server)


def lane_start(call: CallView) -> float:
    """Return the time at which a call's lane begins: when its arguments were complete, else when it was announced."""
    return call.announced_at if call.ready_at is None else call.ready_at


def label_of(call: CallView) -> tuple[str, str]:
    """Server and tool, or no server and the name the model used where no such tool is known."""
    if not call.server:
        return "", one_line(call.name, MAX_TOOL)
    return one_line(call.server, MAX_SERVER), one_line(call.tool, MAX_TOOL)


def badges(call: CallView) -> list[str]:
    """Return a word in brackets for everything unusual about a call: read from text, repaired, edited, tried again."""
    return [
        *([f"[{call.origin}]"] if call.origin != "native" else []),
        *(["[repaired]"] if call.repaired else []),
        *(["[edited]"] if call.edited else []),
        *([f"[try {call.attempt}]"] if call.attempt > 1 else []),
        *(["[ran once for all]"] if call.content.startswith(ToModel.SHARED) else []),
    ]


def telling(calls: Sequence[CallView]) -> dict[str, tuple[str, ...]]:
    """Return the names of the arguments that tell the calls of a tool apart, for each tool with several calls."""
    by_tool: dict[str, list[dict[str, Any]]] = {}
    for call in calls:
        if call.arguments is not None:
            by_tool.setdefault(call.name, []).append(call.arguments)
    none = object()
    found: dict[str, tuple[str, ...]] = {}
    for tool, (first, *others) in by_tool.items():
        names = dict.fromkeys(name for one in (first, *others) for name in one)
        found[tool] = tuple(
            name for name in names if any(one.get(name, none) != first.get(name, none) for one in others)
        )
    return found


def brief_of(call: CallView, limit: int, first: Sequence[str] = ()) -> str:
    """The arguments of a call in brief, those named in `first` before others; while they arrive, as far as they can be
    read."""
    if call.arguments is not None:
        return brief_arguments(call.arguments, limit, first)
    text = call.arguments_text
    if is_marked(call):
        text = without_marks(text[:4096])
    if not text or call.state is CallState.FINISHED or len(text) > 4096:
        return one_line(text[:200], limit)
    # Already loaded: the domain's models stand on it.
    from pydantic_core import from_json

    try:
        partial: object = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return one_line(text, limit)
    return (
        brief_arguments(cast("dict[str, Any]", partial), limit) if isinstance(partial, dict) else one_line(text, limit)
    )


WORTH_SAYING = 0.1  # seconds saved
FAILURES = ("failed", "timed out", "invalid", "interrupted")
NOT_DONE = ("cancelled", "denied", "blocked", "skipped")


class BatchBlock(Block):
    """The header of an answer's calls. Takes no room while there is only one."""

    def __init__(self, group: CallGroup) -> None:
        super().__init__()
        self.group = group
        self._told = -1  # the version of the group that its other blocks were last painted anew for

    def changed_too(self) -> Sequence[Block]:
        told, self._told = self._told, self.group.version
        return () if told == self._told else self.group.members

    @property
    def live(self) -> bool:
        return self.group.has_header and self.group.is_open

    @property
    def sticks(self) -> bool:
        return self.group.has_header and not self.group.ended

    def look(self) -> tuple[object, ...]:
        return self.group.version, len(self.group.calls), self.group.batch.wall_ms

    def estimate(self, width: int) -> int:
        return 1 + self.gap if self.group.has_header else 0

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        if not self.group.has_header:
            return []
        gutter = gutter_of(width)
        room = max(width - gutter - margin_of(width), 1)
        times = self._time_pieces(now, palette)
        head: list[Piece] = []
        for counts in (self._counts(), self._fewer_counts()):
            head = [(f"{len(self.group.calls)} calls", palette.strong)]
            for count, word in counts:
                head += [(" · ", palette.faint), (counted(count, word), self._ink(word, palette))]
            if pieces_width(head) <= room:  # times go before a name does
                break
        for pieces in times:
            if pieces_width(head) + pieces_width(pieces) > room:
                break
            head += pieces
        return [framed(Row(crop(head, room)), width, palette, [(" " * gutter, palette.base)] if gutter else [])]

    def _time_pieces(self, now: float, palette: Palette) -> list[list[Piece]]:
        """Say how long the calls took. Each piece is whole or left out, and none stands without the one before it."""
        wall, saved = self._times(now)
        if wall is None:
            return []
        dot: Piece = (" · ", palette.faint)
        said: list[list[Piece]] = [
            [dot, (amounts.seconds(wall) if self.group.is_open else amounts.measured(wall), palette.base)]
        ]
        if saved > WORTH_SAYING:
            said += [
                [dot, (f"{amounts.seconds(saved)} faster", palette.success)],
                [(" than sequential", palette.muted)],
            ]
        return said

    def _counts(self) -> list[tuple[int, str]]:
        found = Counter(counted_as(call) for call in self.group.calls)
        return [(found[word], word) for word in COUNTED if found[word]]

    def _fewer_counts(self) -> list[tuple[int, str]]:
        """The counts in fewer words: all that went wrong as one number, all that was not done as another."""
        counts = self._counts()
        several = sum(word in NOT_DONE for _, word in counts) > 1  # one kind keeps its own word
        merged: dict[str, int] = {}
        for count, word in counts:
            name = "failed" if word in FAILURES else "not done" if several and word in NOT_DONE else word
            merged[name] = merged.get(name, 0) + count
        return [(count, word) for word, count in merged.items()]

    def _ink(self, word: str, palette: Palette) -> Style:
        if word in FAILURES:
            return palette.error
        if word in call_description.NEEDS:
            return palette.warning
        return palette.secondary if word == "running" else palette.muted

    def _times(self, now: float) -> tuple[float | None, float]:
        """Return the seconds that the calls took, and how many more they would have taken one after the other.

        The first is None before anything ran. Time that only waited for a person is in neither.
        """
        calls = self.group.calls
        ran = [stretch for call in calls for stretch in times.runs(call, now)]
        if not ran:
            return None, 0.0
        return times.elapsed(calls, now), sum(end - since for since, end in ran) - times.covered(ran)

"""The lines above and under several calls: how they stand, how long they took, and which rows don't fit into the view.

Of a batch that is taller than the view what fits is shown: calls that run first. Once the next answer has begun or its
turn is over, one of more than a third of the view is a report: the counts, and the rows that need an eye.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

from rich.style import Style

from console_app.domain import CallState, Outcome, amounts, call_description, one_line
from console_app.domain.transcript import BatchView, CallView, ToModel, times, verdicts
from console_app.tui.lineview.blocks.block import Block, bar, framed, room_of
from console_app.tui.lineview.calls.detail import is_marked, without_marks
from console_app.tui.lineview.lines import Line, Piece, Row, crop, pieces_width
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.text.json_view import brief_arguments
from console_app.tui.lineview.wording import COUNTED, counted, counted_as

MAX_SERVER, MAX_TOOL = 24, 48
MOST_TAIL = 6  # lines of its output below a running call
AROUND = 2  # lines of a batch that are no rows: the counts, and what is folded
NUMBERED = 9  # calls that a key reaches by their number


class Panel(Block):
    def __init__(self, call: CallView) -> None:
        super().__init__()
        self.call = call

    @property
    def folded(self) -> bool:
        return False

    @property
    def finished(self) -> bool:
        return self.call.state is CallState.FINISHED


class CallGroup:
    def __init__(self, batch: BatchView) -> None:
        self.batch = batch
        self.depth = 0  # of the calls that are not indented: more than 0 in the conversation of an agent
        self.room = 0  # lines of the view, 0 while unknown
        self.ended = False  # no call of it will come or run any more, but one that you run again
        self.settled = False  # a later turn has begun
        self.newest = False  # no other batch came after it: keys reach its calls by their numbers
        self.reported = False  # what it was for goes on without it: a long one folds to its report
        self.outputs = 0  # changes with each piece of output of a call
        self.only: str = ""  # the word of the calls that are shown, all others folded; "": no such choice
        self.version = 0
        self.header: Block | None = None
        self.panels: list[Panel] = []  # in call order
        self.fold: FoldBlock | None = None
        self._telling: tuple[int, dict[str, tuple[str, ...]]] | None = None
        self._namesakes: tuple[int, frozenset[str]] = (-1, frozenset())  # tools that several servers have
        self._tails: tuple[object, dict[str, tuple[str, ...]]] = (None, {})
        self._open = (-1, False)  # for a version, whether a call has not ended yet

    @property
    def calls(self) -> list[CallView]:
        return self.batch.calls

    @property
    def is_open(self) -> bool:
        if self._open[0] != self.version:  # hundreds of panels ask for it each frame
            self._open = (self.version, self.batch.is_open)
        return self._open[1]

    @property
    def has_header(self) -> bool:
        return len(self.batch.calls) > 1

    @property
    def members(self) -> Sequence[Block]:
        return [block for block in (self.header, *self.panels, self.fold) if block is not None]

    def number_of(self, panel: Panel) -> int:
        """The number by which a key reaches the panel; 0: none does."""
        first = self.panels[:NUMBERED] if self.newest else []
        return first.index(panel) + 1 if panel in first else 0

    def room_changed(self, height: int) -> bool:
        """Take the height of the view; tell whether rows look different for it. Those that ended stay as they were
        seen."""
        if self.room not in (0, height) and (self.settled or self.ended):
            return False
        self.room = height
        self.version += 1
        return True

    def show_only_next(self) -> None:
        """Show only the calls of the next state that any is in, and behind the last state all of them."""
        found = {counted_as(call) for call in self.calls if call.state is not CallState.WAITING}
        words = ["", *(word for word in COUNTED if word in found)]
        self.only = words[(words.index(self.only) + 1) % len(words)] if self.only in words else ""
        self.changed()

    def changed(self) -> None:
        self.version += 1

    @property
    def writing(self) -> list[Panel]:
        """The panels of calls that run and have written something: they share the lines that are free."""
        return [one for one in self.panels if one.call.output is not None and one.call.state is CallState.RUNNING]

    def tail(self, panel: Panel) -> tuple[str, ...]:
        """The newest lines of what a running call has written, as many as the view has room for."""
        selected = next((one for one in self.panels if one.selected), None)
        key = (self.version, self.outputs, self.room, selected, selected is not None and selected.open)
        if self._tails[0] != key:
            self._tails = (key, self._shared(selected))
        return self._tails[1].get(panel.call.id, ())

    def _shared(self, selected: Panel | None) -> dict[str, tuple[str, ...]]:
        """Share the lines of the view that rows leave free among the calls that write, the selected one first."""
        writing = [one for one in self.writing if not (one.folded or one.open)]
        if not writing:
            return {}
        rows = sum(len(one.lines) if one.open else not one.folded for one in self.panels)
        spare = max(self.room - rows - AROUND, 0) if self.newest and not self.reported else 0
        if selected in writing and self.room > 2 * MOST_TAIL:  # it comes first, and may push others out of the view
            writing.remove(selected)
            writing.insert(0, selected)
            spare = max(spare, MOST_TAIL)
        lines = {
            one.call.id: one.call.output.lines(MOST_TAIL) for one in writing[:spare] if one.call.output is not None
        }
        share = dict.fromkeys(lines, 0)
        if selected in writing and selected.call.id in lines:
            share[selected.call.id] = min(len(lines[selected.call.id]), spare)
            spare -= share[selected.call.id]
        for depth in range(MOST_TAIL):
            for call_id, found in lines.items():
                if spare and share[call_id] == depth < len(found):
                    share[call_id] += 1
                    spare -= 1
        return {call_id: tuple(found[-share[call_id] :]) for call_id, found in lines.items() if share[call_id]}

    def name_of(self, call: CallView) -> str:
        """The tool of a call; with its server where another server of the batch has a tool of that name."""
        if self._namesakes[0] != self.version:
            found = Counter(tool for _, tool in {(one.server, one.tool) for one in self.calls if one.server})
            self._namesakes = (self.version, frozenset(tool for tool, count in found.items() if count > 1))
        if not call.server:  # no such tool is known: the name that the model used
            return one_line(call.name, MAX_TOOL)
        tool = one_line(call.tool, MAX_TOOL)
        if call.is_agent:
            return f"{tool} {one_line(call.agent_name, MAX_SERVER)}".rstrip()
        return f"{one_line(call.server, MAX_SERVER)} · {tool}" if call.tool in self._namesakes[1] else tool

    def brief(self, call: CallView, limit: int) -> str:
        """The arguments of a call in brief, what tells it apart from its neighbours first; of an agent its task."""
        if call.is_agent and isinstance(task := (call.arguments or {}).get("task"), str):
            return one_line(task, limit)
        if self._telling is None or self._telling[0] != self.version:
            self._telling = (self.version, telling(self.calls))
        return brief_of(call, limit, self._telling[1].get(call.name, ()))


def badges(call: CallView) -> list[str]:
    """Words in brackets for everything unusual about a call: read from text, repaired, edited, tried again."""
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
    """The arguments of a call in brief, those named in `first` first; while they arrive, as far as they can be read."""
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
NOT_DONE = ("stopped", "denied", "blocked", "skipped")
NEED_YOU = "need you"


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
    def sticks(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.group.has_header and not self.group.ended

    def look(self) -> tuple[object, ...]:
        return self.group.version, len(self.group.calls), self.group.batch.wall_ms

    def estimate(self, width: int) -> int:
        return 1 + self.gap if self.group.has_header else 0

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        if not self.group.has_header:
            return []
        room = room_of(width)
        dot: Piece = (" · ", palette.faint)
        head: list[Piece] = []
        for counts in (self._counts(), self._fewer_counts()):
            head = [(f"{len(self.group.calls)} calls", palette.strong)]
            for count, word in counts:
                head += [dot, (counted(count, word), self._ink(word, palette))]
            if pieces_width(head) <= room:  # the cause of a wait and the times go before a name does
                break
        why = Counter(one_line(call.why, 120) for call in self.group.calls if call.state is CallState.QUEUED)
        (most, count), *others = why.most_common() or [("", 0)]
        cause = f"{count} of them: {most}" if others and most else most
        for text, style in ((cause, palette.muted), *self._times(now, palette)):
            if text and pieces_width(head) + len(text) + 3 <= room:
                head += [dot, (text, style)]
        return [framed(Row(crop(head, room)), width, palette, bar(width, " ", palette.base, palette.base))]

    def _times(self, now: float, palette: Palette) -> list[Piece]:
        """The time that the calls took without waiting for a person; at the end one by one too, where some overlap."""
        calls = self.group.calls
        ran = [stretch for call in calls for stretch in times.runs(call, now)]
        if not ran:
            return []
        wall = times.elapsed(calls, now)
        if self.group.is_open:
            return [(amounts.seconds(wall), palette.muted)]
        saved = sum(end - since for since, end in ran) - times.covered(ran)
        at_least = "at least " if any(call.outcome is Outcome.INTERRUPTED for call in calls) else ""
        one_by_one = f", {amounts.seconds(wall + saved)} one by one" if saved > WORTH_SAYING else ""
        return [(f"{at_least}{amounts.measured(wall)}{one_by_one}", palette.muted)]

    def _counts(self) -> list[tuple[int, str]]:
        found = Counter(counted_as(call) for call in self.group.calls)
        needed = sum(found.pop(word, 0) for word in call_description.NEEDS)
        return [(needed, NEED_YOU)] * bool(needed) + [(found[word], word) for word in COUNTED if found[word]]

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
        if word in (NEED_YOU, verdicts.VerdictWord.SAID_NO):
            return palette.warning
        if word == verdicts.VerdictWord.OK:
            return palette.success
        return palette.secondary if word == "running" else palette.muted


USUAL_TAIL = 3  # lines that a call which writes has for its output before rows of calls that don't run
FEWEST = 4  # calls of a batch that are always rows


class FoldBlock(Block):
    """Counts the rows of its batch that it folds. Opened, it shows all; a choice of one state outlasts the batch."""

    def __init__(self, group: CallGroup) -> None:
        super().__init__()
        self.group = group
        self._shown: frozenset[str] | None = None  # the calls whose rows are not folded; None: all
        self._counted: tuple[tuple[str, int], ...] = ()  # the folded calls, when it was last looked at
        self._known = -1  # the version of the group for which that holds

    def hides(self, call: CallView) -> bool:
        if self.group.only:
            return counted_as(call) != self.group.only
        if self._known != self.group.version:
            self._known = self.group.version
            self._shown = None if self.open or not self.opens else self._chosen()
        return self._shown is not None and call.id not in self._shown

    def toggle(self) -> None:
        if self.group.only:
            self.group.only = ""
        else:
            super().toggle()
        self.group.changed()

    @property
    def opens(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        group = self.group
        if group.only:
            return True
        rows = sum(call.state is not CallState.WAITING for call in group.calls)  # others stand on the board
        if group.reported:
            return 0 < max(group.room // 3 - 1, FEWEST) < rows
        return 0 < group.room < rows + AROUND

    is_stop = opens  # pyright: ignore[reportAssignmentType]

    @property
    def gap(self) -> int:
        return 0

    @property
    def beside(self) -> Sequence[Block]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.group.members

    def set_room(self, height: int) -> bool:
        return self.group.room_changed(height)  # how many rows there is room for

    def look(self) -> tuple[object, ...]:
        panels = self.group.panels if self.opens else ()  # of which those that wait are on the board
        folded = (one.call for one in panels if one.folded and one.call.state is not CallState.WAITING)
        found = Counter(map(counted_as, folded))
        self._counted = tuple((word, found[word]) for word in COUNTED if found[word])
        return self.opens, self.group.only, self._counted

    def estimate(self, width: int) -> int:
        return int(self.opens)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        if not self.opens:
            return []
        ink = palette.on_chosen if self.selected else palette
        room = room_of(width)
        counts = ", ".join(counted(count, word) for word, count in self._counted)
        only = self.group.only
        none = only and all(counted_as(call) != only for call in self.group.calls)
        head: list[Piece] = [(f"only {only}{': none now' if none else ''} · ", ink.warning)] if only else []
        head.append((f"+ {counts}" if counts else "no call is folded", ink.muted))
        keys: list[Piece] = [("t", ink.strong), (" next state  ", ink.muted)] if only else []
        keys += [("o", ink.strong), (" open" if only or counts else " close", ink.muted)]
        gap = room - pieces_width(head) - pieces_width(keys)
        if gap > 1 and (only or self.selected):  # elsewhere the letter does something else, or is text
            head += [(" " * gap, ink.base), *keys]
        lead = bar(width, "▌" if self.selected else " ", palette.primary, palette.base)
        return [framed(Row(crop(head, room), fill=ink.base if self.selected else None), width, palette, lead)]

    def _chosen(self) -> frozenset[str]:
        """The calls that have room, by rank. None where the counts and this line take it all: a row behind them would
        be neither seen nor counted."""
        calls = self.group.calls
        room = max(self.group.room - AROUND, 0)
        if self.group.reported:
            room = max(room // 3, 1)
            calls = [call for call in calls if _rank(call) <= _NEEDS_AN_EYE]
        ranked = sorted(calls, key=lambda call: (_rank(call), -(call.finished_at or 0.0)))  # the newest ends first
        first = sum(_rank(call) <= _NEEDS_AN_EYE for call in ranked)
        writing = sum(call.output is not None and call.state is CallState.RUNNING for call in ranked)
        free = max(room - first - writing * USUAL_TAIL, 0)
        return frozenset(call.id for call in ranked[: min(first + free, room)])


_NEEDS_AN_EYE = 1


def _rank(call: CallView) -> int:
    match call.state:
        case CallState.RUNNING:
            return 0
        case CallState.FINISHED:
            return _NEEDS_AN_EYE if call.verdict is not None and call.verdict.needs_an_eye else 4
        case CallState.ANNOUNCED:
            return 2
        case CallState.QUEUED | CallState.WAITING:
            return 3

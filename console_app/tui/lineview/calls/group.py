"""The lines above and under several calls: how they stand, how long they took, and which rows don't fit into the view.

Of a batch that is taller than the view what fits is shown: calls that run first. Once the next answer has begun or its
turn is over, one of more than a third of the view is a report: the counts, and the rows that need an eye.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import nsmallest
from itertools import islice
from typing import Any, cast

from rich.style import Style

from console_app.domain import CallState, Outcome, amounts, call_description, one_line
from console_app.domain.transcript import BatchView, CallView, ToModel, times, verdicts
from console_app.tui.lineview.blocks.block import Block, bar, framed, room_of
from console_app.tui.lineview.calls.detail import is_marked, without_marks
from console_app.tui.lineview.calls.tally import OPEN, Tally
from console_app.tui.lineview.lines import Line, Piece, Row
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.text.json_view import brief_arguments
from console_app.tui.lineview.wording import COUNTED, counted

MAX_SERVER, MAX_TOOL = 24, 48
MOST_TAIL = 6  # lines of its output below a running call
USUAL_TAIL = 3  # lines that a call which writes has for its output before rows of calls that don't run
FEWEST = 4  # calls of a batch that are always rows
AROUND = 2  # lines of a batch that are no rows: the counts, and what is folded
NUMBERED = 9  # calls that a key reaches by their number
WAITS = call_description.NEEDS[0]  # the word of a call that stands on the board
_EYE = tuple(word for word in verdicts.VerdictWord if verdicts.Verdict(word).needs_an_eye)
# The words of calls in the order in which they have rows where not all do; the first so many always have, if there is
# room.
RANKS = (
    ("running", call_description.NEEDS[1]),
    _EYE,
    ("preparing",),
    ("queued",),
    (*(word for word in verdicts.VerdictWord if word not in _EYE), "ended"),
)
NEED_AN_EYE = 2


class Panel(Block):
    def __init__(self, call: CallView) -> None:
        super().__init__()
        self.call = call

    @property
    def finished(self) -> bool:
        return self.call.state is CallState.FINISHED


class CallGroup:
    def __init__(self, batch: BatchView) -> None:
        self.batch = batch
        self.tally = Tally(batch.calls)
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
        self.reached: list[Panel] = []  # those that keys may reach by their numbers: all but what agents call
        self.fold: Block | None = None  # counts the folded calls; opened, it shows them all
        self.selected: Panel | None = None
        self.opened: dict[Panel, None] = {}
        self._tails: tuple[object, dict[str, tuple[str, ...]]] = (None, {})
        self._rows: tuple[int, dict[int, CallView] | None] = (-1, None)  # for a version, the calls that have rows
        self._told: tuple[bool, dict[int, CallView] | None] = (False, None)  # of a header and of rows, for `stale`

    @property
    def calls(self) -> list[CallView]:
        return self.batch.calls

    @property
    def is_open(self) -> bool:
        return self.tally.is_open

    @property
    def has_header(self) -> bool:
        return len(self.batch.calls) > 1

    @property
    def members(self) -> Sequence[Block]:
        return [block for block in (self.header, *self.panels, self.fold) if block is not None]

    def stale(self) -> Sequence[Block]:
        """Its blocks that may have to be painted anew since this was last asked. Thousands that are neither on screen
        nor of another height are none of them."""
        before, now = self._told, (self.has_header, self.rows)
        self._told = now
        if before[0] is not now[0] or (before[1] is None) is not (now[1] is None):
            return self.members
        turned = (before[1] or {}).keys() ^ (now[1] or {}).keys()
        tails = {*self._tails[1]}
        tails.update(self._shared())
        panels = [one for one in self.panels if one.lines or id(one.call) in turned or one.call.id in tails]
        return [block for block in (self.header, *panels, self.fold) if block is not None]

    def number_of(self, panel: Panel) -> int:
        """The number by which a key reaches the panel; 0: none does."""
        first = self.reached[:NUMBERED] if self.newest else []
        return first.index(panel) + 1 if panel in first else 0

    def room_changed(self, height: int) -> bool:
        """The view is so many lines high: whether rows look different for that. Ended ones stay as they were seen."""
        if self.room not in (0, height) and (self.settled or self.ended):
            return False
        self.room = height
        self.version += 1
        return True

    def show_only_next(self) -> None:
        """Shows the calls of the next state alone that there are calls of, and behind the last of them all again."""
        found = {word for word in self.tally.counts if word != WAITS}
        words = ["", *(word for word in COUNTED if word in found)]
        self.only = words[(words.index(self.only) + 1) % len(words)] if self.only in words else ""
        self.changed()

    def changed(self, call: CallView | None = None) -> None:
        """A call was announced or changed its state, or all of them are to be seen otherwise: rows fold or unfold."""
        if call is not None:
            self.tally.count(call)
        if len(self.tally) != len(self.calls):  # one was dropped
            self.tally = Tally(self.calls)
            there = {id(one) for one in self.calls}
            self.opened = {panel: None for panel in self.opened if id(panel.call) in there}
            if self.selected is not None and id(self.selected.call) not in there:
                self.selected = None
        self.version += 1

    # -- rows

    @property
    def folds(self) -> bool:
        """Tell whether there are more rows than are shown, or all but those of one state are folded."""
        if self.only:
            return True
        rows = len(self.calls) - self.tally.number(WAITS)  # others stand on the board
        if self.reported:
            return 0 < max(self.room // 3 - 1, FEWEST) < rows
        return 0 < self.room < rows + AROUND

    @property
    def rows(self) -> dict[int, CallView] | None:
        """The calls, by identity, that have a row where not all do; None: all, but those that wait on the board."""
        if self._rows[0] != self.version:
            all_of_them = self.fold is None or self.fold.open or not self.folds
            self._rows = self.version, None if all_of_them else self._chosen()
        return self._rows[1]

    def is_row(self, panel: Panel) -> bool:
        """Tell whether a call has its row: one that you selected or opened has, wherever it stands."""
        return panel.selected or panel.open or self._is_chosen(panel.call)

    def _is_chosen(self, call: CallView) -> bool:
        if call.state is CallState.WAITING:
            return False
        if self.only:
            return self.tally.word(call) == self.only
        return (rows := self.rows) is None or id(call) in rows

    def _unchosen(self) -> list[Panel]:
        """The panels that have their rows for no other reason than that you selected or opened them."""
        return [one for one in {**self.opened, self.selected: None} if one and not self._is_chosen(one.call)]

    @property
    def folded(self) -> list[tuple[int, str]]:
        rows, found = self.rows, self.tally.counts
        if not self.only and rows is None:
            return []
        del found[WAITS], found[self.only]
        if not self.only and rows is not None:
            found.subtract(map(self.tally.word, rows.values()))
        found.subtract(self.tally.word(one.call) for one in self._unchosen())
        return [(found[word], word) for word in COUNTED if found[word] > 0]

    def _chosen(self) -> dict[int, CallView]:
        """Choose as many calls as the view has room for, by their rank, of those that ended the newest.

        None is chosen where the counts and the line below take all room: a row behind them would be neither seen nor
        counted.
        """
        room, ranks = max(self.room - AROUND, 0), RANKS
        if self.reported:
            room, ranks = max(room // 3, 1), RANKS[:NEED_AN_EYE]
        first = self.tally.number(*(word for words in RANKS[:NEED_AN_EYE] for word in words))
        room = min(first + max(room - first - len(self._writing()) * USUAL_TAIL, 0), room)
        made_by = {call.parent for call in self.calls} if self.reported else ()  # what programs came to stays seen
        found = {id(call): call for call in islice((one for one in self.calls if one.id in made_by), room)}
        for words in ranks:
            calls = (call for call in self.calls if self.tally.word(call) in words) if room > len(found) else ()
            if words[0] not in OPEN:
                calls = nsmallest(room - len(found), calls, key=lambda call: -(call.finished_at or 0.0))
            found |= {id(call): call for call in islice(calls, room - len(found))}
        return found

    # -- newest lines of output

    @property
    def writing(self) -> list[Panel]:
        """The panels of calls that run and have written something: they share the lines that are free."""
        writing = self._writing()
        return [one for one in self.panels if id(one.call) in writing] if writing else []

    def _writing(self) -> set[int]:
        return {id(call) for call in self.tally.of(*RANKS[0]) if call.output is not None}

    def tail(self, panel: Panel) -> tuple[str, ...]:
        return self._shared().get(panel.call.id, ())

    def _shared(self) -> dict[str, tuple[str, ...]]:
        selected = self.selected
        key = (self.version, self.outputs, self.room, selected, selected is not None and selected.open)
        if self._tails[0] != key:
            self._tails = (key, self._share(selected))
        return self._tails[1]

    def _share(self, selected: Panel | None) -> dict[str, tuple[str, ...]]:
        """Share the lines of the view that rows leave free among the calls that write, the selected one first."""
        writing = [one for one in self.writing if not one.open and self.is_row(one)]
        if not writing:
            return {}
        chosen = len(self.calls) - self.tally.number(WAITS) if self.rows is None else len(self.rows)
        chosen = self.tally.number(self.only) if self.only else chosen
        rows = chosen + len(self._unchosen()) + sum(len(one.lines) - 1 for one in self.opened)
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

    # -- names

    def name_of(self, call: CallView) -> str:
        """The tool of a call; with its server where another server of the batch has a tool of that name."""
        if not call.server:  # no such tool is known: the name that the model used
            return one_line(call.name, MAX_TOOL)
        tool = one_line(call.tool, MAX_TOOL)
        if call.is_agent:
            return f"{tool} {one_line(call.agent_name, MAX_SERVER)}".rstrip()
        return f"{one_line(call.server, MAX_SERVER)} · {tool}" if self.tally.has_namesake(call) else tool

    def brief(self, call: CallView, limit: int) -> str:
        """The arguments of a call in brief, what tells it apart from its neighbours first; of an agent its task."""
        if call.is_agent and isinstance(task := (call.arguments or {}).get("task"), str):
            return one_line(task, limit)
        return brief_of(call, limit, self.tally.telling.of(call.name))


def badges(call: CallView) -> list[str]:
    """Return a word in brackets for everything unusual about a call: read from text, repaired, edited, tried again."""
    return [
        *([f"[{call.origin}]"] if call.origin != "native" else []),
        *(["[repaired]"] if call.repaired else []),
        *(["[changed by a hook]"] if call.hooked else []),
        *(["[edited]"] if call.edited else []),
        *([f"[try {call.attempt}]"] if call.attempt > 1 else []),
        *(["[ran once for all]"] if call.content.startswith(ToModel.SHARED) else []),
    ]


def brief_of(call: CallView, limit: int, first: Sequence[str] = ()) -> str:
    """The arguments of a call in brief, those named in `first` before others; as far as they can be read."""
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
        return () if told == self._told else self.group.stale()

    @property
    def live(self) -> bool:
        return self.group.has_header and self.group.is_open

    @property
    def sticks(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.group.has_header and not self.group.ended

    def look(self) -> tuple[object, ...]:
        return (self.group.version,)

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
            if Line.cells(head) <= room:  # the cause of a wait and the times go before a name does
                break
        why = Counter(call.why for call in self.group.tally.of("queued"))
        (most, count), *others = why.most_common(2) or [("", 0)]
        said = one_line(most, 120)
        cause = f"{count} of them: {said}" if others and said else said
        for text, style in ((cause, palette.muted), *self._times(now, palette)):
            if text and Line.cells(head) + len(text) + 3 <= room:
                head += [dot, (text, style)]
        return [framed(Row(Line.trim(head, room)), width, palette, bar(width, " ", palette.base, palette.base))]

    def _times(self, now: float, palette: Palette) -> list[Piece]:
        """The time that the calls took without waiting for a person; at the end one by one too, where some overlap."""
        calls = self.group.calls
        if all(call.started_at is None for call in calls):
            return []
        wall = times.elapsed(calls, now)
        if self.group.is_open:
            return [(amounts.seconds(wall), palette.muted)]
        ran = [stretch for call in calls for stretch in times.runs(call, now)]
        saved = sum(end - since for since, end in ran) - times.covered(ran)
        at_least = "at least " if any(call.outcome is Outcome.INTERRUPTED for call in calls) else ""
        one_by_one = f", {amounts.seconds(wall + saved)} one by one" if saved > WORTH_SAYING else ""
        return [(f"{at_least}{amounts.measured(wall)}{one_by_one}", palette.muted)]

    def _counts(self) -> list[tuple[int, str]]:
        found = self.group.tally.counts
        needed = sum(found.pop(word, 0) for word in call_description.NEEDS)
        return [(needed, NEED_YOU)] * bool(needed) + [(count, word) for word, count in found.items()]

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


class FoldBlock(Block):
    """Counts the rows of its batch that it folds. Opened, it shows all; a choice of one state outlasts the batch."""

    def __init__(self, group: CallGroup) -> None:
        super().__init__()
        self.group = group
        self._counted: list[tuple[int, str]] = []  # the folded calls, when it was last looked at

    def toggle(self) -> None:
        if self.group.only:
            self.group.only = ""
        else:
            super().toggle()
        self.group.changed()

    @property
    def opens(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.group.folds

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
        self._counted = self.group.folded if self.group.folds else []
        return self.group.folds, self.group.only, *self._counted

    def estimate(self, width: int) -> int:
        return int(self.group.folds)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        if not self.group.folds:
            return []
        ink = palette.on_chosen if self.selected else palette
        room = room_of(width)
        counts = ", ".join(counted(count, word) for count, word in self._counted)
        if counts and sum(count for count, _ in self._counted) == len(self.group.calls):
            counts = "all calls"  # which the head counts
        only = self.group.only
        none = only and not self.group.tally.number(only)
        head: list[Piece] = [(f"only {only}{': none now' if none else ''} · ", ink.warning)] if only else []
        head.append((f"+ {counts}" if counts else "no call is folded", ink.muted))
        keys: list[Piece] = [("t", ink.strong), (" next state  ", ink.muted)] if only else []
        keys += [("o", ink.strong), (" open" if only or counts else " close", ink.muted)]
        gap = room - Line.cells(head) - Line.cells(keys)
        if gap > 1 and (only or self.selected):  # elsewhere the letter does something else, or is text
            head += [(" " * gap, ink.base), *keys]
        lead = bar(width, "▌" if self.selected else " ", palette.primary, palette.base)
        return [framed(Row(Line.trim(head, room), fill=ink.base if self.selected else None), width, palette, lead)]

"""Holds what everything that reads one answer shares: the source, the tools, the output, and how a region is
concluded."""

from collections.abc import Callable
from dataclasses import dataclass, field

from console_app.textcalls.bodies.draft import Draft, Reopening
from console_app.textcalls.bodies.region import Region
from console_app.textcalls.dialects.coats import BEGIN, CHAT_TOKENS, CLOSE, HALF, HALF_BEGIN, HALF_MARK, OPEN
from console_app.textcalls.dialects.form import Dialect
from console_app.textcalls.dialects.table import FAMILIES, family_of
from console_app.textcalls.model import ReadingLevel, ScanEvent
from console_app.textcalls.openings.openers import THINK_ENDS
from console_app.textcalls.openings.position import Place, Structure
from console_app.textcalls.output import IN_SENTENCE, NO_TOOL, ScanOutput
from console_app.textcalls.patterns import any_of, lazily
from console_app.textcalls.source import Match, Reading, Source
from console_app.textcalls.tool_schemas import ToolSchemas

MOST_CALLS = 16_000
"""How many calls an answer may hold: what is collected for many more of them keeps the garbage collector busy."""
ANYTHING = lazily(r"[\s\S]*")
_ENDS = any_of({*THINK_ENDS, *CHAT_TOKENS})
_LINE_ENDS = lazily(
    lambda: (
        rf"(?:[^\S\n]*+{CLOSE})*+[^\S\n]*+(?:\n|(?:{OPEN}|{BEGIN})"
        rf"|(?P<words>[^\s<\[◁⟨]|(?!(?:{HALF_MARK}|{HALF_BEGIN})\Z)[<\[◁⟨]))"
    )
)
"""A pattern of the text behind a call on its line: the end of the line or another call; or words."""
_BEHIND = lazily(
    lambda: (
        rf"(?:\s*+{CLOSE})*+[ \t]*+(?:[,;|}}\]][ \t]*+)*"
        rf"(?:(?P<words>[^\s<\[\]{{}},;|]|\][^<]|<[-!=]|\[\^?\d|(?!{_ENDS}|{CLOSE})</[\w:.-]{{1,40}}[\s>])"
        rf"|(?:[^\S\n]*+\n\s*+(?=\S)|(?=[<\[{{])(?!</|<\Z|\[\^?\Z))(?!{CLOSE}|{HALF}\Z))"
    )
)
"""A pattern of the text behind an unmarked call on its line: words; or what separates it from the next; or nothing."""


@dataclass
class ScanState:
    """The state of one scan. `held`: what is being read may not be text, so it is not shown yet. `in_fence`: the
    text is the body of a fence, where calls may stand on lines of their own. `blocked`: from here on calls are made
    up. `licensed` is the form in which the model is known to write, `thinks`: reasoning that the prompt opened may
    still go on, `thought`: such ended, `inner`: the answer is in reasoning that may hold calls. `section`: the
    token that began a section of calls, `shown_section`: such a one that is only shown. `level`: which calls count.
    `idle`: how many openers opened no call. `running`: what comes is running text, until something opens.
    `unended`: before this offset the call that may be reopened does not end. `gave_up`: why something that is too
    much is not read. `foreign`: names that proved to be those of no tool.
    """

    src: Source
    tools: ToolSchemas
    read_inner: "Callable[[ScanState, str], ScanOutput]"
    prefer: str | None = None
    level: ReadingLevel = "all"
    licensed: str | None = None
    thinks: bool = False
    thought: bool = False
    inner: bool = False
    held: bool = False
    in_fence: bool = False
    blocked: bool = False
    shown_section: bool = False
    section: str = ""
    idle: int = 0
    running: bool = False
    unended: int = 0
    gave_up: str = ""
    draft: Draft | None = None
    reopening: Reopening | None = None
    last_row: Dialect | None = None
    last_family: str = ""
    unclosed_code: dict[int, int] = field(default_factory=dict[int, int])
    foreign: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self._events: list[ScanEvent] = []
        self.structure = Structure(self.src)
        self.output = ScanOutput(self.src, self._events, self.structure, self.licensed)

    def place(self) -> Place:
        return self.structure.at(self.src.at)

    def flush(self) -> list[ScanEvent]:
        events = list(self._events)
        self._events.clear()
        return events

    def new_draft(self, dialect: str, *, marked: bool | None = None) -> Draft:
        """The calls of a new region; a marker opened it if one does in the dialect, unless `marked` says otherwise."""
        if marked is None:
            marked = FAMILIES[dialect].row.marked
        events: list[ScanEvent] = [] if self.level == "none" else self._events
        self.draft = Draft(self.src, self.tools, dialect, self.output.attempts, events, marked=marked)
        return self.draft

    def family(self, row: Dialect, token: str = "") -> str:
        """The family whose calls are read: of those that the row stands for the one the model is known, or was asked,
        to write, else the one that read the calls before, else the one with this token or section.
        """
        if self.prefer is not None and (family := FAMILIES.get(self.prefer)) and family.row is row:
            return self.prefer
        if self.last_row is not row or not self.last_family:
            self.last_row, self.last_family = row, family_of(row, self.section, token)
        return self.last_family

    def read_body(self, row: Dialect, region: Region, marked: bool | None = None) -> Reading[Draft]:
        """Let a row's grammar read what follows; nothing is concluded yet. `marked` as for `new_draft`."""
        draft = self.new_draft(self.family(row, region.token), marked=row.marked if marked is None else marked)
        yield from row.body.read(self.src, region, draft)
        return draft

    def conclude(
        self, draft: Draft, shown: str = "", doubt: str = "", *, fenced: bool = False, alone: bool = False,
        place: Place | None = None,
    ) -> None:  # fmt: skip
        """Let the calls of a region that was read up to here count; where it has none, it is text. `shown` says why it
        is text in any case, "" when it isn't; `fenced`, `alone` and `doubt` as in a segment.
        """
        why = (shown if self.level != "none" else "") or self._withheld(draft)
        if why:
            if draft.attempts:
                names = [self.tools.resolve(attempt.name or "") for attempt in draft.attempts]
                self.output.note_text(self.output.mark, self.src.at, why, next(filter(None, names), None))
            self.refuse(draft)
            return
        draft.settle()
        self.draft = None
        self.reopening = draft.reopening if draft.attempts else self.reopening
        for start, end, why in draft.ignored:
            self.output.note_text(start, end, why)
        if draft.answer is not None and not draft.attempts:
            self.output.drop(self.src.at, replacement=draft.answer)
        elif not draft.attempts:
            self.output.show(self.src.at)
        elif self.blocked:
            draft.withdraw()
            self.output.note(self.output.mark, self.src.at, "a call that follows results the model made up")
            self.output.drop(self.src.at)
        else:
            place = place or self.structure.at(self.output.mark)
            doubt = place.doubt(licensed=self.licensed == draft.attempts[0].dialect) or doubt
            self.reopening = None if alone else self.reopening
            self.unended = self.src.at
            self.output.take(draft, self.src.at, fenced=fenced, alone=alone, doubt=doubt)
            if draft.answer:
                self.output.drop(self.src.at, replacement=draft.answer)

    def conclude_in_line(self, draft: Draft, shown: str = "", *, alone: bool = False) -> Reading[None]:
        """As `conclude`, but unmarked calls with words behind them on their line are part of a sentence, unless a value
        may go on there.
        """
        if not shown and not draft.marked and draft.reopening is None:
            found = yield from self.src.match(_BEHIND)
            shown = IN_SENTENCE if found and found["words"] else ""
        self.conclude(draft, alone=alone, shown=shown)

    def start_calls(self) -> Reading[None]:
        """Make the newest calls final, if they are the model's own: in its form, with an end of their own, at a clean
        place, and with only white space or another call behind them on their line.
        """
        newest, output = self.output.newest, self.output
        if newest is None or newest.final or output.lonely or newest.doubt or self.thinks:
            return
        own = self.licensed and not FAMILIES[self.licensed].marked  # whose calls have no marker
        if all(one.dialect == self.licensed and one.whole and (one.marked or own) for one in newest.attempts):
            found = yield from self.src.match(_LINE_ENDS)
            if found and not found["words"]:
                self.reopening = None
                output.make_final(newest)

    def _withheld(self, draft: Draft) -> str:
        """Return why the text that was read is no call at this level; "" when it is one, as far as is known by now."""
        if len(draft.attempts) > MOST_CALLS:
            self.gave_up = f"it holds more than {MOST_CALLS} calls"
            return self.gave_up
        if self.level == "none":
            return "this model has tools of its own to call"
        if self.level == "all" or draft.marked:
            return ""
        for one in draft.attempts:
            if one.failure is not None:
                return f"nothing marks it as one, and {one.why}"
        if not any(one.known for one in draft.attempts):
            return NO_TOOL
        fitting = all(one.known and self.tools.accepts(one.name or "", one.arguments or {}) for one in draft.attempts)
        return "" if fitting else "nothing marks it as one, and its arguments do not fit the tool"

    def cut_off(self, dialect: str, where: str, start: int, written: str | None = None, shown: str = "") -> None:
        """Take the rest of the answer for a call that began at `start` and was cut off."""
        self.src.pos = len(self.src.buf)
        draft = self.new_draft(dialect)
        draft.fail("truncated", f"the answer ended {where}", start, self.src.at, written)
        self.conclude(draft, shown=shown)

    def refuse(self, draft: Draft, why: str = "", written: str = "") -> None:
        """Treat what was read up to here as text; `why`, where it seems to call the tool that is `written`."""
        if why and (name := self.tools.resolve(written)):
            self.output.note_text(self.output.mark, self.src.at, why, name)
        draft.withdraw()
        self.draft = None
        self.output.show(self.src.at)

    def reopen(self, found: Match) -> None:
        """Let the last call's value go on to here, with what was taken for text after it."""
        assert self.reopening is not None, "only what can be reopened is"
        end = self.src.offset(found.start())
        self.output.show(end)
        self.src.pos = found.end()
        self.output.extend(self.src.at, end, self.reopening)

    def cut(self, token: str, place: Place) -> Reading[None]:
        """Drop a result that only an endpoint could have written, and all that follows, for it is made up. Where no
        call came before it may be ordinary text; it stays, but no call after it counts.
        """
        if self.level == "none" or (not self.output.attempts and not (place.line_start and token[0] in "<[")):
            self.src.pos += len(token)
            self.blocked = self.blocked or place.line_start
            return
        start = self.src.at
        yield from self.src.skip(ANYTHING)
        if self.src.text(start + len(token), self.src.at).strip():  # Gemma ends a turn with the token alone
            self.output.note(start, start + len(token), "results that the model made up, and all after them")
            self.output.goes_on = True
        self.output.drop(self.src.at)

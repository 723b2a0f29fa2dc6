"""Holds what all that reads an answer shares: the source, the tools, how a region is concluded, what each stretch of
the answer turned out to be and what was shown, and at the end the result."""

from collections.abc import Callable
from typing import Literal

from console_app.records import dataclass, field, replace
from console_app.textcalls import model
from console_app.textcalls.bodies.draft import CallAttempt, Draft, Note, Region, Reopening, concluded, parsed
from console_app.textcalls.dialects.coats import BEGIN, CHAT_TOKENS, CLOSE, HALF, HALF_BEGIN, HALF_MARK, OPEN
from console_app.textcalls.dialects.table import FAMILIES, Dialect, family_of
from console_app.textcalls.mentions import WHY, mentioned
from console_app.textcalls.openings.openers import THINK_ENDS
from console_app.textcalls.openings.position import NO_SENTENCE, Place, Structure
from console_app.textcalls.patterns import any_of, lazily
from console_app.textcalls.source import LOOKAHEAD, Reading, Source
from console_app.textcalls.tool_schemas import ToolSchemas

IN_SENTENCE = "it is part of a sentence"
MAYBE = "maybe quoted"
NO_TOOL = "no tool has this name"
_FENCES, _LONG = 100, 16_000  # that are looked at for calls that they show, and characters of each
_SHOWN = 60  # characters of the text around a call that are told of
_WORD = lazily(r"\S+")


@dataclass(slots=True)
class Segment:
    """A stretch of the answer. Its calls count only if there is no other (`fenced`), or no text (`alone`); `doubt` says
    why they may be quoted. `follows_text`: text stands before them. `replacement` replaces the text of a segment that
    is shown otherwise. `longer`: the value of the last call goes on to an offset, which is decoded once, at the end.
    `final`: its calls may have started."""

    kind: Literal["text", "calls", "thought", "dropped"]
    start: int
    end: int
    attempts: tuple[CallAttempt, ...] = ()
    fenced: bool = False
    alone: bool = False
    doubt: str = ""
    follows_text: bool = False
    replacement: str | None = None
    longer: tuple[Reopening, int] | None = None
    final: bool = False


class ScanOutput:
    """Keeps the segments in order and tells what becomes visible as soon as it is sure to be text."""

    def __init__(self, src: Source, events: list[model.ScanEvent], structure: Structure, licensed: str | None) -> None:
        self._src = src
        self._licensed = licensed
        self._events = events
        self._structure = structure
        self.segments: list[Segment] = []
        self.mark = 0
        self.has_text = False
        self.attempts = 0
        self.calls = 0  # that were read so far, whatever became of them
        self.unfenced = False
        self.lonely = False  # some calls have to be alone: text behind them takes back all before it
        self.goes_on = False  # behind its last call the answer tells of results that it made up
        self.shown_fences: list[tuple[int, int]] = []  # which are text, but may show a call
        self.notes: list[Note] = []
        self._shows = False  # a call before the mark is only shown
        self._doubt = ""  # why calls from here on may be quoted: others before them may
        self._shown: list[str] = []  # the text that was told of
        self._pending = 0  # segments whose calls may be text after all: text behind them is told of later
        self._started = False  # a call may have started: calls keep their numbers
        self._gap = False  # something was taken out of the text here: no heap of blank lines follows

    def show(self, upto: int) -> None:
        if upto <= self.mark:
            return
        text = self._src.text(self.mark, upto)
        self._decide(text)
        if self._gap:
            self._gap = not text.strip("\r\n")
            text = closed_up(text, self._shown)
        self._emit(text)
        last = self.segments[-1] if self.segments else None
        if last and last.kind == "text" and last.replacement is None and last.end == self.mark:
            last.end = upto
        else:
            self.segments.append(Segment("text", self.mark, upto))
        self.mark = upto

    def run_on(self, text: str) -> bool:
        """Take what is surely text, if text stands before it."""
        last = self.segments[-1] if self.has_text else None
        if last is None or last.kind != "text" or last.replacement is not None or self._gap or self._pending:
            return False
        self.mark += len(text)
        last.end = self.mark
        self._shown.append(text)
        return True

    def drop(self, upto: int, kind: Literal["thought", "dropped"] = "dropped", replacement: str | None = None) -> None:
        """Leave out what stands from the mark to here."""
        if kind == "dropped" and self._licensed is None and self.newest is None:
            self.suspect(self._structure.lines(self.mark).lead_doubt)
        self._structure.skip(self.mark, upto)
        self._gap = True
        self.segments.append(Segment(kind, self.mark, upto, replacement=replacement))
        if replacement and kind == "dropped":
            self._decide(replacement)
            self.segments[-1].kind = "text"
            self._emit(replacement)
        self.mark = upto

    def take(self, draft: Draft, upto: int, *, fenced: bool = False, alone: bool = False, doubt: str = "") -> None:
        """Take the text from the mark to here for the calls of `draft`; the rest is as in a segment."""
        self._structure.skip(self.mark, upto)
        self._gap = True
        self.suspect(doubt or ("a call before it is only shown" if self._shows else ""))
        calls = tuple(draft.attempts)
        self.segments.append(Segment("calls", self.mark, upto, calls, fenced, alone, self._doubt, self.has_text))
        self._pending += fenced or alone
        self.lonely = self.lonely or alone
        self.attempts += len(draft.attempts)
        self.calls += len([1 for attempt in calls if attempt.failure is None])
        self.unfenced = self.unfenced or not fenced
        self.mark = upto

    @property
    def newest(self) -> Segment | None:
        last = self.segments[-1] if self.segments else None
        return last if last is not None and last.kind == "calls" else None

    def suspect(self, doubt: str) -> None:
        """Let all calls from here on ask, if there is a doubt."""
        self._doubt = self._doubt or (f"{MAYBE}: {doubt}" if doubt else "")

    def make_final(self, segment: Segment) -> None:
        """Let the calls of a segment start: nothing takes them back."""
        segment.final = self._started = True
        stood, around = self._stood(segment)
        for number, attempt in enumerate(segment.attempts, self.attempts - len(segment.attempts)):
            if attempt.failure is None:
                told = replace(attempt, stood=stood, around=around)
                self._events.append(model.CallFinal(parsed(number, told, self._src.text(attempt.start, attempt.end))))

    @property
    def cut_off(self) -> bool:
        """Tell whether the answer's end cut off the last of its calls."""
        last = self.segments[-1].attempts if self.segments else ()
        return bool(last) and last[-1].failure == "truncated"

    def extend(self, upto: int, value_end: int, call: Reopening) -> None:
        """Let the last call reach to here, its last value to `value_end`, with what was shown after it."""
        while self.segments[-1].kind != "calls":
            self.segments.pop()
        segment = self.segments[-1]
        delta = self._src.text(segment.attempts[-1].end, upto)
        self._events.append(model.CallArgumentsDelta(self.attempts - 1, delta))
        segment.attempts = (*segment.attempts[:-1], replace(segment.attempts[-1], end=upto))
        segment.longer = (call, value_end)
        segment.end = self.mark = upto
        self._structure.restart(upto)
        self.has_text = segment.follows_text

    def note(self, start: int, end: int, why: str, name: str | None = None) -> None:
        """Tell people why something was ignored; `name` is a tool that it seemed to call."""
        self.notes.append((start, end, why, name))
        self._shows = self._shows or name is not None

    def note_text(self, start: int, end: int, why: str, name: str | None = None) -> None:
        self.note(start, end, f"not taken as a call: {why}", name)

    def forget(self, upto: int) -> None:
        """Take all before the mark for reasoning, which ended here: no text and no calls, unless some have started."""
        if self._started:
            self.drop(upto)
            return
        self._renumber(self._attempts(), [])
        if any(map(str.strip, self._shown)):
            self._events.append(model.Rewritten(""))
        self._shown.clear()
        self.segments = [Segment("thought", 0, self.mark)]
        self.mark = upto
        self._structure.restart(upto)
        self.has_text = self.unfenced = self.lonely = self._shows = False
        self._gap = True
        self._pending, self._doubt = 0, ""
        self.notes.clear()

    def wait_no_more(self) -> None:
        """Tell of the text behind undecided calls, and from now on of all at once."""
        if self._pending:
            self._pending = 0
            self._tell_rest(self._content())

    def _decide(self, text: str) -> None:
        """Take calls that have to be alone for text where more text comes."""
        if text.isspace():
            return
        self.has_text = True
        if self._pending and any(segment.alone for segment in self.segments):
            self._renumber(self._attempts(), [])
            for segment in self.segments:
                if segment.kind == "calls":
                    self._demote(segment, self._no_call(segment))
            self._gap = self._gap and self.segments[-1].kind != "text"
            self.wait_no_more()

    def _emit(self, text: str) -> None:
        if text and not self._pending:
            self._shown.append(text)
            self._events.append(model.VisibleText(text))

    def _tell_rest(self, content: str) -> None:
        """Tell of the part of the text that was not told of yet, or, where it is other text, of all of it anew."""
        rest = unsaid(content, "".join(self._shown))
        if rest is None:
            self._events.append(model.Rewritten(content))
        elif rest.strip():
            self._emit(rest)

    def _attempts(self) -> list[CallAttempt]:
        return [attempt for segment in self.segments for attempt in segment.attempts]

    def _demote(self, segment: Segment, why: str) -> None:
        name = next((attempt.name for attempt in segment.attempts if attempt.known), None)
        self.note_text(segment.start, segment.end, why, name)
        segment.kind, segment.attempts = "text", ()
        segment.replacement = self._src.text(segment.start, segment.end)  # nothing is added to it

    def finish(self, tools: ToolSchemas, level: model.ReadingLevel, cut_short: bool) -> model.ScanResult:
        """Decide what was provisional and make the result; `cut_short` when a token limit ended the answer."""
        for segment in self.segments:
            if segment.longer is not None and segment.attempts:
                call, end = segment.longer
                arguments = call.arguments(self._src.text(call.begin, end))
                segment.attempts = (*segment.attempts[:-1], replace(segment.attempts[-1], arguments=arguments))
        before = self._attempts()
        self._judge(tools, level)
        attempts = self._attempts()
        if cut_short and attempts and attempts[-1].failure is None and not attempts[-1].closed:
            why = "the token limit was reached before the call was closed"
            attempts[-1] = replace(attempts[-1], failure="truncated", why=why, arguments=None)
        self._renumber(before, attempts)
        self._pending = 0
        self._tell_rest(content := self._content().strip())
        thoughts = (segment for segment in self.segments if segment.kind == "thought")
        reasoning = "\n\n".join(text for segment in thoughts if (text := self._text_of(segment).strip()))
        silent = not any(name for *_, name in self.notes) and all(attempt.failure is not None for attempt in attempts)
        if silent and (seen := mentioned(content, tools, unmarked=level != "none")):  # none is lost in silence
            begin, end, name = seen
            start = self._src.text(0, self._src.length).find(content[begin:end])
            self.note_text(start, start + end - begin, WHY, name)
        calls, problems = concluded(attempts, self.notes, self._src.text(0, self._src.length))
        failed: list[model.ErrorKind] = [one.failure for one in attempts if one.failure is not None]
        error: model.ErrorKind | None = "truncated" if "truncated" in failed else next(iter(failed), None)
        return model.ScanResult(calls, content, reasoning, error, calls[0].form if calls else None, problems)

    def _judge(self, tools: ToolSchemas, level: model.ReadingLevel) -> None:
        """Decide by where they stand which calls are text, and which a person has to judge."""
        said = self.goes_on
        for segment in reversed(self.segments):
            if segment.kind == "calls" and (why := self._no_call(segment)):
                self._demote(segment, why)
            elif segment.kind == "calls" and segment.attempts:
                place = segment.doubt
                if said and not segment.final and place in ("", f"{MAYBE}: {NO_SENTENCE}"):
                    place = f"{MAYBE}: text follows it"
                stood, around = self._stood(segment, "before other text" if said else "at the end of the answer")
                for one in segment.attempts:
                    bare = level != "all" and not one.marked  # unless the model is known to write so
                    bare = bare and (one.dialect != self._licensed or FAMILIES[one.dialect].marked)
                    mended = model.UNQUOTED if model.UNQUOTED in one.repaired else None
                    one.stood, one.around = stood, around
                    one.asks = place or (model.UNMARKED if bare else mended)
            said = said or (segment.kind == "text" and bool(self._text_of(segment).strip()))
        unmarked = [one for one in self._attempts() if not (one.marked or one.asks)]
        fences = (self._src.text(start, min(end, start + _LONG)) for start, end in self.shown_fences[:_FENCES])
        if unmarked and (self._shows or any(mentioned(fence, tools, unmarked=True) for fence in fences)):
            for one in unmarked:  # in an answer that shows a call, wherever, it may be shown too
                one.asks = f"{MAYBE}: another call of the answer is only shown"

    def _stood(self, segment: Segment, behind: str = "") -> tuple[str, tuple[int, int] | None]:
        """Return where a segment's calls stand, in words, and where its one call does with its marks."""
        where, lead = "at the start of the answer", ""
        if segment.follows_text:
            lead = self._src.text(max(0, segment.start - LOOKAHEAD), segment.start).strip().rpartition("\n")[2]
            where = f"behind “{lead[-_SHOWN:]}”" if lead else where
        elif behind == "at the end of the answer":
            where, behind = "as all of the answer", ""
        around = (segment.start, segment.end) if len(segment.attempts) == 1 else None
        return ", ".join(filter(None, (where, behind, "in a fence" if segment.fenced else ""))), around

    def _no_call(self, segment: Segment) -> str:
        if segment.alone and self.has_text:
            known = any(one.known for one in segment.attempts)
            return "nothing marks it as one, and the answer holds other text" if known else NO_TOOL
        return "an example in a fence" if segment.fenced and self.unfenced and not self._started else ""

    def _renumber(self, before: list[CallAttempt], after: list[CallAttempt]) -> None:
        """Tell what changed: calls that are none after all are retracted, and so are those whose index moves."""
        self.attempts = len(after)
        pairs = zip(before, after, strict=False)
        same = next(
            (n for n, (one, two) in enumerate(pairs) if (one.failure, one.start) != (two.failure, two.start)),
            min(map(len, (before, after))),
        )
        for index, attempt in enumerate(before[same:], same):
            if attempt.failure is None:
                self._events.append(model.CallRetracted(index))
        for index, attempt in enumerate(after[same:], same):
            if attempt.failure is None and attempt.name:
                self._events.append(model.CallNamed(index, attempt.name, attempt.dialect))

    def _content(self) -> str:
        written: list[str] = []
        gap = False
        for segment in self.segments:
            text = self._text_of(segment) if segment.kind == "text" else ""
            text = closed_up(text, written) if gap and text else text
            gap = segment.kind != "text" or (gap and not text.strip("\r\n"))
            if text:
                written.append(text)
        return "".join(written)

    def _text_of(self, segment: Segment) -> str:
        return segment.replacement if segment.replacement is not None else self._src.text(segment.start, segment.end)


def closed_up(text: str, before: list[str]) -> str:
    """The text without line breaks that would make more than one blank line of those that end what is before it."""
    if text[:1] not in ("\n", "\r"):
        return text
    shown = 0
    for piece in reversed(before):
        kept = piece.rstrip("\r\n")
        shown += piece.count("\n", len(kept))
        if kept or shown > 1:
            break
    else:
        shown = 2
    rest = text.lstrip("\r\n")
    breaks = text.count("\n", 0, len(text) - len(rest))
    return text if shown + breaks <= 2 else "\n" * max(0, 2 - shown) + rest


def unsaid(content: str, shown: str) -> str | None:
    """The rest of a text of which the beginning is shown, whatever its white space; None where that is another text."""
    for head in (shown, shown.lstrip(), shown.strip()):
        if content.startswith(head):
            return content[len(head) :]
    letters, seen, end = "".join(shown.split()), 0, 0
    for found in _WORD.finditer(content):
        if seen == len(letters):
            break
        word = found.group()[: len(letters) - seen]
        if not letters.startswith(word, seen):
            return None
        seen, end = seen + len(word), found.start() + len(word)
    return content[end:] if seen == len(letters) else None


MOST_CALLS = 16_000  # of an answer: what is collected for many more of them keeps the garbage collector busy
ANYTHING = lazily(r"[\s\S]*")
_ENDS = any_of({*THINK_ENDS, *CHAT_TOKENS})
_LINE_ENDS = lazily(
    lambda: (
        rf"(?:[^\S\n]*+{CLOSE})*+[^\S\n]*+(?:\n|(?:{OPEN}|{BEGIN})"
        rf"|(?P<words>[^\s<\[\]◁⟨]|(?!(?:{HALF_MARK}|{HALF_BEGIN})\Z)[<\[\]◁⟨]))"
    )
)
"""A pattern of the text behind a call on its line: the end of the line or another call; or words."""
BEHIND = lazily(
    lambda: (
        rf"(?:\s*+{CLOSE})*+[ \t]*+(?:[,;|}}\]][ \t]*+)*+"
        rf"(?:(?P<words>[^\s<\[\]{{}},;|]|<[-!=]|\[\^?\d|(?!{_ENDS}|{CLOSE})</[\w:.-]{{1,40}}[\s>])"
        rf"|(?:[^\S\n]*+\n\s*+(?=\S)|(?=[<\[{{])(?!</|<\Z|\[\^?\Z))(?!{CLOSE}|{HALF}\Z))"
    )
)
"""A pattern of the text behind an unmarked call on its line: words; or what separates it from the next; or nothing."""


@dataclass
class ScanState:
    """The state of a scan, whose first fields are as of a Scanner."""

    src: Source
    tools: ToolSchemas
    read_inner: "Callable[[ScanState, str], ScanOutput]"
    prefer: str | None = None
    level: model.ReadingLevel = "all"
    licensed: str | None = None
    thinks: bool = False  # reasoning that the prompt opened may still go on
    thought: bool = False  # such ended
    inner: bool = False  # the answer is in reasoning that may hold calls
    held: bool = False  # what is being read may not be text, so it is not shown yet
    in_fence: bool = False  # the text is the body of a fence, where calls may stand on lines of their own
    blocked: bool = False  # from here on calls are made up
    shown_section: bool = False
    section: str = ""  # the token that began a section of calls
    idle: int = 0  # openers that opened no call
    running: bool = False  # what comes is running text, until something opens
    unended: int = 0  # before this offset the call that may be reopened does not end
    gave_up: str = ""  # why something that is too much is not read
    draft: Draft | None = None
    reopening: Reopening | None = None
    last_row: Dialect | None = None
    last_family: str = ""
    unclosed_code: dict[int, int] = field(default_factory=dict[int, int])
    foreign: set[str] = field(default_factory=set[str])  # names that proved to be those of no tool

    def __post_init__(self) -> None:
        self._events: list[model.ScanEvent] = []
        self.structure = Structure(self.src)
        self.output = ScanOutput(self.src, self._events, self.structure, self.licensed)

    def place(self) -> Place:
        return self.structure.at(self.src.at)

    def flush(self) -> list[model.ScanEvent]:
        events = list(self._events)
        self._events.clear()
        return events

    def new_draft(self, dialect: str, *, marked: bool | None = None, mute: bool = False) -> Draft:
        """Begin a region; `marked`: a marker opened it, whatever its dialect says. A `mute` one tells of nothing."""
        marked = FAMILIES[dialect].row.marked if marked is None else marked
        base, mute = self.output.attempts, mute or self.level == "none"
        self.draft = Draft(self.src, self.tools, dialect, base, self._events, marked, mute)
        return self.draft

    def family(self, row: Dialect, token: str = "") -> str:
        """Return the family of a row whose calls are read: the one that the model is known or was asked to write, else
        that of the calls before, else the one with this token or section."""
        if self.prefer is not None and (family := FAMILIES.get(self.prefer)) and family.row is row:
            return self.prefer
        if self.last_row is not row or not self.last_family:
            self.last_row, self.last_family = row, family_of(row, self.section, token)
        return self.last_family

    def read_body(self, row: Dialect, region: Region, marked: bool | None = None, mute: bool = False) -> Reading[Draft]:
        """Let a row's grammar read what follows; nothing is concluded yet. The rest is as for `new_draft`."""
        draft = self.new_draft(self.family(row, region.token), marked=marked, mute=mute)
        yield from row.body.read(self.src, region, draft)
        return draft

    def conclude(
        self, draft: Draft, shown: str = "", doubt: str = "", *, fenced: bool = False, alone: bool = False,
        place: Place | None = None,
    ) -> None:  # fmt: skip
        """Let the calls of a region that was read up to here count; where it has none, it is text. `shown` says why it
        is text in any case, "" when it isn't; `fenced`, `alone` and `doubt` as in a segment."""
        why = (shown if self.level != "none" else "") or self._withheld(draft)
        if why:
            if draft.attempts:
                if draft.attempts[-1].failure is None:
                    self.structure.skip(self.output.mark, self.src.at, floor=False)
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
        """As `conclude`, but unmarked calls beside words on their line ask; between words, or broken, they are text."""
        place, doubt = self.structure.at(self.output.mark), ""
        if not shown and not draft.marked:
            found = None if draft.reopening else (yield from self.src.match(BEHIND))  # else a value may go on
            words = (found and found["words"]) or ""
            if words or not place.line_start:
                doubt = IN_SENTENCE
                between = not place.line_start and words not in ("", place.line) and not words.startswith("</")
                shown = doubt if between or any(one.failure for one in draft.attempts) else ""
        self.conclude(draft, shown, doubt, alone=alone, place=place)

    def start_calls(self) -> Reading[None]:
        """Make the newest calls final, if they are in the model's form, with an end of their own, at a clean place, and
        with only white space or another call behind them on their line."""
        newest, output = self.output.newest, self.output
        if newest is None or newest.final or output.lonely or newest.doubt or self.thinks:
            return
        own = self.licensed and not FAMILIES[self.licensed].marked  # whose calls have no marker
        whole = all(one.failure is None and one.closed and not one.repaired for one in newest.attempts)
        if whole and all(one.dialect == self.licensed and (one.marked or own) for one in newest.attempts):
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

    def cut(self, token: str, place: Place) -> Reading[None]:
        """Drop a result that only an endpoint could have written, and all that follows, for it is made up. Where no
        call came before it may be ordinary text; it stays, but no call after it counts."""
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

"""The output of a scan: what each stretch of the answer turned out to be, what was shown, and the result at the end."""

from dataclasses import dataclass, replace
from typing import Literal

from console_app.textcalls.bodies.draft import CallAttempt, Draft, Note, Reopening, concluded, parsed
from console_app.textcalls.dialects.table import FAMILIES
from console_app.textcalls.mentions import WHY, mentioned
from console_app.textcalls.model import (
    UNMARKED,
    CallArgumentsDelta,
    CallFinal,
    CallNamed,
    CallRetracted,
    ErrorKind,
    ReadingLevel,
    Rewritten,
    ScanEvent,
    ScanResult,
    VisibleText,
)
from console_app.textcalls.openings.position import NO_SENTENCE, Structure
from console_app.textcalls.patterns import lazily
from console_app.textcalls.source import LOOKAHEAD, Source
from console_app.textcalls.tool_schemas import ToolSchemas

IN_SENTENCE = "it is part of a sentence"
MAYBE = "maybe quoted"
FOLLOWED = f"{MAYBE}: text follows it"
BEHIND = f"{MAYBE}: a call before it is only shown"
BESIDE = f"{MAYBE}: another call of the answer is only shown"
EXAMPLE = "an example in a fence"
BESIDE_TEXT = "nothing marks it as one, and the answer holds other text"
NO_TOOL = "no tool has this name"
LAST = "at the end of the answer"
_FENCES, _LONG = 100, 16_000  # that are looked at for calls that they show, and characters of each
_SHOWN = 60  # characters of the text around a call that are told of
_WORD = lazily(r"\S+")


@dataclass(slots=True)
class Segment:
    """A stretch of the answer. Its calls count only if there is no other (`fenced`), or no text (`alone`); `doubt` says
    why they may be quoted. `follows_text`: text stands before them. `replacement` replaces the text of a segment that
    is shown otherwise. `longer`: the value of the last call goes on to an offset, which is decoded once, at the end.
    `final`: its calls may have started.
    """

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

    def __init__(self, src: Source, events: list[ScanEvent], structure: Structure, licensed: str | None) -> None:
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
        last = self._last_text
        if last is not None and last.end == self.mark:
            last.end = upto
        else:
            self.segments.append(Segment("text", self.mark, upto))
        self.mark = upto

    @property
    def _last_text(self) -> Segment | None:
        last = self.segments[-1] if self.segments else None
        return last if last is not None and last.kind == "text" and last.replacement is None else None

    def run_on(self, text: str) -> bool:
        """Take what is surely text, if text stands before it."""
        last = self._last_text
        if last is None or self._gap or not self.has_text or self._pending:
            return False
        self.mark += len(text)
        last.end = self.mark
        self._shown.append(text)
        return True

    def drop(self, upto: int, kind: Literal["thought", "dropped"] = "dropped", replacement: str | None = None) -> None:
        """What stands from the mark to here is not shown."""
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

    def take(self, draft: Draft, upto: int, *, fenced: bool = False, alone: bool = False, doubt: str = "") -> Segment:
        """What stands from the mark to here are the calls of `draft`, if there is no other call where they are
        `fenced`, and nothing else at all where they have to be `alone`. `doubt` says why they may be quoted.
        """
        self._structure.skip(self.mark, upto)
        self._gap = True
        self.suspect(doubt)
        self._doubt = self._doubt or (BEHIND if self._shows else "")
        new = Segment("calls", self.mark, upto, tuple(draft.attempts), fenced, alone, self._doubt, self.has_text)
        self.segments.append(new)
        self._pending += fenced or alone
        self.lonely = self.lonely or alone
        self.attempts += len(draft.attempts)
        self.calls += draft.calls
        self.unfenced = self.unfenced or not fenced
        self.mark = upto
        return new

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
        for number, attempt in enumerate(segment.attempts, self.attempts - len(segment.attempts)):
            if attempt.failure is None:
                told = replace(attempt, stood=self._stood(segment))
                self._events.append(CallFinal(parsed(number, told, self._src.text(attempt.start, attempt.end))))

    @property
    def cut_off(self) -> bool:
        """Tell whether the answer's end cut off the last of its calls."""
        last = self.segments[-1].attempts if self.segments else ()
        return bool(last) and last[-1].failure == "truncated"

    def extend(self, upto: int, value_end: int, call: Reopening) -> None:
        """The last call reaches to here, its last value to `value_end`; what was shown after it was not text."""
        while self.segments[-1].kind != "calls":
            self.segments.pop()
        segment = self.segments[-1]
        delta = self._src.text(segment.attempts[-1].end, upto)
        self._events.append(CallArgumentsDelta(self.attempts - 1, delta))
        segment.attempts = (*segment.attempts[:-1], replace(segment.attempts[-1], end=upto))
        segment.longer = (call, value_end)
        segment.end = self.mark = upto
        self._structure.restart(upto)
        self.has_text = segment.follows_text

    def note(self, start: int, end: int, why: str, name: str | None = None) -> None:
        """Something was ignored, and people may want to know why; `name` is a tool that it seemed to call."""
        self.notes.append((start, end, why, name))
        self._shows = self._shows or name is not None

    def note_text(self, start: int, end: int, why: str, name: str | None = None) -> None:
        self.note(start, end, f"not taken as a call: {why}", name)

    def forget(self, upto: int) -> None:
        """All before the mark was reasoning, which what stands from there to here ended: no text, no calls, unless
        some have started.
        """
        if self._started:
            self.drop(upto)
            return
        self._retract()
        if any(map(str.strip, self._shown)):
            self._events.append(Rewritten(""))
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
        self._pending = 0
        self._tell_rest(self._content())

    def _decide(self, text: str) -> None:
        """More text comes: calls that have to be alone are none, and are told of as the text that they are."""
        if text.isspace():
            return
        self.has_text = True
        if self._pending and any(segment.alone for segment in self.segments):
            self._retract()
            for segment in self.segments:
                if segment.kind == "calls":
                    self._demote(segment, self._no_call(segment))
            self._gap = self._gap and self.segments[-1].kind != "text"
            self.wait_no_more()

    def _retract(self) -> None:
        for index, attempt in enumerate(self._attempts()):
            if attempt.failure is None:
                self._events.append(CallRetracted(index))
        self.attempts = 0

    def _emit(self, text: str) -> None:
        if text and not self._pending:
            self._shown.append(text)
            self._events.append(VisibleText(text))

    def _tell_rest(self, content: str) -> None:
        """Tell of the part of the text that was not told of yet, or, where it is other text, of all of it anew."""
        rest = unsaid(content, "".join(self._shown))
        if rest is None:
            self._events.append(Rewritten(content))
        elif rest.strip():
            self._emit(rest)

    def _attempts(self) -> list[CallAttempt]:
        return [attempt for segment in self.segments for attempt in segment.attempts]

    def _demote(self, segment: Segment, why: str) -> None:
        name = next((attempt.name for attempt in segment.attempts if attempt.known), None)
        self.note_text(segment.start, segment.end, why, name)
        segment.kind, segment.attempts = "text", ()
        segment.replacement = self._src.text(segment.start, segment.end)  # nothing is added to it

    def finish(self, tools: ToolSchemas, level: ReadingLevel, cut_short: bool) -> ScanResult:
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
            start = self._src.text(0, self._src.length).find(content[seen.start : seen.end])
            self.note_text(start, start + seen.end - seen.start, WHY, seen.name)
        calls, problems = concluded(attempts, self.notes, self._src.text(0, self._src.length))
        failed = {one.failure for one in attempts}
        error: ErrorKind | None = "truncated" if "truncated" in failed else "invalid" if "invalid" in failed else None
        return ScanResult(calls, content, reasoning, error, calls[0].form if calls else None, problems)

    def _judge(self, tools: ToolSchemas, level: ReadingLevel) -> None:
        """Decide by where they stand which calls are text, and which a person has to judge."""
        said = self.goes_on
        for segment in reversed(self.segments):
            if segment.kind == "calls" and (why := self._no_call(segment)):
                self._demote(segment, why)
            elif segment.kind == "calls" and segment.attempts:
                place = segment.doubt
                if said and not segment.final and place in ("", f"{MAYBE}: {NO_SENTENCE}"):
                    place = FOLLOWED
                stood = self._stood(segment, "before other text" if said else LAST)
                for one in segment.attempts:
                    bare = level != "all" and not one.marked  # unless the model is known to write so
                    bare = bare and (one.dialect != self._licensed or FAMILIES[one.dialect].marked)
                    one.stood, one.asks = stood, place or (UNMARKED if bare else None)
            said = said or (segment.kind == "text" and bool(self._text_of(segment).strip()))
        unmarked = [one for one in self._attempts() if not (one.marked or one.asks)]
        fences = (self._src.text(start, min(end, start + _LONG)) for start, end in self.shown_fences[:_FENCES])
        if unmarked and (self._shows or any(mentioned(fence, tools, unmarked=True) for fence in fences)):
            for one in unmarked:  # in an answer that shows a call, wherever, it may be shown too
                one.asks = BESIDE

    def _stood(self, segment: Segment, behind: str = "") -> str:
        lead = self._src.text(max(0, segment.start - LOOKAHEAD), segment.start).strip().rpartition("\n")[2]
        where = f"behind “{lead[-_SHOWN:]}”" if segment.follows_text and lead else "at the start of the answer"
        if not segment.follows_text and behind == LAST:
            where, behind = "as all of the answer", ""
        return ", ".join(filter(None, (where, behind, "in a fence" if segment.fenced else "")))

    def _no_call(self, segment: Segment) -> str:
        if segment.alone and self.has_text:
            return BESIDE_TEXT if any(one.known for one in segment.attempts) else NO_TOOL
        return EXAMPLE if segment.fenced and self.unfenced and not self._started else ""

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
                self._events.append(CallRetracted(index))
        for index, attempt in enumerate(after[same:], same):
            if attempt.failure is None and attempt.name:
                self._events.append(CallNamed(index, attempt.name, attempt.dialect))

    def _content(self) -> str:
        written: list[str] = []
        gap = False
        for segment in self.segments:
            text = self._text_of(segment) if segment.kind == "text" else ""
            if gap and text:
                text = closed_up(text, written)
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
    for head in (shown, shown.lstrip()):
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

"""The output of a scan: what each stretch of the answer turned out to be, what was shown, and the result at the end."""

from bisect import bisect_right
from dataclasses import replace
from typing import Literal

from console_app.textcalls.bodies.draft import CallAttempt, Draft, Note, Reopening, concluded
from console_app.textcalls.mentions import WHY, mentioned
from console_app.textcalls.model import (
    CallArgumentsDelta,
    CallNamed,
    CallRetracted,
    ErrorKind,
    ReadingLevel,
    Rewritten,
    ScanEvent,
    ScanResult,
    VisibleText,
)
from console_app.textcalls.openings.position import Structure
from console_app.textcalls.openings.segments import (
    MAYBE_WRAPPED,
    Lead,
    Segment,
    closed_up,
    lead_of,
    says_something,
    unsaid,
    unwrap,
)
from console_app.textcalls.source import LOOKAHEAD, Source
from console_app.textcalls.tool_schemas import ToolSchemas

IN_SENTENCE = "it is part of a sentence"
LED = "maybe quoted: the line before it is no sentence"
FOLLOWED = "maybe quoted: text follows it"
BEHIND = "maybe quoted: a call before it is only shown"
EXAMPLE = "an example in a fence"
BESIDE = "another call of the answer is only shown"
BESIDE_TEXT = "nothing marks it as one, and the answer holds other text"
NO_TOOL = "no tool has this name"
_FENCES = 100  # that are looked at for calls that they show


class ScanOutput:
    """Keeps the segments in order and tells what becomes visible as soon as it is sure to be text."""

    def __init__(self, src: Source, events: list[ScanEvent], structure: Structure) -> None:
        self._src = src
        self._events = events
        self._structure = structure
        self.segments: list[Segment] = []
        self.mark = 0
        self.has_text = False
        self.attempts = 0
        self.calls = 0
        """How many calls were read so far, whatever became of them."""
        self.unfenced = False
        self.goes_on = False
        """Behind its last call the answer tells of results that it made up."""
        self.shown_fences: list[tuple[int, int]] = []
        """Fences that hold no call of the answer, but may show one."""
        self._notes: list[Note] = []
        self.shows = False
        """A call before the mark is only shown."""
        self._shown: list[str] = []
        """The text that was told of, in order."""
        self._tag = ""
        """The newest text, which is not told of yet: it may be the tag of a wrapper around a call."""
        self._waits_no_more = False
        self._gap = False
        """Something was taken out of the text here: what goes on after it begins with no heap of blank lines."""

    def show(self, upto: int) -> None:
        """Everything from the mark to here is text."""
        if upto <= self.mark:
            return
        text = self._src.text(self.mark, upto)
        self._decide(text)
        if self._gap:
            self._gap = not text.strip("\r\n")
            text = closed_up(text, [*self._shown, self._tag])
        self._emit(text)
        last = self._last_text
        if last is not None and last.end == self.mark:
            last.end = upto
        else:
            self.segments.append(Segment("text", self.mark, upto))
        self.mark = upto

    @property
    def _last_text(self) -> Segment | None:
        """The newest segment, if it is text as it was written."""
        last = self.segments[-1] if self.segments else None
        return last if last is not None and last.kind == "text" and last.replacement is None else None

    def run_on(self, text: str) -> bool:
        """Take text that is surely text, where it goes on with text; false where it doesn't."""
        last = self._last_text
        if last is None or self._gap or not self.has_text or self._tag or self._undecided:
            return False
        self.mark += len(text)
        last.end = self.mark
        self._shown.append(text)
        return True

    def drop(self, upto: int, kind: Literal["thought", "dropped"] = "dropped", replacement: str | None = None) -> None:
        """What stands from the mark to here is not shown."""
        self._structure.skip(self.mark, upto)
        self._gap = True
        after_words = kind == "dropped" and self.follows_words
        self.segments.append(Segment(kind, self.mark, upto, after_words=after_words, replacement=replacement))
        if replacement and kind == "dropped":
            self._decide(replacement)
            self.segments[-1].kind = "text"
            self._emit(replacement)
        self.mark = upto

    def take(self, draft: Draft, upto: int, *, fenced: bool = False, alone: bool = False) -> None:
        """What stands from the mark to here are the calls of `draft`, if there is no other call where they are
        `fenced`, and nothing else at all where they have to be `alone`.
        """
        self._structure.skip(self.mark, upto)
        self._gap = True
        new = Segment("calls", self.mark, upto, tuple(draft.attempts), fenced, alone, self.lead(), self.follows_words)
        new.follows_text = self.has_text
        self.segments.append(new)
        self.attempts += len(draft.attempts)
        self.calls += draft.calls
        self.unfenced = self.unfenced or not fenced
        self.mark = upto

    def lead(self) -> Lead:
        """How the text before the mark leads to what stands there, other calls between them or not."""
        for segment in reversed(self.segments):
            if segment.kind == "calls":
                return segment.led
            text = self._src.text(max(segment.start, segment.end - LOOKAHEAD), segment.end)
            if segment.kind == "thought" or (segment.kind == "text" and not text.isspace()):
                return lead_of(text) if segment.kind == "text" else ""
        return ""

    def part_of_sentence(self) -> bool:
        """Words follow on the line of the newest calls, or of what stands right behind them: these, and those before
        them up to words on that line, are part of a sentence, unless a value goes on there. Whether that is out of the
        question, for the sentence began before them.
        """
        began = False
        for segment in reversed(self.segments):
            if segment.kind == "calls" and (segment is self.segments[-1] or segment.after_words):
                segment.in_sentence, began = True, began or segment.after_words
            elif segment.kind == "calls" or self._has_words(segment):
                break
        return began

    def _has_words(self, segment: Segment) -> bool:
        return segment.kind == "text" and self._end_of(segment).strip() != ""

    def _end_of(self, segment: Segment) -> str:
        """The end of a text as it was written, for one of many refused calls is long: all of it is read only where
        its end is white space.
        """
        end = self._src.text(max(segment.start, segment.end - LOOKAHEAD), segment.end)
        return self._src.text(segment.start, segment.end) if end.isspace() else end

    @property
    def follows_words(self) -> bool:
        """Whether words stand before the mark on its line, or before the token of the section that it begins."""
        for index in range(len(self.segments) - 1, -1, -1):
            segment = self.segments[index]
            if segment.kind in ("calls", "dropped"):
                return segment.after_words
            if segment.kind == "thought":
                return False
            text = self._end_of(segment)
            if text.strip():
                return bool(text.rpartition("\n")[2].strip())
            if "\n" in text and (index == 0 or self.segments[index - 1].kind != "dropped"):
                return False
        return False

    @property
    def cut_off(self) -> bool:
        """Whether the answer's end cut off the last of its calls."""
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
        segment.longer, segment.in_sentence = (call, value_end), False
        segment.end = self.mark = upto
        self._structure.restart(upto)
        self.has_text = segment.follows_text

    def _lengthen(self, segment: Segment) -> None:
        """Decode the value that turned out to be longer."""
        if segment.longer is not None and segment.attempts:
            call, end = segment.longer
            arguments = call.arguments(self._src.text(call.begin, end))
            segment.attempts = (*segment.attempts[:-1], replace(segment.attempts[-1], arguments=arguments))
            segment.longer = None

    def note(self, start: int, end: int, why: str, name: str | None = None) -> None:
        """Something was ignored, and people may want to know why; `name` is a tool that it seemed to call."""
        self._notes.append((start, end, why, name))
        self.shows = self.shows or (name is not None and not why.endswith((EXAMPLE, BESIDE_TEXT)))

    def noted_since(self, offset: int) -> bool:
        """Whether something from `offset` on was told of."""
        return bool(self._notes) and self._notes[-1][0] >= offset

    def forget(self, upto: int) -> None:
        """All before the mark was reasoning, which what stands from there to here ended: no text, no calls."""
        self._retract()
        if any(map(str.strip, self._shown)):
            self._events.append(Rewritten(""))
        self._shown.clear()
        self._tag = ""
        self.segments = [Segment("thought", 0, self.mark)]
        self.mark = upto
        self._structure.restart(upto)
        self.has_text = self.unfenced = False
        self._gap = True
        self._notes.clear()
        self.shows = False
        self.shown_fences.clear()

    @property
    def _undecided(self) -> bool:
        """Whether what was read as calls may be text after all: what stands behind it is told of later."""
        return self.attempts > 0 and not self._waits_no_more

    def wait_no_more(self) -> None:
        """Tell of the text behind undecided calls, and from now on of all at once: there is too much of it."""
        self._waits_no_more = True
        self._tell_rest(self._content())

    def _decide(self, text: str) -> None:
        """More text comes: calls that have to be alone are none, and are told of as the text that they are."""
        if text.isspace():
            return
        self.has_text = True
        calls = [segment for segment in self.segments if segment.kind == "calls"]
        if calls and all(segment.alone for segment in calls):
            self._retract()
            for segment in calls:
                self._demote(segment, self._no_call(segment, said=True))
            self._gap = self._gap and self.segments[-1].kind != "text"
            self._tell_rest(self._content())

    def _retract(self) -> None:
        """None of the calls so far is one."""
        for index, attempt in enumerate(self._attempts()):
            if attempt.failure is None:
                self._events.append(CallRetracted(index))
        self.attempts = 0

    def _emit(self, text: str) -> None:
        if self._undecided:
            return
        text = self._tag + text
        tag = MAYBE_WRAPPED.search(text, max(0, len(text) - LOOKAHEAD))
        self._tag = tag.group() if tag else ""
        self._tell(text.removesuffix(self._tag))

    def _tell(self, text: str) -> None:
        if text:
            self._shown.append(text)
            self._events.append(VisibleText(text))

    def _tell_rest(self, content: str) -> None:
        """Tell of the part of the text that was not told of yet, or, where it is other text, of all of it anew."""
        shown, self._tag = "".join(self._shown), ""
        rest = unsaid(content, shown)
        if rest is None:
            self._events.append(Rewritten(content))
        elif rest.strip():
            self._tell(rest)

    def _attempts(self) -> list[CallAttempt]:
        return [attempt for segment in self.segments for attempt in segment.attempts]

    def _demote(self, segment: Segment, why: str) -> None:
        """These calls are text after all."""
        name = next((attempt.name for attempt in segment.attempts if attempt.known), None)
        self.note(segment.start, segment.end, f"not taken as a call: {why}", name)
        segment.kind, segment.attempts = "text", ()
        segment.replacement = self._src.text(segment.start, segment.end)  # nothing is added to it

    def finish(
        self, tools: ToolSchemas, level: ReadingLevel, cut_short: bool, asked_for: str | None = None
    ) -> ScanResult:
        """Decide what was provisional and make the result; `cut_short` when a token limit ended the answer,
        `asked_for` is the dialect that the model was asked to write.
        """
        for segment in self.segments:
            self._lengthen(segment)
        before = self._attempts()
        self._judge(level, asked_for)
        self._judge_beside_shown(tools)
        unwrap(self.segments, self._text_of)
        attempts = self._attempts()
        if cut_short and attempts and attempts[-1].failure is None and not attempts[-1].closed:
            why = "the token limit was reached before the call was closed"
            attempts[-1] = replace(attempts[-1], failure="truncated", why=why, arguments=None)
        self._renumber(before, attempts)
        content = self._content().strip()
        self._tell_rest(content)
        thoughts = (segment for segment in self.segments if segment.kind == "thought")
        reasoning = "\n\n".join(text for segment in thoughts if (text := self._text_of(segment).strip()))
        if not any(attempt.failure is None for attempt in attempts):
            self._notice(tools, level)
        calls, problems = concluded(attempts, self._notes, self._src.text(0, self._src.length))
        failed = {one.failure for one in attempts}
        error: ErrorKind | None = "truncated" if "truncated" in failed else "invalid" if "invalid" in failed else None
        return ScanResult(calls, content, reasoning, error, calls[0].dialect if calls else None, problems)

    def _judge(self, level: ReadingLevel, asked_for: str | None) -> None:
        """Decide by where they stand which calls are text, and which a person has to judge: those with other text
        behind them, those behind a line that is none of a sentence, and all behind one that a label leads to.
        """
        said = self.goes_on
        for segment in reversed(self.segments):
            if segment.kind == "calls":
                if why := self._no_call(segment, said, asked_for):
                    self._demote(segment, why)
                elif said or segment.led == "label" or (segment.led == "mark" and level == "marked"):
                    doubt = FOLLOWED if said else LED
                    segment.attempts = tuple(replace(one, doubt=doubt) for one in segment.attempts)
            said = said or (segment.kind == "text" and says_something(self._text_of(segment)))
        labelled = False
        for segment in self.segments:
            if labelled:
                segment.attempts = tuple(replace(one, doubt=one.doubt or LED) for one in segment.attempts)
            labelled = labelled or segment.led == "label"

    def _judge_beside_shown(self, tools: ToolSchemas) -> None:
        """A call in an answer that shows one may be shown too: what nothing marks is text, what is marked is text right
        behind it and asks further on.
        """
        unmarked = any(not attempt.marked for segment in self.segments for attempt in segment.attempts)
        fences = (self._src.text(*span) for span in self.shown_fences[:_FENCES])
        if not self.shows and not (unmarked and any(mentioned(one, tools, unmarked=True) for one in fences)):
            return
        ends = sorted(end for _, end, _, name in self._notes if name)
        shown = -1
        for segment in self.segments:
            if not any(attempt.failure is None for attempt in segment.attempts):
                continue
            before = bisect_right(ends, segment.start)
            shown = max(shown, ends[before - 1] if before else -1)
            behind = 0 <= shown > segment.start - LOOKAHEAD and not self._src.text(shown, segment.start).strip()
            if behind or not all(attempt.marked for attempt in segment.attempts):
                self._demote(segment, BESIDE)
                shown = segment.end
            elif shown >= 0:
                segment.attempts = tuple(replace(one, doubt=BEHIND) for one in segment.attempts)

    def _no_call(self, segment: Segment, said: bool, asked_for: str | None = None) -> str:
        """Why calls are text after all. `said`: text follows them; then a fence to which a line leads shows something,
        unless the model was asked for what it holds.
        """
        if segment.in_sentence:
            return IN_SENTENCE
        if segment.alone and self.has_text:
            return BESIDE_TEXT if any(one.known for one in segment.attempts) else NO_TOOL
        shown = said and segment.led and all(one.dialect != asked_for for one in segment.attempts)
        return EXAMPLE if segment.fenced and (self.unfenced or shown) else ""

    def _notice(self, tools: ToolSchemas, level: ReadingLevel) -> None:
        """Where no call was read and nothing said why, what looks like one is told of."""
        if not any(name for *_, name in self._notes) and (
            found := mentioned(content := self._content().strip(), tools, unmarked=level != "none")
        ):
            start = self._src.text(0, self._src.length).find(content[found.start : found.end])
            self.note(start, start + found.end - found.start, f"not taken as a call: {WHY}", found.name)

    def _renumber(self, before: list[CallAttempt], after: list[CallAttempt]) -> None:
        """Tell what changed: calls that are none after all are retracted, and so are those whose index moves."""
        self.attempts = len(after)
        if [one.failure for one in before] == [one.failure for one in after]:
            return
        for index, attempt in enumerate(before):
            if attempt.failure is None:
                self._events.append(CallRetracted(index))
        for index, attempt in enumerate(after):
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

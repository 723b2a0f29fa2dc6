"""Print a run: its answer as text, one JSON object at the end, or every event as a line of JSON.

A writer sees each event after the transcript has folded it in. Standard output carries the answer alone; standard error
gets a line for everything else that happens.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, Self, assert_never

from pydantic import BaseModel, ConfigDict

from console_app.domain import (
    Artifact,
    AssistantMessage,
    Message,
    Outcome,
    event_news,
    one_line,
    plural,
    safe_text,
    visible,
    web_address,
)
from console_app.domain import events as ev
from console_app.domain.transcript import CallView, Transcript, verdicts
from console_app.headless.output import OutputStreams

_JOINER = "\u200d"
_SELECTORS = range(0xFE00, 0xFE10)
_TAKES_SELECTOR = frozenset("#*0123456789\r")  # of ASCII: keycap emoji, and CR before LF
_LONGEST = 64  # characters held back at most; no emoji is longer
_LONGEST_LINE = 4000  # characters that a call has written of a line, and that are kept until it ends
_MOST_WRITTEN = 200_000  # characters that are shown of what a running call writes
_OF_A_LINE = 50  # characters that a line counts for by itself
OutputFormat = Literal["text", "json", "stream-json"]


class SafeStream:
    """Makes text safe while it streams: what a character means can depend on the one that comes after it. A CR LF, or
    an emoji joined of several characters, may be cut between two pieces; `visible` on each piece alone would mark its
    joiners as foreign. So the few characters that could still belong together are held back."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return the part of the text up to now that can be shown."""
        text = self._held + piece
        cut = _cut(text)
        self._held = text[cut:]
        return visible(text[:cut])

    def flush(self) -> str:
        """Return the rest, at the end of the text."""
        text, self._held = self._held, ""
        return visible(text)


def _cut(text: str) -> int:
    """Return where `text` can be parted: behind its end when nothing can join its last character."""
    if not text or (text[-1].isascii() and text[-1] not in _TAKES_SELECTOR):
        return len(text)
    for at in range(len(text) - 1, max(0, len(text) - _LONGEST), -1):
        before, after = text[at - 1], text[at]
        if after != _JOINER and ord(after) not in _SELECTORS and before not in (_JOINER, "\r"):
            return at
    return len(text) if len(text) > _LONGEST else 0


class Writer(Protocol):
    """Prints a run."""

    def write(self, event: ev.Event) -> None:
        """Take one event, in order."""

    def finish(self) -> None:
        """Print the rest: the run is over, however it ended."""


def _tell_page(output: OutputStreams, event: ev.Event) -> None:
    """Print the page that a server wants opened, and that nobody saw: JSON is read by programs."""
    match event:
        case ev.CallAnswered():
            said = f"A server asks: {event.what} · {event.how}"
        case ev.CallFinished():
            said = event.error or ""
        case _:
            return
    if web_address.length_of(said, 0):
        output.error_line(one_line(said, web_address.length_of(said, 0)))


class StreamJsonWriter:
    """Prints every event as a line of JSON, at once."""

    def __init__(self, output: OutputStreams) -> None:
        self._output = output

    def write(self, event: ev.Event) -> None:
        self._output.out(safe_text.json_line(event.model_dump()) + "\n")
        _tell_page(self._output, event)

    def finish(self) -> None:
        """Do nothing: every event was printed as it came."""


class JsonWriter:
    """Prints one JSON object when the run is over; `report` makes it, with the texts of the notices."""

    def __init__(self, output: OutputStreams, report: Callable[[Sequence[str]], dict[str, Any]]) -> None:
        self._output = output
        self._report = report
        self._notices: list[str] = []

    def write(self, event: ev.Event) -> None:
        if isinstance(event, ev.Notice) and event.level != "debug" and not event.agent:
            self._notices.append(event.text)
        _tell_page(self._output, event)

    def finish(self) -> None:
        self._output.out(safe_text.json_line(self._report(self._notices)) + "\n")


class TextWriter:
    """Prints the answer as it streams, and a line to standard error for each call that ended and each notice. With
    `shows_output`, so is each line that a call writes while it runs, as far as a person may want to read them."""

    def __init__(self, output: OutputStreams, transcript: Transcript, shows_output: bool = False) -> None:
        self._output = output
        self._shows_output = shows_output
        self._unfinished: dict[str, str] = {}  # by call: its newest line, as far as it was written
        self._written_by = Counter[str]()  # by call: characters
        self._left_out = Counter[str]()  # by call: lines
        self._transcript = transcript
        self._questions = Questions(transcript)
        self._stream = SafeStream()
        self._shown = ""  # of this answer
        self._at_line_start = True
        self._anything = False

    def write(self, event: ev.Event) -> None:
        if event_news.is_inside(event):
            return
        match event:
            case ev.TextDelta():
                self._text(event.text)
            case ev.TextRevised():
                self._revised(event.text)
            case ev.CallAnnounced():
                self._put(self._stream.flush())  # nothing more comes to what is held back
            case ev.MessageAdded():
                if event.role != "assistant":
                    return
                if not self._shown and event.content and event.label is None:
                    self._text(event.content)
                self._end_answer()
            case ev.CallOutput():
                if self._shows_output:
                    self._written(event.call_id, event.text)
            case ev.CallFinished():
                self._questions.over()
                if self._unfinished.get(event.call_id):
                    self._written(event.call_id, "\n")
                self._unfinished.pop(event.call_id, None)
                if call := self._transcript.calls.get(event.call_id):
                    if more := self._left_out.pop(call.id, 0):
                        self._line(f"{_label(call)}: … it wrote {plural(more, 'more line')}")
                    self._line(call_line(call), call.indent)
            case ev.CallAnswered():
                if line := self._questions.line(event):
                    self._line(line)
            case ev.Thought():
                self._line(f"{event.label}: {event.text}")
            case ev.RetryScheduled():
                of = f" of {event.most}" if event.most else ""
                self._line(f"Retrying in {event.delay:.1f} s (attempt {event.attempt}{of}): {event.why}")
            case ev.HistoryCompacted():
                self._line(event.line)
            case ev.Notice():
                if event.level != "debug":
                    self._line(event.text)
            case (
                ev.Untold() | ev.TurnStarted() | ev.StepStarted() | ev.ReasoningDelta() | ev.ThoughtDelta()
                | ev.CallArguments() | ev.CallDropped() | ev.CallReady()
                | ev.ApprovalRequested() | ev.ApprovalResolved() | ev.CallQueued() | ev.CallStarted()
                | ev.CallProgress() | ev.CallLog() | ev.CallExtended()
                | ev.CallDetached() | ev.CallRestarted() | ev.QuestionAsked()
                | ev.CallAsked() | ev.TodoChanged() | ev.BatchFinished() | ev.UsageReported() | ev.TurnFinished()
                | ev.TurnUndone()
            ):  # fmt: skip
                pass
            case _:
                assert_never(event)

    def finish(self) -> None:
        self._end_answer()

    def _written(self, call_id: str, text: str) -> None:
        if (call := self._transcript.calls.get(call_id)) is None:
            return
        whole, end, rest = (self._unfinished.get(call_id, "") + text).rpartition("\n")
        self._unfinished[call_id] = rest[-_LONGEST_LINE:]
        if self._written_by[call_id] > _MOST_WRITTEN:
            self._left_out[call_id] += whole.count("\n") + len(end)
            return
        for line in safe_text.plain_lines(whole + end):
            self._written_by[call_id] += len(line) + _OF_A_LINE
            self._line(f"{_label(call)}: {line}")

    def _text(self, text: str) -> None:
        if not self._shown and self._anything:
            self._put("\n")  # a blank line between two answers of a turn
        self._shown += text
        self._put(self._stream.feed(text))

    def _revised(self, text: str) -> None:
        if text.startswith(self._shown):
            self._text(text[len(self._shown) :])
            return
        self._end_answer()  # what is printed can't be taken back: the mended text follows it
        if text:
            self._text(text)

    def _end_answer(self) -> None:
        if self._shown:
            self._put(self._stream.flush())
            if not self._at_line_start:
                self._put("\n")
        self._shown = ""

    def _put(self, text: str) -> None:
        if text:
            self._output.out(text)
            self._at_line_start = text.endswith("\n")
            self._anything = True

    def _line(self, text: str, indent: str = "") -> None:
        if self._output.one_terminal and not self._at_line_start:
            self._put("\n")
        self._output.error_line(indent + one_line(text, 400))


class ResultsWriter:
    """Prints the results of calls without a model, in call order, with a heading each when there are several. Those
    that a program made are its own."""

    def __init__(self, output: OutputStreams, transcript: Transcript) -> None:
        self._output = output
        self._transcript = transcript
        self._questions = Questions(transcript)

    def write(self, event: ev.Event) -> None:
        if isinstance(event, ev.CallFinished) and (call := self._transcript.calls.get(event.call_id)):
            self._questions.over()
            self._output.error_line(call.indent + one_line(call_line(call), 400))
        elif isinstance(event, ev.CallLog) and event.level not in ("debug", "info", "notice"):
            if call := self._transcript.calls.get(event.call_id):
                self._output.error_line(call.indent + one_line(f"{_label(call)}: {event.text}", 400))
        elif isinstance(event, ev.CallAnswered) and (line := self._questions.line(event)):
            self._output.error_line(one_line(line, 400))

    def finish(self) -> None:
        calls = [call for call in self._transcript.calls.values() if not call.parent]
        for number, call in enumerate(calls):
            heading = f"{'' if number == 0 else chr(10)}{one_line(_label(call))}\n" if len(calls) > 1 else ""
            self._output.out(heading + visible(call.content).removesuffix("\n") + "\n")


def call_line(call: CallView) -> str:
    """Write a finished call in one line: how it ended, its name, its result, how long it ran."""
    verdict = call.verdict or verdicts.Verdict(verdicts.VerdictWord.INTERRUPTED)
    arguments = json.dumps(call.arguments, ensure_ascii=False) if call.arguments else ""
    words = [verdict.glyph, _label(call)]
    if arguments:
        words.append(one_line(arguments, 80))
    if verdict.is_good or verdict.why:
        words += [f"· {verdict.why}"] if verdict.why else []
        words.append("→ " + one_line(call.content, 100))
    else:
        said = call.error or call.content
        ended = f"· {verdict.word}: {one_line(said, web_address.length_of(said, 160))}"
        words.append(ended.removesuffix(": "))  # what the program died on says nothing
    if call.duration_ms:
        words.append(f"· {call.duration_ms / 1000:.2f} s")
    return " ".join(words)


class Questions:
    """The questions of servers and their answers, a line each: one that may be for several calls is told once."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._answered: tuple[str, str, str] | None = None

    def over(self) -> None:
        """Count the same question as another one: a call has ended."""
        self._answered = None

    def line(self, event: ev.CallAnswered) -> str:
        """Return the line of a question that is over; "" when it was told right before."""
        call = self._transcript.calls.get(event.call_id)
        if call is None or self._answered == (call.server, event.what, event.how):
            return ""
        self._answered = (call.server, event.what, event.how)
        return f"? {call.server} asks: {one_line(event.what, web_address.length_of(event.what, 160))} · {event.how}"


def report(transcript: Transcript, *, session_id: str, notices: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a `json` run prints. `answer` is the text of the last answer; `messages` is the history it leaves."""
    answers = [one.content for one in transcript.history if isinstance(one, AssistantMessage) and one.label is None]
    usage, session, turn = transcript.usage, transcript.session, transcript.turn
    compaction = transcript.compaction
    return RunReport(
        session_id=session_id,
        provider=session.provider if session else "",
        model=session.model if session else "",
        outcome=turn.outcome if turn else None,
        error=turn.error if turn else None,
        answer=answers[-1] if answers else "",
        calls=tuple(CallReport.of(call, call_id=call.id) for call in transcript.calls.values()),
        usage=UsageReport.of(usage),
        compaction=compaction and CompactionReport.of(compaction),
        messages=tuple(transcript.history),
        notices=tuple(notices),
    ).model_dump()


def _label(call: CallView) -> str:
    return f"{call.server}.{call.tool}" if call.server else call.name


class Output(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def of(cls, source: object, **more: Any) -> Self:
        """Make an output of what `source` calls as the output's fields, and of `more`."""
        return cls(**{name: getattr(source, name) for name in cls.model_fields if name not in more}, **more)


class CallReport(Output):
    """Holds a call of the run and its result; `parent` is the id of the program that made it, empty where none did."""

    call_id: str
    name: str
    server: str
    tool: str
    arguments: dict[str, Any] | None
    outcome: Outcome | None
    content: str
    error: str | None
    artifacts: tuple[Artifact, ...]
    structured: dict[str, Any] | None
    duration_ms: int
    parent: str = ""


class UsageReport(Output):
    """Tokens of all requests, `cached_tokens` among the input; `cost` in US dollars where it is known."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int | None
    cost: float | None


class CompactionReport(Output):
    """The summary that the model reads in place of the oldest `covers` messages."""

    summary: str
    covers: int


class RunReport(Output):
    """`fanout run`, `fanout call` and `fanout program` with --output-format json. `messages` is the history that
    the run leaves."""

    session_id: str
    provider: str
    model: str
    outcome: ev.TurnOutcome | None
    error: str | None
    answer: str
    calls: tuple[CallReport, ...]
    usage: UsageReport
    compaction: CompactionReport | None
    messages: tuple[Message, ...]
    notices: tuple[str, ...] = ()  # what the run told besides, as that a text seems to call a tool and nothing was run

"""An answer's text as chunks: what is meant to be seen, and the calls that were written into it.

Calls are provisional until the answer has ended (a `</think>` may turn all before it into reasoning), so they are
announced as soon as their name is sure and closed only by `finish`; what proves to be none is dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from console_app.dialects import (
    CallArgumentsDelta,
    CallNamed,
    CallRetracted,
    ParsedCall,
    ReadingLevel,
    Rewritten,
    ScanEvent,
    Scanner,
    ScanProblem,
    ScanResult,
    ToolSignature,
    VisibleText,
)
from console_app.domain.ports.provider import (
    CallBroken,
    CallClosed,
    CallDelta,
    CallDropped,
    CallOpened,
    Chunk,
    FinishReason,
    NoticeChunk,
    ReasoningChunk,
    TextChunk,
    TextRevised,
)
from console_app.domain.tools import ToolSpec

UNMARKED = "unmarked in the answer's text: only its shape shows that it is a call"
QUOTED = "maybe quoted: it stands in what the model was given"
_ESCAPED_BLANK = re.compile(r"\\+[nrt]")


class AnswerReader:
    """Reads one answer. `raw` is all of its text so far, as it came. `level`: which calls are read from it; what is
    not read at its level is told in a notice. `inputs` are the texts that the model was given, as results of tools.
    `as_is`: the text is shown just as it came, with level "none".
    """

    def __init__(
        self,
        tools: Sequence[ToolSpec],
        prefer: str | None,
        level: ReadingLevel = "all",
        *,
        inputs: Sequence[str] = (),
        as_is: bool = False,
    ) -> None:
        self._level: ReadingLevel = level
        self._inputs = inputs
        self._as_is = as_is
        self._scanner = Scanner([ToolSignature(spec.name, spec.input_schema) for spec in tools], prefer, level)
        self._raw: list[str] = []
        self._shown: list[str] = []
        self._names: dict[int, str] = {}  # of the calls that are announced now

    @property
    def raw(self) -> str:
        """The answer's text as it came."""
        return "".join(self._raw)

    def feed(self, text: str) -> list[Chunk]:
        """The chunks that more text gives."""
        self._raw.append(text)
        chunks = self._chunks(self._scanner.feed(text))
        return [TextChunk(text)] if self._as_is else chunks

    def finish(self, reason: FinishReason | None) -> tuple[list[Chunk], bool]:
        """The chunks that the end gives, and whether the answer asked for calls. None: the answer was cut off."""
        result = self._scanner.finish("length" if reason in ("length", None) else reason)
        if self._as_is:
            return _left_as_text(result), False
        chunks = self._chunks(self._scanner.tail_events)
        if result.reasoning.strip():
            chunks.append(ReasoningChunk(result.reasoning.strip()))
        calls = self._calls(result)
        left = [] if self._level == "all" else _left_as_text(result)
        return [*chunks, *calls, *_notices(result), *left], bool(self._names)

    def withdraw(self) -> list[Chunk]:
        """No call of this text counts: announced ones are dropped, and the text is shown as it came."""
        if self._as_is:
            return []
        chunks: list[Chunk] = [CallDropped(index) for index in self._names]
        self._names.clear()
        raw, shown = self.raw, "".join(self._shown)
        if not raw.startswith(shown):
            chunks.append(TextRevised(raw))
        elif raw != shown:
            chunks.append(TextChunk(raw[len(shown) :]))
        return chunks

    def _chunks(self, events: Sequence[ScanEvent]) -> list[Chunk]:
        chunks: list[Chunk] = []
        for event in events:
            match event:
                case VisibleText(text):
                    self._shown.append(text)
                    chunks.append(TextChunk(text))
                case CallNamed(index, name, dialect):
                    chunks += self._open(index, name, dialect)
                case CallArgumentsDelta(index, text):
                    if index in self._names:
                        chunks.append(CallDelta(index, text))
                case CallRetracted(index):
                    if self._names.pop(index, None) is not None:
                        chunks.append(CallDropped(index))
                case Rewritten(content):
                    self._shown = [content]
                    chunks.append(TextRevised(content))
        return chunks

    def _open(self, index: int, name: str, dialect: str = "") -> list[Chunk]:
        if self._names.get(index) == name:
            return []
        before: list[Chunk] = [CallDropped(index)] if index in self._names else []
        self._names[index] = name
        return [*before, CallOpened(index, "", name, origin="text", dialect=dialect)]

    def _calls(self, result: ScanResult) -> list[Chunk]:
        """Every call attempted, in order: whole ones closed, the others broken with what was wrong and what ran."""
        calls = {call.index: call for call in result.calls}
        broken = {
            problem.index: problem
            for problem in result.problems
            if problem.index is not None and problem.index not in calls and problem.kind in ("truncated", "invalid")
        }
        given = [_folded(text) for text in self._inputs] if calls else []
        chunks: list[Chunk] = [
            CallDropped(index) for index in self._names if index not in calls and index not in broken
        ]
        self._names = {index: name for index, name in self._names.items() if index in calls or index in broken}
        for index in sorted({*calls, *broken}):
            if call := calls.get(index):
                arguments = json.dumps(call.arguments, ensure_ascii=False)
                chunks += self._open(index, call.name, call.dialect)
                why = self._must_ask(call, given)
                chunks.append(
                    CallClosed(index, arguments, raw=call.raw, repaired=call.repaired, sure=False, must_ask=why)
                )
            else:
                problem = broken[index]
                chunks += self._open(index, problem.name or "unreadable")
                chunks.append(CallBroken(index, _sentence(problem, result.calls), raw=problem.raw))
        return chunks

    def _must_ask(self, call: ParsedCall, given: Sequence[str]) -> str:
        if self._level != "all" and not call.marked:
            return UNMARKED
        return QUOTED if any(_stands_in(text, call) for text in given) else ""


def _sentence(problem: ScanProblem, calls: Sequence[ParsedCall]) -> str:
    """What was wrong with a call, where, and which of its siblings were read."""
    what = problem.message.strip().rstrip(".")
    cut = " It was cut off." if problem.kind == "truncated" and "cut off" not in what else ""
    read = [str(call.index + 1) for call in calls]
    if not read:
        others = "No other call of the answer was read."
    elif len(read) == 1:
        others = f"Call {read[0]} was read whole."
    else:
        others = f"Calls {', '.join(read[:-1])} and {read[-1]} were read whole."
    number = (problem.index or 0) + 1
    return f"{what} (line {problem.line}, column {problem.column}).{cut} Call {number} was NOT run. {others}"


def _notices(result: ScanResult) -> list[Chunk]:
    """What could not be read and has no place among the calls."""
    return [
        NoticeChunk(f"{problem.message} (line {problem.line}, column {problem.column} of the answer)", "warning")
        for problem in result.problems
        if problem.index is None and problem.kind in ("truncated", "invalid")
    ]


def _stands_in(text: str, call: ParsedCall) -> bool:
    """Whether a folded text holds the call as it was written, or its tool's name and each argument in any notation."""
    if _folded(call.raw) in text:
        return True
    return _folded(call.name) in text and all(
        re.search(re.escape(_folded(name)) + r"\W{0,8}" + re.escape(_folded(_written(value))), text)
        for name, value in (call.arguments or {"": {}}).items()
    )


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _folded(text: str) -> str:
    """Without blanks and backslashes: a model lays JSON out anew, and reads it out of JSON that holds it escaped."""
    return "".join(_ESCAPED_BLANK.sub(" ", text).replace("\\", "").split())


def _left_as_text(result: ScanResult) -> list[Chunk]:
    """What seems to call a tool there is, and was not read as a call: one notice for all of an answer."""
    left = [problem for problem in result.problems if problem.kind == "ignored" and problem.name is not None]
    if not left:
        return []
    first, more = left[0], f" So do {len(left) - 1} more places." if len(left) > 1 else ""
    return [
        NoticeChunk(
            f"The answer seems to call {first.name} in its text (line {first.line}); nothing was run. "
            f"{first.message}{more}"
        )
    ]

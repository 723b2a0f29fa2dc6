"""An answer's text as chunks: what is meant to be seen, and the calls that were written into it.

Calls are provisional until the answer has ended (a `</think>` may turn all before it into reasoning), so they are
announced as soon as their name is sure and closed only by `finish`; what proves to be none is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from console_app.dialects import (
    CallArgumentsDelta,
    CallRetracted,
    ParsedCall,
    Problem,
    Rewritten,
    ScanEvent,
    Scanner,
    ScanResult,
    ToolSignature,
    VisibleText,
)
from console_app.dialects import CallOpened as NameRead
from console_app.domain.ports import (
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


class AnswerReader:
    """Reads one answer. `raw` is all of its text so far, as it came."""

    def __init__(self, tools: Sequence[ToolSpec], prefer: str | None) -> None:
        self._known = frozenset(spec.name for spec in tools)
        self._scanner = Scanner([ToolSignature(spec.name, spec.input_schema) for spec in tools], prefer)
        self._raw: list[str] = []
        self._shown: list[str] = []
        self._names: dict[int, str] = {}  # of the calls that are announced now
        self.dialect: str | None = None
        self.meant = False
        """Whether the answer calls a tool there is: one of no tool may be data that only looks like a call."""

    @property
    def raw(self) -> str:
        """The answer's text as it came."""
        return "".join(self._raw)

    def feed(self, text: str) -> list[Chunk]:
        """The chunks that more text gives."""
        self._raw.append(text)
        return self._chunks(self._scanner.feed(text))

    def finish(self, reason: FinishReason | None) -> tuple[list[Chunk], bool]:
        """The chunks that the end gives, and whether the answer asked for calls. None: the answer was cut off."""
        result = self._scanner.finish("length" if reason in ("length", None) else reason)
        chunks = self._chunks(self._scanner.tail_events)
        if result.reasoning.strip():
            chunks.append(ReasoningChunk(result.reasoning.strip()))
        calls = self._calls(result)
        self.dialect = result.dialect
        self.meant = not self._known.isdisjoint(self._names.values())
        return [*chunks, *calls, *_notices(result)], bool(self._names)

    def withdraw(self) -> list[Chunk]:
        """No call of this text counts: announced ones are dropped, and the text is shown as it came."""
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
                case NameRead(index, name):
                    chunks += self._open(index, name)
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

    def _open(self, index: int, name: str) -> list[Chunk]:
        if self._names.get(index) == name:
            return []
        before: list[Chunk] = [CallDropped(index)] if index in self._names else []
        self._names[index] = name
        return [*before, CallOpened(index, "", name, origin="text")]

    def _calls(self, result: ScanResult) -> list[Chunk]:
        """Every call attempted, in order: whole ones closed, the others broken with what was wrong and what ran."""
        calls = {call.index: call for call in result.calls}
        broken = {
            problem.index: problem
            for problem in result.problems
            if problem.index is not None and problem.index not in calls and problem.kind in ("truncated", "invalid")
        }
        chunks: list[Chunk] = [
            CallDropped(index) for index in self._names if index not in calls and index not in broken
        ]
        self._names = {index: name for index, name in self._names.items() if index in calls or index in broken}
        for index in sorted({*calls, *broken}):
            if call := calls.get(index):
                arguments = json.dumps(call.arguments, ensure_ascii=False)
                chunks += self._open(index, call.name)
                chunks.append(CallClosed(index, arguments, raw=call.raw, repaired=call.repaired, sure=False))
            else:
                problem = broken[index]
                chunks += self._open(index, problem.name or "unreadable")
                chunks.append(CallBroken(index, _sentence(problem, result.calls), raw=problem.raw))
        return chunks


def _sentence(problem: Problem, calls: Sequence[ParsedCall]) -> str:
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

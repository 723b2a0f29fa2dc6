"""An answer's text as chunks: what is meant to be seen, and the calls that were written into it.

Calls are provisional until the answer has ended (a `</think>` may turn all before it into reasoning), so they are
announced as soon as their name is sure and closed only by `finish`. What proves to be none is dropped. Those in the
form that the model is known to write are closed at their own end, and may start while the answer goes on.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Literal

from console_app.domain import ToolSpec, one_line, plural
from console_app.domain import chunks as ch
from console_app.domain import events as ev
from console_app.providers.text_protocol.forms import ReadingRule
from console_app.textcalls import ParsedCall, Scanner, ToolSignature, model, parse, unread

EMPTY = "The answer shows nothing"
ONLY_SHOWN = "If you only showed it, end with a short answer that names no call."
_VALUE = re.compile(r"\w+=(?:\"[^\"\n]*\"|'[^'\n]*'|-?\d[\d.]*)")
_VALUES = re.compile(rf"(?:{_VALUE.pattern}[ ,]*)+")
_ESCAPE = re.compile(r"\\+([n\W])")
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_BEFORE, _SHOWN = 200, 8_000  # characters around its place that are looked at for a call that is only shown
_ENDS = ("`", "\n", "</", '"\n')
"""Signs before which such a call may end; it may end with the last bracket of its line too."""


class AnswerReader:
    """Reads one answer. `raw` is all of its text so far, as it came. A call that is not read is told in a notice."""

    def __init__(self, tools: Sequence[ToolSpec], reading: ReadingRule) -> None:
        self._reading = reading
        self._as_is = reading.as_is
        self._tools = [ToolSignature(spec.name, spec.input_schema) for spec in tools]
        self._scanner = Scanner(
            self._tools, reading.asked, reading.level, licensed=reading.known, thinks=reading.thinks
        )
        self._raw: list[str] = []
        self._place = (0, 1)  # of the last call that asks: its start, and the line of that
        self.length = 0  # characters that the end looks at, reasoning included
        self._shown: list[str] = []
        self._thought = ""  # what was shown as text and turned out to be reasoning
        self.in_doubt = False
        """Tell whether a call of it was not read, or is in a form that its model isn't known to write."""
        self._names: dict[int, str] = {}  # of the calls that are announced now
        self._final: set[int] = set()  # the calls that may have started: nothing takes them back

    @property
    def begun(self) -> int:
        """Return how many numbers the calls take that may have started, and those before them."""
        return max(self._final, default=-1) + 1

    @property
    def thought(self) -> bool:
        """Tell whether reasoning ended that only the prompt can have opened."""
        return self._scanner.thought

    @property
    def raw(self) -> str:
        """Return the answer's text as it came."""
        if len(self._raw) > 1:
            self._raw[:] = ["".join(self._raw)]
        return self._raw[0] if self._raw else ""

    def reasoned(self, text: str) -> None:
        """Take reasoning that the endpoint gave apart from the text."""
        self.length += len(text)
        self._scanner.reasoned(text)

    def work(self, text: str) -> Literal["none", "some", "much"]:
        """Return what `feed` may cost next, as the scanner tells it."""
        return self._scanner.work(text)

    def feed(self, text: str) -> list[ch.Chunk]:
        self._raw.append(text)
        self.length += len(text)
        chunks = self._chunks(self._scanner.feed(text))
        return [ch.TextChunk(text)] if self._as_is else chunks

    def finish(self, reason: ch.FinishReason | None) -> tuple[list[ch.Chunk], bool]:
        """Return the chunks that the end gives, and whether calls were asked for. None: the answer was cut off."""
        result = self._scanner.finish("length" if reason in ("length", None) else reason)
        if self._as_is:
            return self._left_as_text(result.problems) or self._unread(), False
        chunks = self._chunks(self._scanner.tail_events, ended=True)
        if reasoning := result.reasoning.strip().removeprefix(self._thought).strip():
            chunks.append(ch.ReasoningChunk(reasoning))
        calls = self._calls(result)
        called = bool(calls or result.calls)
        notices = [*_notices(result), *self._left_as_text(result.problems, called=called)]
        if not called and not notices and not result.content and self.raw.strip():
            why = "reasoning" if result.reasoning.strip() else "markup"
            notices.append(ch.NoticeChunk(f"{EMPTY}: all of it is {why}, and it calls nothing.", "warning"))
        if not called and not notices:
            notices += self._unread()
        return [*chunks, *calls, *notices], bool(self._names)

    def withdraw(self) -> list[ch.Chunk]:
        """No more call of this text counts: announced ones are dropped, and the text is shown as it came, but for calls
        that may have started."""
        if self._as_is:
            return []
        chunks: list[ch.Chunk] = [ch.CallWithdrawn(index) for index in self._names if index not in self._final]
        self._names.clear()
        raw, shown = self.raw, "".join(self._shown)
        if self._final:
            result = self._scanner.finish()
            left = [self._written(call) for call in result.calls if call.index not in self._final]
            raw = "\n".join([result.content, *left])
        if not raw.startswith(shown):
            chunks.append(ch.TextReplaced(raw))
        elif raw != shown:
            chunks.append(ch.TextChunk(raw[len(shown) :]))
        return chunks

    def _chunks(self, events: Sequence[model.ScanEvent], *, ended: bool = False) -> list[ch.Chunk]:
        chunks: list[ch.Chunk] = []
        for event in events:
            match event:
                case model.VisibleText(text):
                    self._shown.append(text)
                    chunks.append(ch.TextChunk(text))
                case model.CallNamed(index, name, dialect):
                    chunks += self._open(index, name, dialect)
                case model.CallArgumentsDelta(index, text):
                    if index in self._names:
                        chunks.append(ch.CallDelta(index, text))
                case model.CallFinal(call):
                    chunks += [*self._open(call.index, call.name, call.form), self._closed(call, sure=True)]
                    self._final.add(call.index)
                case model.CallRetracted(index):
                    if self._names.pop(index, None) is not None:
                        chunks.append(ch.CallWithdrawn(index))
                case model.Rewritten(content):
                    shown = "".join(self._shown).strip()
                    if not ended and not self._thought and self.raw.lstrip().startswith(shown):
                        self._thought = shown
                        chunks.append(ch.ReasoningChunk(shown))
                    self._shown = [content]
                    chunks.append(ch.TextReplaced(content))
        return chunks

    def _closed(self, call: ParsedCall, *, sure: bool = False) -> ch.CallClosed:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        unlicensed, place = self._unlicensed(call), call.asks or ""
        if unlicensed and place == model.UNMARKED:
            place = ""  # the question of its form says more
        return ch.CallClosed(
            call.index,
            arguments,
            raw=self._written(call),
            repaired=call.repaired,
            sure=sure,
            must_ask=place,
            unlicensed=unlicensed,
            advice=self._reading.advice,
            dialect=call.form,
        )

    def _written(self, call: ParsedCall) -> str:
        return self.raw[slice(*call.around)].strip()

    def _unlicensed(self, call: ParsedCall) -> str:
        """Say where a call stood whose form its model isn't known to write; "" for one that it is."""
        if call.form in (self._reading.asked, self._reading.known):
            return ""
        self.in_doubt = True
        (at, line), start = self._place, call.around[0]
        line += self.raw.count("\n", at, start)
        self._place, who = (max(at, start), line), one_line(self._reading.who, 60)
        return f"written as {call.form} on line {line}: does {who} write so?"

    def _open(self, index: int, name: str, dialect: str = "") -> list[ch.Chunk]:
        if self._names.get(index) == name:
            return []
        before: list[ch.Chunk] = [ch.CallWithdrawn(index)] if index in self._names else []
        self._names[index] = name
        return [*before, ch.CallOpened(index, "", name, origin="text", dialect=dialect)]

    def _calls(self, result: model.ScanResult) -> list[ch.Chunk]:
        calls = {call.index: call for call in result.calls}
        broken = {
            problem.index: problem
            for problem in result.problems
            if problem.index is not None and problem.index not in calls and problem.kind in ("truncated", "invalid")
        }
        chunks: list[ch.Chunk] = [
            ch.CallWithdrawn(index) for index in self._names if index not in calls and index not in broken
        ]
        self._names = {index: name for index, name in self._names.items() if index in calls or index in broken}
        for index in sorted({*calls, *broken}):
            if index in self._final:
                continue
            if call := calls.get(index):
                chunks += self._open(index, call.name, call.form)
                chunks.append(self._closed(call))
            else:
                problem = broken[index]
                chunks += self._open(index, problem.name or "unreadable")
                chunks.append(ch.CallBroken(index, _sentence(problem, result.calls), raw=problem.raw))
        return chunks

    def _unread(self) -> list[ch.Chunk]:
        """Return what seems to be a call although the scanner saw no mark of it."""
        if (one := unread(self.raw, [tool.name for tool in self._tools])) is None:
            return []
        return self._left_as_text((one,)) or [
            self._told(f"{one.message.removesuffix('.')}; nothing was run.", ev.ShownCall(name=""))
        ]

    def _left_as_text(self, problems: Sequence[model.ScanProblem], *, called: bool = False) -> list[ch.Chunk]:
        """Return one notice of what seems to call a tool and was left as text. `called`: the answer calls others."""
        left = [
            problem
            for problem in problems
            if problem.kind == "ignored" and problem.name is not None and not problem.is_told
        ]
        if not left:
            return []
        first, others = left[0], len(left) - 1
        more = f" So {'does' if others == 1 else 'do'} {plural(others, 'more place')}." if others else ""
        where = "reasoning" if first.thought else f"text (line {first.line})"
        text = f"The answer seems to call {first.name} in its {where}; nothing was run. {first.message}{more}"
        return [self._told(text, self._shown_call(first), called=called)]

    def _told(self, text: str, shown: ev.ShownCall, *, called: bool = False) -> ch.NoticeChunk:
        """Return a notice of a call that was not made, which the model hears at once where it made no other."""
        if called:
            return ch.NoticeChunk(text, shown=shown if shown.name else None)
        self.in_doubt = True
        heard = f"({text} {self._reading.advice} {ONLY_SHOWN})"
        return ch.NoticeChunk(text, "warning", shown=shown if shown.name else None, unread=heard)

    def _shown_call(self, problem: model.ScanProblem) -> ev.ShownCall:
        """Read the call that stands there, in whatever form and however it is quoted."""
        raw, at = (problem.raw, 0) if problem.thought else (self.raw, problem.start)
        for written in _written(raw[max(0, at - _BEFORE) : at], raw[at : at + _SHOWN], problem.name or ""):
            for call in parse(written, self._tools, level="all").calls[:1]:
                if call.name == problem.name:
                    return ev.ShownCall(name=call.name, arguments=call.arguments)
        return ev.ShownCall(name=problem.name or "")


def _written(before: str, text: str, name: str) -> Iterator[str]:
    """Readings of a call that stands at the beginning of `text`, or begins with a bracket `before` it: as it stands,
    without the signs of a quotation or an escape, up to each end that it may have, and an object or values behind its
    name.
    """
    tried = set[str]()
    starts = (text, *(before[at:] + text for sign in "[{<" if (at := before.rfind(sign)) >= 0))
    for plain in (one for start in starts for one in (start, _QUOTE.sub("", start), html.unescape(start))):
        for one in (plain, _ESCAPE.sub(lambda sign: "\n" if sign[1] == "n" else sign[1], plain)):
            line = one[:_BEFORE].partition("\n")[0]
            ends = [one.find(sign, 1) for sign in _ENDS] + [line.rfind(sign) + 1 for sign in ")}]>"]
            for written in (one, *(one[:end] for end in ends if end > 0)):
                if written not in tried:
                    tried.add(written)
                    yield written
    behind = text.partition(name)[2]
    if (at := behind.find("{", 0, _BEFORE)) >= 0:
        yield f"<tool_call>{name}\n{behind[at:]}"
    if values := _VALUES.search(behind, 0, _BEFORE):
        yield f"{name}({', '.join(_VALUE.findall(values.group()))})"


def _sentence(problem: model.ScanProblem, calls: Sequence[ParsedCall]) -> str:
    what = problem.message.strip().rstrip(".")
    read = [str(call.index + 1) for call in calls]
    if not read:
        others = "No other call of the answer was read."
    elif len(read) == 1:
        others = f"Call {read[0]} was read whole."
    else:
        others = f"Calls {', '.join(read[:-1])} and {read[-1]} were read whole."
    number = (problem.index or 0) + 1
    return f"{what} (line {problem.line}, column {problem.column}). Call {number} was NOT run. {others}"


def _notices(result: model.ScanResult) -> list[ch.Chunk]:
    return [
        ch.NoticeChunk(f"{problem.message} (line {problem.line}, column {problem.column} of the answer)", "warning")
        for problem in result.problems
        if problem.index is None and (problem.kind in ("truncated", "invalid") or problem.is_told)
    ]


SLICE = 1000  # characters that are read at once: 10 ms of whatever is written
LONG = 50_000  # characters of an answer, or of what was given, that are read in a thread


class ReadingPace:
    """Feeds one reader. Behind much text that waits for its end, as in a long call, pieces are kept until they make up
    a slice: what they would tell before is only that the call grows.
    """

    def __init__(self, reader: AnswerReader) -> None:
        self._reader = reader
        self._kept = ""
        self._since = 0  # characters since others had their turn: pieces may all have come at once

    async def feed(self, text: str) -> AsyncGenerator[ch.Chunk]:
        """Return the chunks that more text gives, with a turn for others between any two slices."""
        for start in range(0, len(text), SLICE):
            if self._since >= SLICE:
                self._since = 0
                await asyncio.sleep(0)
            self._since += min(SLICE, len(text) - start)
            piece = self._kept + text[start : start + SLICE]
            work = self._reader.work(piece)
            self._kept = piece if work == "much" and len(piece) < SLICE else ""
            if self._kept:
                continue
            for chunk in await self._read(piece, alone=work == "none"):
                yield chunk

    async def rest(self) -> list[ch.Chunk]:
        """Return the chunks that what was kept gives: for when something else than text comes."""
        piece, self._kept = self._kept, ""
        return await self._read(piece, alone=False) if piece else []

    async def _read(self, piece: str, *, alone: bool) -> list[ch.Chunk]:
        return self._reader.feed(piece) if alone else await asyncio.to_thread(self._reader.feed, piece)

"""Calls as JSON objects, alone, in lists or one after the other, within a marker: as most models were taught."""

import re
from typing import Any

from console_app.records import dataclass
from console_app.textcalls.bodies.draft import Draft, Region, close_region
from console_app.textcalls.bodies.framing import JSON, Frame, frame, quoted
from console_app.textcalls.bodies.literals import LiteralReader, decode_json
from console_app.textcalls.bodies.shapes import LIST_KEYS, PARALLEL, shape, spread
from console_app.textcalls.bodies.tag_body import TagBody, tag_pattern
from console_app.textcalls.model import Unreadable
from console_app.textcalls.patterns import compiled, lazily
from console_app.textcalls.source import Reading, Source
from console_app.textcalls.tool_schemas import stripped

_FENCE = lazily(r"\s*(?:```\w*\s*)?")
_COMMENT = lazily(r"[ \t]*(?://[^\n]*(?=\n)|/\*[^*]*\*/)")
_SPARE = lazily(r"[ \t]*[}\]]")
_SEPARATED = lazily(r"\s*[,;|]\s*(?P<value>[\[{])")
_OPENS = lazily(r"\s*(?:(?P<value>\{\s*(?:[\"']|\w+\s*:)|\[\s*\{)|\{\s*(?:[^\s\"'\w]|\w+\s*[^\s\w:])|\[\s*[^\s{])")
_OPENS_LIST = lazily(rf"\{{\s*[\"'](?:{'|'.join(LIST_KEYS)})[\"']\s*:\s*\[")


@dataclass(frozen=True)
class JsonBody:
    """Objects {name, arguments} or {NAME: arguments}. `lead_in` is a pattern for what stands before them."""

    lead_in: str = ""

    @property
    def start(self) -> str:
        return self.lead_in + _FENCE.pattern + r"(?:\{|\[(?=\s*[\[{\]]))"

    def read(self, src: Source, region: Region, draft: Draft) -> Reading[None]:
        lead = compiled(self.lead_in + _FENCE.pattern).match(src.buf, src.pos)
        if lead:
            src.pos = lead.end()
        while True:
            span = yield from frame(src, JSON, draft.follow)
            may_miss = span.state == "open" and (yield from region.at_close(src))
            if span.state != "closed" and not may_miss:
                yield from region.fail_unclosed(src, draft, span, self._salvage(draft, span), "the call")
                return
            self._decode(draft, span, may_miss)
            draft.settle()
            char = yield from src.ahead()
            while char in ("}", "]") and _SPARE.match(src.buf, src.pos):
                yield from src.step()
                char = yield from src.ahead()
            if char == "/" and (comment := (yield from src.match(_COMMENT, 200))):
                src.pos = comment.end()
                char = yield from src.ahead()
            opens = _SEPARATED if char and char in ",;|" else _OPENS if char and char in "{[" else None
            if opens is None or not (found := (yield from src.match(opens))) or not found["value"]:
                break
            src.pos = found.start("value")
        yield from close_region(src, region, draft)

    def _salvage(self, draft: Draft, span: Frame) -> int:
        """Take the calls of a list that can't be read whole, each for itself; up to where they reach."""
        if not span.members or not lists_calls(draft.src.text(span.start, span.end)):
            return span.start
        for begin, end in span.members:
            self._decode(draft, Frame(begin, end))
        return span.members[-1][1]

    def _decode(self, draft: Draft, span: Frame, closers_may_miss: bool = False) -> None:
        """Take the calls of a complete value; those of a list stand or fall each for itself."""
        try:
            value, repaired = decode_json(draft.src.text(span.start, span.end), closers_may_miss)
        except Unreadable as error:
            if self._salvage(draft, span) == span.start:
                draft.fail("invalid", f"{error.message} (character {error.offset + 1} of it)", span.start, span.end)
            return
        items = list(spread(value))
        apart = len(span.members) == len(items) and value not in items
        spans = span.members if apart else [(span.start, span.end)] * len(items)
        if not items:
            draft.ignored.append((span.start, span.end, "an empty list of calls"))
            draft.answer = ""
        for item, (begin, end) in zip(items, spans, strict=True):
            draft.shaped(shape(item, draft.tools, marked=draft.marked), begin, end, repaired)


def lists_calls(text: str) -> bool:
    """Tell whether what may be incomplete is a list, or an object whose first key lists calls."""
    return text.startswith("[") or _OPENS_LIST.match(text) is not None


_FENCE_BEFORE = lazily(r"\s*```\w*\s*(?=\{)")


@dataclass(frozen=True)
class NamedBody:
    """`start` is a pattern with a group `name`, up to the arguments. `bare_names`: prefixes and call numbers around a
    name belong to the dialect. Up to `until`, text in place of an object goes to the one parameter it can be meant for;
    where it `must_end` so, and the answer ends first, it was cut off. `quotes` are tokens of which one stands before
    and after every string; `tags` may stand in place of an object."""

    start: str
    bare_names: bool = False
    required_close: bool = True
    until: str = ""
    must_end: bool = False
    quotes: tuple[str, ...] = ()
    tags: TagBody | None = None

    def read(self, src: Source, region: Region, draft: Draft) -> Reading[None]:
        head = yield from src.match_like(tag_pattern(self.start))
        if head is None:
            yield from region.fail_and_skip(src, draft, region.start, "the header that names the tool is broken")
            return
        written = head.group("name").strip()
        written = written if draft.tools.resolve(written) or not self.bare_names else stripped(written)
        src.pos += head.end()
        draft.open(written, src.at)
        char = yield from src.ahead()
        if self.tags is not None and char == "<" and (yield from src.match(compiled(rf"\s*{self.tags.param}"))):
            yield from self.tags.read_behind(head, written, region.start, src, region, draft)
        elif char in ("{", "`") or not self.until:
            yield from self._object(src, region, draft, written)
        else:
            begin = src.at
            found = yield from src.find(re.compile(self.until), "\n")
            if found is None and self.must_end:
                draft.fail("truncated", "the answer ended inside the arguments", region.start, src.at, written)
                return
            draft.done_loosely(written, src.text(begin, src.at).strip(), region.start, src.at)
            if found is None:
                draft.unclosed()

    def _object(self, src: Source, region: Region, draft: Draft, written: str) -> Reading[None]:
        if (yield from src.ahead()) == "`" and (fence := (yield from src.match(_FENCE_BEFORE, 64))):
            src.pos = fence.end()
        yield from src.skip()
        if (yield from src.peek()) not in ("{", '"'):
            if (yield from region.at_close(src)):
                draft.done_loosely(written, None, region.start, src.at)
                yield from close_region(src, region, draft)
            else:
                yield from region.fail_and_skip(src, draft, region.start, "its arguments can't be read", name=written)
            return
        span = yield from frame(src, quoted(*self.quotes) if self.quotes else JSON)
        may_miss = span.state == "open" and (yield from region.at_close(src))
        if span.state != "closed" and not may_miss:
            yield from region.fail_unclosed(src, draft, span, region.start, "the arguments", written)
            return
        try:
            value, repaired = self._decode(src.text(span.start, span.end), may_miss)
        except Unreadable as error:
            why = f"{error.message} (character {error.offset + 1} of its arguments)"
            yield from region.fail_and_skip(src, draft, region.start, why, name=written)
            return
        while span.state == "closed" and (yield from src.peek()) == "}":
            yield from src.step()
            repaired = (*repaired, "a closing bracket too many")
        if written == PARALLEL and draft.tools.resolve(written) is None:
            for item in spread({"name": written, "arguments": value}):
                draft.shaped(shape(item, draft.tools), region.start, span.end, repaired)
        else:
            draft.done_loosely(written, value, region.start, span.end, repaired=repaired)
        yield from close_region(src, region, draft, required=self.required_close)

    def _decode(self, text: str, may_miss: bool) -> tuple[Any, tuple[str, ...]]:
        if not self.quotes:
            return decode_json(text, may_miss)
        quote = next((one for one in self.quotes if one in text), self.quotes[0])
        reader = LiteralReader(text, quote=quote, bare_words=True, closers_may_miss=may_miss)
        return reader.document(), tuple(reader.repairs)

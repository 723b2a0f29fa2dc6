"""Calls whose name stands before their arguments: one JSON object, or call:NAME{key:value} with tokens for quotes."""

import re
from dataclasses import dataclass

from console_app.textcalls.bodies.draft import Draft
from console_app.textcalls.bodies.framing import JSON, frame, quoted
from console_app.textcalls.bodies.literals import LiteralReader, decode_json
from console_app.textcalls.bodies.region import Region, close_region
from console_app.textcalls.bodies.shapes import PARALLEL, shape, spread
from console_app.textcalls.bodies.tag_body import tag_pattern
from console_app.textcalls.model import Unreadable
from console_app.textcalls.patterns import lazily
from console_app.textcalls.source import Reading, Source
from console_app.textcalls.tool_schemas import stripped

_FENCE = lazily(r"\s*```\w*\s*(?=\{)")


@dataclass(frozen=True)
class NamedBody:
    """`head` is a pattern with a group `name`, up to the arguments. `bare_names`: prefixes and call numbers around a
    name belong to the dialect. Up to `until`, text in place of an object goes to the one parameter it can be meant for.
    `quotes` are tokens of which one stands before and after every string.
    """

    head: str
    bare_names: bool = False
    required_close: bool = True
    until: str = ""
    quotes: tuple[str, ...] = ()

    @property
    def grammar(self) -> str:
        return "brackets" if self.quotes else "header and JSON"

    @property
    def start(self) -> str:
        return self.head

    def read(self, src: Source, region: Region, draft: Draft) -> Reading[None]:
        head = yield from src.match(tag_pattern(self.head))
        if head is None:
            yield from region.fail_and_skip(src, draft, region.start, "the header that names the tool is broken")
            return
        written = head.group("name").strip()
        written = written if draft.tools.resolve(written) or not self.bare_names else stripped(written)
        src.pos = head.end()
        draft.open(written, src.at)
        char = yield from src.ahead()
        if self.quotes:
            yield from self._quoted(src, region, draft, written)
        elif char in ("{", "`") or not self.until:
            yield from self._object(src, region, draft, written)
        else:
            yield from self._text(src, region, draft, written)

    def _object(self, src: Source, region: Region, draft: Draft, written: str) -> Reading[None]:
        if (yield from src.ahead()) == "`" and (fence := (yield from src.match(_FENCE, 64))):
            src.pos = fence.end()
        yield from src.skip()
        if (yield from src.peek()) not in ("{", '"'):
            if src.ended and src.pos >= len(src.buf):
                draft.fail("truncated", "the answer ended before the arguments", region.start, src.at, written)
            elif (yield from region.at_close(src)):
                draft.done_loosely(written, None, region.start, src.at)
                yield from close_region(src, region, draft)
            else:
                yield from region.fail_and_skip(src, draft, region.start, "its arguments are not a JSON object")
            return
        span = yield from frame(src, JSON)
        may_miss = span.state == "open" and (yield from region.at_close(src))
        if span.state == "closed" or may_miss:
            try:
                value, repaired = decode_json(src.text(span.start, span.end), may_miss)
            except Unreadable as error:
                yield from region.fail_and_skip(src, draft, region.start, error.message)
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
            return
        yield from region.fail_unclosed(src, draft, span, region.start, "the arguments", written)

    def _text(self, src: Source, region: Region, draft: Draft, written: str) -> Reading[None]:
        begin = src.at
        found = yield from src.find(re.compile(self.until), "\n")
        text = src.text(begin, src.at).strip()
        draft.done_loosely(written, text, region.start, src.at)
        if found is None:
            draft.unclosed()

    def _quoted(self, src: Source, region: Region, draft: Draft, written: str) -> Reading[None]:
        span = yield from frame(src, quoted(*self.quotes))
        if span.state == "cut" or (span.state == "open" and (yield from region.at_turn_end(src))):
            draft.fail("truncated", "the answer ended inside the arguments", region.start, span.end, written)
            return
        may_miss = span.state == "open" and (yield from region.at_close(src))
        if span.state != "closed" and not may_miss:
            yield from region.fail_and_skip(src, draft, region.start, span.why)
            return
        text = src.text(span.start, span.end)
        quote = next((one for one in self.quotes if one in text), self.quotes[0])
        reader = LiteralReader(text, json=False, quote=quote, bare_words=True, closers_may_miss=may_miss)
        try:
            value = reader.document()
        except Unreadable as error:
            draft.fail("invalid", f"{error.message} (character {error.offset + 1})", region.start, span.end, written)
        else:
            draft.done_loosely(written, value, region.start, span.end, repaired=tuple(reader.repairs))
        yield from close_region(src, region, draft)

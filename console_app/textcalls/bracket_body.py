"""Calls as call:NAME{key:value}, whose strings stand between tokens that no text holds."""

from dataclasses import dataclass
from typing import ClassVar

from console_app.textcalls.draft import Draft
from console_app.textcalls.framing import frame, quoted
from console_app.textcalls.literals import LiteralReader
from console_app.textcalls.model import Unreadable
from console_app.textcalls.patterns import lazily
from console_app.textcalls.region import Region, close_region
from console_app.textcalls.source import Reading, Source

_HEAD = lazily(r"\s*(?:call\s*:\s*)?(?P<name>[A-Za-z_][\w.:-]*?)\s*(?=\{)")


@dataclass(frozen=True)
class BracketBody:
    """`quote` is the token before and after every string."""

    grammar: ClassVar[str] = "brackets"
    quote: str

    @property
    def start(self) -> str:
        return _HEAD.pattern

    def read(self, src: Source, region: Region, draft: Draft) -> Reading[None]:
        head = yield from src.match(_HEAD)
        if head is None:
            yield from region.fail_and_skip(src, draft, region.start, "the header that names the tool is broken")
            return
        written = head.group("name")
        src.pos = head.end()
        draft.open(written, src.at)
        span = yield from frame(src, quoted(self.quote))
        if span.state == "cut" or (span.state == "open" and (yield from region.at_turn_end(src))):
            draft.fail("truncated", "the answer ended inside the arguments", region.start, span.end, written)
            return
        may_miss = span.state == "open" and (yield from region.at_close(src))
        if span.state != "closed" and not may_miss:
            yield from region.fail_and_skip(src, draft, region.start, span.why)
            return
        text = src.text(span.start, span.end)
        reader = LiteralReader(text, json=False, quote=self.quote, bare_words=True, closers_may_miss=may_miss)
        try:
            value = reader.document()
        except Unreadable as error:
            draft.fail("invalid", f"{error.message} (character {error.offset + 1})", region.start, span.end, written)
        else:
            draft.done_loosely(written, value, region.start, span.end, repaired=tuple(reader.repairs))
        yield from close_region(src, region, draft)

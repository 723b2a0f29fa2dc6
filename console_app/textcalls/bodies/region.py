"""The delimiters around calls: how a region ends, what may be missing there, where to go on after one that failed."""

import re
from dataclasses import dataclass
from functools import cache

from console_app.textcalls.bodies.draft import Draft
from console_app.textcalls.bodies.framing import Frame
from console_app.textcalls.dialects.coats import CHAT_TOKENS, HALF
from console_app.textcalls.patterns import any_of, compiled, lazily
from console_app.textcalls.source import Reading, Source


@dataclass(frozen=True, slots=True)
class Region:
    """One region being read: where it began, with which token; patterns of what opens and closes such a one, "" for
    nothing; `pretty`: its tokens are on lines of their own; `required`: calls without a closing token were cut off when
    a token limit ended the answer.
    """

    start: int
    token: str = ""
    opens: str = ""
    closes: str = ""
    pretty: bool = False
    required: bool = True

    def at_close(self, src: Source) -> Reading[bool]:
        """Tell whether a closing token, or the end of a fence before it, stands here; `pos` stays."""
        if not self.closes:
            return False
        found = yield from src.match(_close_or_not(self.closes))
        return found is not None and found["close"] is not None

    def at_turn_end(self, src: Source) -> Reading[bool]:
        """Tell whether the model ended its turn here, or the answer ended within a tag."""
        if _HALF_TAG.fullmatch(src.tail() or "x"):
            return True
        found = yield from src.match(_TURN_END, 96)
        return found is not None

    def fail_unclosed(
        self, src: Source, draft: Draft, span: Frame, begin: int, what: str, written: str | None = None
    ) -> Reading[None]:
        """Report the call that began at `begin`, whose value did not close: cut off inside `what`, or invalid; that
        too where a closing token stands in its broken string, for then the model had closed the call.
        """
        text = src.text(span.string_at, span.end) if span.string_at is not None and self.closes else ""
        swallowed = span.string_at if text and compiled(self.closes).search(text) else None
        if swallowed is None and (span.state == "cut" or (span.state == "open" and (yield from self.at_turn_end(src)))):
            draft.fail("truncated", f"the answer ended inside {what}", begin, span.end, written)
        else:
            why = span.why or "a string is not closed"
            yield from self.fail_and_skip(src, draft, begin, why, swallowed, at_opening=span.state == "open")

    def fail_and_skip(
        self, src: Source, draft: Draft, begin: int, why: str, back_to: int | None = None, at_opening: bool = False
    ) -> Reading[None]:
        """Report what began at `begin` as invalid and go to where the region ends. A model that wrote its tags on lines
        of their own is believed to close them so too, for a broken string may hold what looks like the end of a call.
        Where no string is open, the next call may stand right here (`at_opening`).
        """
        if back_to is not None:
            src.rewind(back_to)
        elif at_opening and self.opens and (yield from src.match(compiled(rf"\s*{self.opens}"), 160)):
            draft.fail("invalid", why, begin, src.at)
            return
        blanks = r"[^\S\n]*+"  # of one line: thousands of empty ones are not gone through anew from each
        closing = (rf"\n{blanks}" if self.pretty else "") + (self.closes or "(?!)")
        stop = compiled(rf"(?P<close>{closing})|\n(?={blanks}{self.opens or '(?!)'})")
        found = yield from src.find(stop, "\n<[｜`◁⟨]")
        if found and found.lastgroup == "close":
            src.pos = found.end()
        draft.fail("invalid", why, begin, src.at)


def close_region(src: Source, region: Region, draft: Draft, *, required: bool = True) -> Reading[None]:
    """Move past the closing token or half of one; where it is `required` and missing, the last call is not closed."""
    char = yield from src.ahead()
    if char == "`":
        fence = yield from src.match(_FENCE_END, 64)
        if fence:
            src.pos = fence.end()
            char = yield from src.ahead()
        elif (src.tail() or "x").strip("` \r\n") == "":
            src.pos = len(src.buf)
            char = ""
    if not region.closes:
        return
    if char and char in "<[◁⟨]":
        found = yield from src.match(_close_or_not(region.closes))
        if found and found["close"]:
            src.pos = found.end()
            return
        rest = src.tail()
        if rest and _HALF_CLOSE.fullmatch(rest):
            src.pos = len(src.buf)
    if required and region.required:
        draft.unclosed()


_HALF_TAG = lazily(r"<[^<>\n]*")
_HALF_CLOSE = lazily(rf"\s*{HALF}")
_FENCE_END = lazily(r"\s*```")
_TURN_END = lazily(rf"\s*{any_of(CHAT_TOKENS)}")


@cache
def _close_or_not(closes: str) -> re.Pattern[str]:
    """A closing token, or what can't become one any more, so that a call is done before much more has come."""
    return compiled(rf"(?P<close>\s*(?:```\s*)?{closes})|\s*(?=[^\s`])(?!{closes}|{HALF}\Z)")

"""The answer as it arrives: a window that grammars read forward, waiting where they need more.

Grammars are generators, which `yield` where a decision needs text that has not arrived. A decision depends on the text
alone, never on where a piece ended, so that every chunking gives one result. The window drops what was read, and
`rewind` has a budget, so that reading stays linear whatever a model writes."""

import io
import re
from bisect import bisect_left
from collections.abc import Generator
from typing import TypeAlias, TypeVar

from console_app.textcalls.patterns import lazily

T = TypeVar("T")
Reading: TypeAlias = Generator[None, None, T]
"""A grammar at work: yields when it needs more text, returns what it read."""

Match: TypeAlias = re.Match[str]
OnePattern: TypeAlias = re.Pattern[str] | None

LOOKAHEAD = 512
"""The longest stretch, in characters, that any bounded decision looks at."""

WINDOW = 1 << 16
"""The longest stretch that one search goes through: so long no other thread runs."""

_KEPT = 8  # texts of a pattern: as many ways to go on as the calls of most answers have

_SPACE = lazily(r"\s*")
_NEXT = lazily(r"\s*(\S)")


def first_within(
    pattern: re.Pattern[str], text: str, begin: int, end: int, longest: int = LOOKAHEAD, lead: OnePattern = None
) -> Match | None:
    """Return the first match of `pattern` that takes no more than `longest` characters to see: however much has come
    behind them by now, a longer one is none. With `lead`, which matches sooner wherever it does, only there."""
    while found := (lead or pattern).search(text, begin, end):
        start = found.start()
        found = pattern.match(text, start, end) if lead else found
        if found and (end - start <= longest or (found := pattern.match(text, start, start + longest))):
            return found
        begin = start + 1
    return None


class Source:
    """A text that grows at its end. `buf[pos:]` is unread; `at` is the absolute offset of `pos`."""

    def __init__(self) -> None:
        self.buf = ""
        self.pos = self._base = self.length = self._rewound = 0
        self.ended = False
        self._whole = io.StringIO()
        self._short: dict[str, tuple[str, ...]] = {}  # texts in which a pattern did not match yet
        self._known: dict[str, tuple[Match, ...]] = {}  # the first matches of a pattern, each in no more than it takes
        self.patience = 1  # characters that come before what nobody waits for is looked for again
        self.awaited = ""  # the character that has to come before reading goes on, where nothing is held back

    @property
    def at(self) -> int:
        return self._base + self.pos

    @at.setter
    def at(self, offset: int) -> None:
        self.pos = offset - self._base

    def feed(self, chunk: str) -> None:
        self._whole.write(chunk)
        self.length += len(chunk)
        self._base += self.pos
        self.buf = self.buf[self.pos :] + chunk
        self.pos = 0

    def pass_over(self, chunk: str, left: str = "") -> None:
        """Take in a piece that nothing has to read, but for what is `left` at its end, and maybe from before it."""
        self._whole.write(chunk)
        self.length += len(chunk)
        self._base = self.length - len(left)
        self.buf, self.pos = left, 0

    def text(self, start: int, end: int) -> str:
        if start >= self._base:
            return self.buf[start - self._base : end - self._base]
        self._whole.seek(start)
        text = self._whole.read(end - start)
        self._whole.seek(0, io.SEEK_END)
        return text

    def offset(self, index: int) -> int:
        return self._base + index

    def rewind(self, offset: int) -> bool:
        """Go back to read again from `offset`; false when the budget that keeps reading linear is spent."""
        distance = self.at - offset
        if self._rewound + distance > 4 * self.at + 100_000:
            return False
        self._rewound += distance
        if offset < self._base:
            self.buf = self.text(offset, self._base) + self.buf
            self._base = offset
        self.at = offset
        return True

    def tail(self, skip: int = 0, limit: int = 300) -> str | None:
        """All that is left after `skip` more characters, if the text has ended and no more than `limit` are."""
        if not self.ended or len(self.buf) - self.pos - skip > limit:
            return None
        return self.buf[self.pos + skip :]

    def match(self, pattern: re.Pattern[str], limit: int = LOOKAHEAD, skip: int = 0) -> Reading[Match | None]:
        """Match `pattern` here, or `skip` characters on, within `limit` characters, waiting for them if need be; `pos`
        stays. Where the pattern matches a piece of text, it has to match the same in anything longer: so nothing is
        looked for in the beginning of a text that was too short for it before."""
        tried, known = "", self._short.get(pattern.pattern, ())
        while True:
            start = self.pos + skip
            last = self.ended or len(self.buf) - start >= limit
            if last or not any(text.startswith(self.buf[start:]) for text in known):
                found = pattern.match(self.buf, start, start + limit)
                if found or last:
                    if tried:
                        self._short[pattern.pattern] = (*known[1 - _KEPT :], tried)
                    return found
                tried = self.buf[start:]
            yield

    def match_first(self, pattern: re.Pattern[str], skip: int = 0) -> Reading[int | None]:
        """Which of several patterns (`first_of`) matches first, here or `skip` characters on."""
        found = yield from self.match_like(pattern, skip)
        return found.lastindex - 1 if found and found.lastindex else None

    def match_like(self, pattern: re.Pattern[str], skip: int = 0) -> Reading[Match | None]:
        """As `match`, with places counted from here: what most calls have alike is matched in but two of them."""
        known = self._known.get(pattern.pattern, ())
        for like in known:
            if self.buf.startswith(like.string, self.pos + skip):
                return like
        if (found := (yield from self.match(pattern, skip=skip))) is None:
            return None
        text, match = self.buf[found.pos : found.endpos], pattern.match
        if (found := match(text)) and len(known) < _KEPT:
            end = bisect_left(range(len(text) * bool(known)), True, found.end(), key=lambda at: bool(match(text[:at])))
            like = match(text[:end])
            self._known[pattern.pattern] = (*known, like if like and like.regs == found.regs else found)
        return found

    def ahead(self) -> Reading[str]:
        """The next character that is not white space, or the empty text where none is near; `pos` stays."""
        found = yield from self.match(_NEXT)
        return found[1] if found else ""

    def find(
        self, pattern: re.Pattern[str], lead: str, longest: int = LOOKAHEAD, patience: int = 1, half: OnePattern = None
    ) -> Reading[Match | None]:
        """Move to the next match of `pattern`, whose matches all begin with a character of `lead`; None, with `pos` at
        the end, when the text ends first. What may be half a match, up to `longest` characters, is searched again when
        `patience` more have come; `half` finds sooner where one begins, or may begin at the end of a text."""
        while True:
            end = min(len(self.buf), self.pos + WINDOW)
            found = first_within(pattern, self.buf, self.pos, end, longest, half)
            if found:
                self.pos = found.start()
                return found
            if self.ended and end == len(self.buf):
                self.pos = end
                return None
            keep = end
            for char in lead:
                held = self.buf.find(char, max(self.pos, end - longest), keep)
                if held >= 0 and half:
                    found = half.search(self.buf, held, end)
                    held = found.start() if found else -1
                if held >= 0:
                    keep = held
            self.pos = keep
            if end < len(self.buf):
                continue
            enough = len(self.buf) - keep + patience
            self.awaited = lead if keep == end and len(lead) == 1 else ""
            while not self.ended and len(self.buf) - self.pos < enough:
                yield
            self.awaited = ""

    def skip(self, pattern: re.Pattern[str] = _SPACE) -> Reading[None]:
        """Move past all that `pattern` matches (white space unless told), however long."""
        while True:
            found = pattern.match(self.buf, self.pos)
            assert found is not None, "a pattern for skipping matches the empty text too"
            self.pos = found.end()
            if self.pos < len(self.buf) or self.ended:
                return
            yield

    def step(self) -> Reading[None]:
        """Move past white space and the character that `ahead` saw behind it."""
        yield from self.skip()
        self.pos += 1

    def peek(self) -> Reading[str]:
        while self.pos >= len(self.buf) and not self.ended:
            yield
        return self.buf[self.pos : self.pos + 1]

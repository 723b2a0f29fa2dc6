"""Finds the end of a written value: one lexer for JSON, Python literals and quoted-token objects, mended or not.

It counts brackets and skips strings, in one pass that never goes back; the complete text is decoded afterwards. So no
half of a value is decoded, and no bracket or closing tag inside a string is seen."""

import re
from collections.abc import Callable
from functools import cache, cached_property
from typing import Literal

from console_app.records import dataclass, field
from console_app.textcalls.patterns import lazily
from console_app.textcalls.source import Reading, Source

DEPTH_CAP = 200
"""How deep values may nest; deeper ones are reported as invalid."""

_RUN = 3  # levels of them that are passed over at once

PAIRS = {"{": "}", "[": "]", "(": ")"}


@dataclass(frozen=True)
class Notation:
    """Holds what the lexer must know of a way to write values: its strings, brackets and what may follow a string.
    `run` is what is passed over at once within brackets: whole values, which one match sees sooner than the lexer."""

    strings: dict[str, re.Pattern[str]]
    tokens: re.Pattern[str]
    run: re.Pattern[str] | None = None
    whole: re.Pattern[str] | None = None
    after_string: str = ""
    one_line: bool = False

    @cached_property
    def longest(self) -> int:
        return max(map(len, self.strings))


def _string(quote: str) -> re.Pattern[str]:
    """The inside of a string up to its closing quote; possessive, so that it never goes back."""
    return lazily(rf"(?:[^{quote}\\]++|\\.)*+", re.DOTALL)


def _until(token: str) -> re.Pattern[str]:
    """Return the inside of a string without escapes, up to a closing token, of which a piece is left for later."""
    parts = [rf"{re.escape(token[:i])}(?=[^{re.escape(token[i])}])" for i in range(1, len(token))]
    return re.compile(rf"(?:[^{re.escape(token[0])}]++|{'|'.join(parts)})*+", re.DOTALL)


_STRING = r"\"(?:[^\"\\]++|\\.)*+\"\s*+(?=[,:}\]])"
_PLAIN = rf"[\s\w.+,:-]++|{_STRING}|\[(?:[\s\w.+,-]++|{_STRING})*+\]\s*+(?=[,}}\]])"


def _values(levels: int) -> str:
    """Values of as many levels, and what stands between them, with no objects in lists."""
    inner = rf"|\{{{_values(levels - 1)}\}}\s*+(?=[,}}\]])" if levels > 1 else ""
    return rf"(?:{_PLAIN}{inner})*+"


JSON = Notation(
    strings={'"': _string('"'), "'": _string("'")},
    tokens=lazily(r"[\"'{}\[\]<`]|//|/\*"),
    run=lazily(_values(_RUN), re.DOTALL),
    whole=lazily(rf"\{{{_values(_RUN)}\}}", re.DOTALL),
    after_string=",:}])/<`",
)
JSON_DATA = Notation(
    strings={'"': lazily(r'(?:[^"\\\n]++|\\.)*+', re.DOTALL)},
    tokens=lazily(r"[\"{}\[\]<`]"),
    after_string=",:}]",
    one_line=True,
)
"""JSON in prose that is surely no call: it is skipped whole, but gives up early, for it may be no JSON at all."""
PYTHON = Notation(
    strings={
        '"""': lazily(r'(?:[^"\\]++|\\.|"{1,2}+(?=[^"]))*+', re.DOTALL),
        "'''": lazily(r"(?:[^'\\]++|\\.|'{1,2}+(?=[^']))*+", re.DOTALL),
        '"': _string('"'),
        "'": _string("'"),
    },
    tokens=lazily(r"\"\"\"|'''|[\"'{}\[\]()<`]"),
    run=lazily(
        r"(?:[^\"'{}\[\]()<`]++|\"(?:[^\"\\]|\\.)(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]|\\.)(?:[^'\\]++|\\.)*+')*+", re.DOTALL
    ),
)


@cache
def quoted(*marks: str) -> Notation:
    """Objects whose strings stand between two of one of `marks`, beside ordinary double quotes."""
    insides, any_mark = {mark: _until(mark) for mark in marks}, "|".join(map(re.escape, marks))
    strings = "|".join(rf"{re.escape(mark)}{inside.pattern}{re.escape(mark)}" for mark, inside in insides.items())
    run = rf"(?:[^\"{{}}\[\]<]++|{strings})*+"
    return Notation(
        strings={**insides, '"': _string('"')},
        tokens=re.compile(rf"{any_mark}|[\"{{}}\[\]<]"),
        run=re.compile(run, re.DOTALL),
        whole=re.compile(rf"\{{{run}\}}", re.DOTALL),
    )


@dataclass(slots=True)
class Frame:
    """The span of one value. `state`: closed, as it should be · open: a tag or fence stands where brackets are still
    missing · cut: the text ended first · broken: it can't be a value. `begun` is where the objects of the outermost
    list begin, `members` are the complete ones. `string_at`: a string began there that did not end, or not well."""

    start: int
    end: int
    state: Literal["closed", "open", "cut", "broken"] = "cut"
    begun: list[int] = field(default_factory=list)
    members: list[tuple[int, int]] = field(default_factory=list)
    why: str = ""
    string_at: int | None = None

    def stop(self, end: int, state: Literal["closed", "open", "cut", "broken"], why: str = "") -> "Frame":
        self.end, self.state, self.why = end, state, why
        return self


_COMMENT_ENDS = {"//": lazily(r"\n"), "/*": lazily(r"\*/")}
_LISTS = (["["], ["{", "["])
"""The brackets that are open around the members of a list, or of a list in an object."""


def frame(src: Source, notation: Notation, watch: "Callable[[Frame], None] | None" = None) -> Reading[Frame]:
    """Move past the value that starts here and say how it ended; `watch` is given what is known meanwhile."""
    result = Frame(src.at, src.at)
    if watch:
        watch(result)
    if notation.whole and (whole := notation.whole.match(src.buf, src.pos)):
        src.pos = whole.end()
        return result.stop(src.at, "closed")
    stack: list[str] = []
    while True:
        in_list = stack in _LISTS
        passes = notation.run if stack and not in_list and len(stack) <= DEPTH_CAP - _RUN else None
        if passes and (run := passes.match(src.buf, src.pos)):
            src.pos = run.end()
        while not (token := _next_token(src, notation)) and not src.ended:
            yield
        if not token:
            return result.stop(src.at, "cut")
        if token in notation.strings:
            result.string_at = src.at
            src.pos += len(token)
            closed = yield from _skip_string(src, token, notation)
            if not closed:
                return result.stop(src.at, "cut" if closed is False else "broken", "a string is not closed")
            if not stack:
                return result.stop(src.at, "closed")
            if notation.after_string:
                yield from src.skip()
                if (yield from src.peek()) not in notation.after_string:
                    return result.stop(src.at, "broken", "a string is followed by something that does not belong there")
            result.string_at = None
        elif token in PAIRS:
            if token == "{" and in_list:
                result.begun.append(src.at)
            stack.append(token)
            src.pos += 1
            if len(stack) > DEPTH_CAP:
                return result.stop(src.at, "broken", f"it nests deeper than {DEPTH_CAP} levels")
        elif token in "}])":
            if not stack or PAIRS[stack[-1]] != token:
                return result.stop(src.at, "broken", f"a {token!r} closes nothing")
            stack.pop()
            src.pos += 1
            if token == "}" and stack in _LISTS:
                result.members.append((result.begun[-1], src.at))
            if not stack:
                return result.stop(src.at, "closed")
            if notation.after_string:
                yield from src.skip()
                if (yield from src.peek()) not in notation.after_string:
                    return result.stop(src.at, "open", "a value is followed by something that does not belong there")
        elif token in ("//", "/*"):
            src.pos += 2
            found = yield from src.find(_COMMENT_ENDS[token], "\n*", 2)
            src.pos = found.end() if found else src.pos
        else:
            return result.stop(src.at, "open", "its brackets are not closed")


def _next_token(src: Source, notation: Notation) -> str:
    """Move to the next token that matters and return it; "" where there is none yet, or one may become longer."""
    found = notation.tokens.search(src.buf, src.pos)
    if found is None:
        half = 0 if src.ended else src.buf.endswith("/")  # may be half of a comment's opening
        src.pos = max(src.pos, len(src.buf) - half)
        return ""
    src.pos = found.start()
    token, longest = found.group(), notation.longest
    sure = longest in (1, len(token)) or found.end() + longest <= len(src.buf) or src.ended
    return token if sure else ""


def _skip_string(src: Source, token: str, notation: Notation) -> Reading[bool | None]:
    """Move past a string's inside and its closing token; false when the text ends first, None when it can't go on."""
    inside = notation.strings[token]
    while True:
        found = inside.match(src.buf, src.pos)
        assert found is not None, "the inside of a string may be empty"
        src.pos = found.end()
        if src.buf.startswith(token, src.pos):
            src.pos += len(token)
            return True
        if notation.one_line and src.buf.startswith("\n", src.pos):
            return None
        if src.ended:
            src.pos = len(src.buf)
            return False
        yield

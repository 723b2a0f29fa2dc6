"""The texts that a model was given, one behind the other: what is split over two of them stands in one piece here."""

from __future__ import annotations

import html
import re
import sys
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import cache, cached_property
from itertools import accumulate, product
from urllib.parse import unquote

from console_app.records import dataclass
from console_app.textcalls.bodies.literals import whole_characters

_AT_ONCE = 100_000  # characters, which take 10 ms: no other thread runs while a pattern searches them
_DEPTH = 3  # what is quoted in what is quoted is escaped so often
_ESCAPE = re.compile(
    r"(?<!\\)\\++(?:(?:[ux]\{|N\{U\+)([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|[nrtbf])"
)
_PERCENT = re.compile(r"%[0-9a-fA-F]{2}")
_TAG = re.compile(
    r"</?[a-z][a-z0-9-]{0,20}(?:\s[^<>\n]{0,300})?/?>|<!--|-->|<!\[CDATA\[|\]\]>|\x1b\[[0-9;]{0,20}m", re.I
)
_CELL = re.compile(r"</?t[dh](?:\s[^<>\n]{0,300})?>", re.I)
_NUMBER = re.compile(
    r"(?m)^[ \t]*(?:[\w./-]{1,80}[:-])?[\[(L]{0,2}\d{1,7}[\])]?[ \t]*[:.|→│-]?(?:[ \t]|(?<=\W))"
    r"|^(?:[ \t]*[>+|#*]){1,4}[ \t]"
)
"""A pattern of the text before each line: its number, or the sign of a quotation, a diff or a comment."""
_ALIKE = "асеорхуіјѕһԁԛԝАВСЕНІЈКМОРЅТХУαοιρνκΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
_LATIN = "aceopxyijshdqwABCEHIJKMOPSTXYaoipvkABEZHIKMNOPTYX"
_SIGNS_STAND_IN = (range(0x3100), range(0xA640, 0xA800), range(0xFE00, 0x10000), range(0x1F300, 0x1FB00))


def letters(text: str) -> str:
    """`text` as it is compared; where it has lines, their ends stay."""
    return "".join(unescaped(one).lower().translate(_signs()) for one in _slices(text))


def bare(text: str) -> str:
    """`text` without tags within its lines, and without what stands before them."""
    return "".join(_NUMBER.sub("", _TAG.sub("", one)) for one in _slices(text))


def words_of(text: str) -> str:
    """`text` without escapes, with a blank in place of each tag, and a bar where a cell of a table begins or ends."""
    return _TAG.sub(" ", _CELL.sub(" | ", unescaped(text)))


def unescaped(text: str) -> str:
    """`text` without escapes, of which any that stands for the end of a line becomes a blank."""
    for _ in range(_DEPTH + 1):
        if not text.isascii():
            text = unicodedata.normalize("NFKD", text).translate(_unseen())
        before = text
        if "&" in text:
            text = html.unescape(text)
        if "\\" in text:
            text = whole_characters(_ESCAPE.sub(_character, text))
        if "%" in text and _PERCENT.search(text):
            text = unquote(text)
        if text == before:
            break
    return text


def _slices(text: str) -> Iterator[str]:
    """The text in parts that end with a line or a word where they can."""
    start = 0
    while start < len(text):
        end = start + _AT_ONCE
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or text.rfind(" ", start, end) + 1 or end
        yield text[start:end]
        start = end


def _character(found: re.Match[str]) -> str:
    digits = next(filter(None, found.groups()), "")
    code = int(digits, 16) if digits else 32
    return " " if code in (10, 13) else chr(code) if 0 < code <= sys.maxunicode else ""


@cache
def _signs() -> dict[int, None]:
    """Map every sign to nothing, but the end of a line."""
    return {code: None for codes in _SIGNS_STAND_IN for code in codes if not chr(code).isalnum() and code != 10}


@cache
def _unseen() -> dict[int, str | None]:
    """Map what can't be seen or only marks a letter to nothing, letters of the tag block to what they stand for, and
    those of other alphabets to the Latin ones that look like them."""
    codes = (*range(128, 0x3100), *range(0xFE00, 0x10000), *range(0xE0000, 0xE01F0))
    unseen: dict[int, str | None] = {one: None for one in codes if unicodedata.category(chr(one)) in ("Cf", "Mn", "Me")}
    alike = dict(zip(map(ord, _ALIKE), _LATIN, strict=True))
    return {**unseen, **alike, **{0xE0000 + code: chr(code) for code in range(32, 127)}}


MOST = 4_000_000
"""Characters that are compared, the newest: as many as the largest window of a model holds."""
_LONGEST = 300  # characters of a passage, and those around a value that are looked at
_PLACES = 20  # of one value, the newest
_ENDS = ".!?。！？…)]}>"
_FENCES = ("```", "~~~")
_NAMES = 300  # places of a tool's name in one text
_BESIDE = 100  # characters before a tool's name,
_BEHIND = 400  # and behind it
_LONG_LINE = re.compile(r"[^\n]{1900}[^\s]{0,100}(?=[^\n])")
_SIGNS = " \t*#/>-!<"  # before the words of a comment, a quotation or an entry of a list


@dataclass(frozen=True, slots=True)
class GivenText:
    """A text that the model was given; `source` names it. What is `own`, of user or project, dictates nothing."""

    source: str
    text: str
    own: bool = False


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """Where a call stands in what was given, as the rest of a sentence, and the passage."""

    place: str
    passage: str = ""


@dataclass(frozen=True, slots=True)
class ValuePlace:
    """The text `before` and `after` a value on its line, the line of words `above` that, and `led`, the end of the text
    before, where that broke off in a sentence."""

    before: str
    after: str
    above: str
    led: str
    finding: FoundPassage


@dataclass(frozen=True, slots=True)
class Named:
    line: int
    before: str
    name: str
    behind: str


class FoldedText:
    def __init__(self, given: GivenText) -> None:
        self.given = given
        text = _LONG_LINE.sub(r"\g<0>\n", given.text)
        self.lines = text.split("\n")
        lines = _lines(text, len(self.lines))
        stripped = bare(text)
        self.folded = (lines, lines if stripped == text else _lines(stripped, len(self.lines)))
        plain = "".join(lines)
        self.readings = (plain, plain if self.folded[1] is lines else "".join(self.folded[1]))
        """Its letters, and those without tags and what begins its lines."""
        self._starts: list[list[int]] = [[], []]
        self._cut = text != given.text
        self._named: dict[re.Pattern[str], list[Named]] = {}

    def holds(self, piece: str) -> bool:
        plain, stripped = self.readings
        return piece in plain or (stripped is not plain and piece in stripped)

    def finding(self, line: int, passage: str) -> FoundPassage:
        """Return a passage with the number that people give its line: a very long one is many here."""
        begins = sum(map(len, self.lines[:line])) + line if self._cut else 0
        number = self.given.text.count("\n", 0, begins) + 1 if self._cut else line + 1
        return FoundPassage(f"{self.given.source} (line {number})", passage)

    def named(self, names: Collection[str], pattern: re.Pattern[str]) -> list[Named]:
        """Return where `pattern` finds a tool, in lines that hold the letters of `names`; it is kept."""
        if (known := self._named.get(pattern)) is None:
            lines: dict[int, None] = {}
            for name, reading in product(names, (0, 1)):
                at = -1
                for _ in range(_NAMES):
                    if (at := self.readings[reading].find(name, at + 1)) < 0:
                        break
                    lines[self.line(reading, at)[0]] = None
            known = self._named[pattern] = [one for line in lines for one in self._places(line, pattern)]
        return known

    def _places(self, line: int, pattern: re.Pattern[str]) -> Iterator[Named]:
        text = unescaped(self.lines[line])
        before = unescaped(" ".join(self.lines[max(0, line - 2) : line]))[-_BESIDE:]
        behind = unescaped(" ".join(self.lines[line + 1 : line + 12]))
        for found in pattern.finditer(text.lower()):
            start, end = found.span()
            around = f"{before} {text[:start]}"[-_BESIDE:], text[start:end], f"{text[end:]}\n{behind}"[:_BEHIND]
            yield Named(line, *around)

    def line(self, reading: int, at: int) -> tuple[int, int]:
        """The number of the line that a letter stands in, and where in it."""
        starts = self._starts[reading] or list(accumulate(map(len, self.folded[reading]), initial=0))
        self._starts[reading] = starts
        line = min(bisect_right(starts, at), len(self.lines)) - 1
        return line, at - starts[line]


def _lines(text: str, count: int) -> list[str]:
    lines = letters(text).split("\n")
    if len(lines) == count:
        return lines
    return [letters(line).replace("\n", "") for line in text.split("\n")]  # an escape stood for the end of one


class GivenTexts:
    def __init__(self, texts: Sequence[FoldedText]) -> None:
        self.texts = texts

    @cached_property
    def _readings(self) -> list[tuple[str, list[int]]]:
        both = [[one.readings[reading] for one in self.texts] for reading in (0, 1)]
        parts = both if both[0] != both[1] else both[:1]
        return [("".join(one), list(accumulate(map(len, one), initial=0))) for one in parts]

    def holds(self, piece: str) -> bool:
        return any(piece in joined for joined, _ in self._readings)

    def longest(self, wanted: str) -> int:
        """How many letters at the beginning of `wanted` stand in one piece."""
        return bisect_left(range(1, len(wanted) + 1), True, key=lambda size: not self.holds(wanted[:size]))

    def around(self, wanted: str, behind: int) -> Iterator[str]:
        """The letters around some that stand in them, across the ends of texts."""
        for reading, at in self._found(wanted):
            yield self._readings[reading][0][max(0, at - _LONGEST) : at + behind]

    def places(self, wanted: str) -> Iterator[ValuePlace]:
        """Where some letters stand, the newest first."""
        for reading, at in self._found(wanted):
            yield self._place(reading, at, at + len(wanted) - 1)

    def _found(self, wanted: str) -> Iterator[tuple[int, int]]:
        for reading, (joined, _) in enumerate(self._readings):
            at = len(joined)
            for _ in range(_PLACES):
                if not wanted or (at := joined.rfind(wanted, 0, at + len(wanted) - 1)) < 0:
                    break
                yield reading, at

    def _place(self, reading: int, first: int, last: int) -> ValuePlace:
        starts = self._readings[reading][1]
        number, other = (bisect_right(starts, at) - 1 for at in (first, last))
        text, end = self.texts[number], self.texts[other]
        line, begins = text.line(reading, first - starts[number])
        last_line, ends = end.line(reading, last - starts[other])
        said, behind = text.lines[line], end.lines[last_line]
        start, stop = _raw(said, begins, reading), _raw(behind, ends, reading) + 1
        before, after = said[max(0, start - _LONGEST) : start], behind[stop : stop + _LONGEST]
        led = self.texts[number - 1].lines[-1].rstrip() if number and not line else ""
        led = "" if led[-1:] in _ENDS else words_of(led[-_LONGEST:])
        above = _above(text, line)
        alone = number == other and line == last_line
        value = said[start : stop if alone else len(said)]
        parts = (led if letters(before) else above, before[-160:] + value[:160] + after[:160] * alone)
        passage = " ".join(" ".join(parts).split())[: 2 * _LONGEST]
        return ValuePlace(words_of(before), words_of(after), above, led, text.finding(line, passage))


def _above(text: FoldedText, line: int) -> str:
    for one in range(line - 1, max(-1, line - 5), -1):
        said = bare(text.lines[one][-_LONGEST:]).strip(_SIGNS)
        if letters(said) and not said.startswith(_FENCES):
            return unescaped(said)
    return ""


def _raw(line: str, wanted: int, reading: int) -> int:
    """The place in a line before the letter of that number."""
    plain = bare if reading else str
    return bisect_right(range(len(line)), wanted, key=lambda at: len(letters(plain(line[: at + 1]))))

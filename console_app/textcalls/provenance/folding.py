"""Brings texts into one form to be compared: their letters and digits alone, small, whatever escapes they came in."""

from __future__ import annotations

import html
import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache
from urllib.parse import unquote

_AT_ONCE = 100_000  # characters, which take 10 ms: no other thread runs while a pattern searches them
_DEPTH = 3  # what is quoted in what is quoted is escaped so often
_ESCAPE = re.compile(
    r"(?<!\\)\\++(?:(?:[ux]\{|N\{U\+)([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|[nrtbf])"
)
_PERCENT = re.compile(r"%[0-9a-fA-F]{2}")
_TAG = re.compile(
    r"</?[a-z][a-z0-9-]{0,20}(?:\s[^<>\n]{0,300})?/?>|<!--|-->|<!\[CDATA\[|\]\]>|\x1b\[[0-9;]{0,20}m", re.I
)
_NUMBER = re.compile(
    r"(?m)^[ \t]*(?:[\w./-]{1,80}[:-])?[\[(L]{0,2}\d{1,7}[\])]?[ \t]*[:.|→│-]?(?:[ \t]|(?<=\W))"
    r"|^(?:[ \t]*[>+|#*]){1,4}[ \t]"
)
"""A pattern of the text before each line: its number, or the sign of a quotation, a diff or a comment."""
_SIGNS_STAND_IN = (
    range(128),
    range(128, 0x3100),
    range(0xA640, 0xA800),
    range(0xFE00, 0x10000),
    range(0x1F300, 0x1FB00),
)


def letters(text: str) -> str:
    """`text` as it is compared; where it has lines, their ends stay."""
    return "".join(unescaped(one).lower().translate(_signs()) for one in _slices(text))


def bare(text: str) -> str:
    """`text` without tags within its lines, and without what stands before them."""
    return "".join(_NUMBER.sub("", _TAG.sub("", one)) for one in _slices(text))


def words_of(text: str) -> str:
    """`text` without escapes, with a blank in place of each tag."""
    return _TAG.sub(" ", unescaped(text))


def unescaped(text: str) -> str:
    """`text` without escapes, of which any that stands for the end of a line becomes a blank."""
    for _ in range(_DEPTH + 1):
        if not text.isascii():
            text = unicodedata.normalize("NFKD", text).translate(_unseen())
        before = text
        if "&" in text:
            text = html.unescape(text)
        if "\\" in text:
            text = _ESCAPE.sub(_character, text)
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
    """Map what can't be seen or only marks a letter to nothing, and letters of the tag block to what they stand for."""
    codes = (*range(128, 0x3100), *range(0xFE00, 0x10000), *range(0xE0000, 0xE01F0))
    unseen: dict[int, str | None] = {
        code: None for code in codes if unicodedata.category(chr(code)) in ("Cf", "Mn", "Me")
    }
    return {**unseen, **{0xE0000 + code: chr(code) for code in range(32, 127)}}

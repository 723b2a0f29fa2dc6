"""Texts as they are compared: without layout, quotation, invisible characters and whatever notation they came in."""

from __future__ import annotations

import html
import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache
from urllib.parse import unquote

_AT_ONCE = 100_000  # characters: 10 ms of whatever they are
_DEPTH = 4  # what is quoted in what is quoted is escaped so often, in whichever notations
_ESCAPE = re.compile(
    r"(?<!\\)\\++(?:(?:[ux]\{|N\{U\+)([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|0000([0-9a-fA-F]{2})"
    r"|([2-7][0-9a-fA-F]|[adAD])[ ]|([0-3][0-7]{2})|u([0-9]{2,3})\?|[nrtbf])"
)
_PERCENT = re.compile(r"%[0-9a-fA-F]{2}")
_PERCENT_U = re.compile(r"%u([0-9a-fA-F]{4})")
_QUOTED_PRINTABLE = re.compile(r"=(?:([0-9A-F]{2})|\r?\n)")
_TAG = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|big|br|break|cite|code|del|div|em|font|g|h[1-6]|i|ins|kbd|label|li|mark|nobr|p|phoneme|prosody"
    r"|q|rb|rp|rt|ruby|s|samp|small|span|strike|strong|sub|sup|td|text|tr|tspan|tt|u|var|wbr"
    r"|[a-z]{1,20}-[a-z-]{1,20})(?:\s[^<>]{0,200})?/?>|<!--[^<>]{0,200}-->|<!\[CDATA\[|\]\]>"
)
_BBCODE = re.compile(r"\[/?(?:b|color|font|i|quote|s|size|u|url)(?:=[^\[\]\n]{0,100})?\]")
_UNSHOWN = re.compile(r"\x1b\[[0-?]{0,40}[ -/]{0,4}[@-~]|[^\x08]\x08")
"""What moves or colours a terminal's letters, and letters that others are written over, as in a page of `man`."""
_NOISE = " \t\r\n\v\f\"'`“”‘’„«»「」ʺʹ′ˮʼ\\*>|+"
_BETWEEN = "()[]{}<,;="
"""What else stands between words; `_AT_ENDS` at the beginning or the end of one."""
_AT_ENDS = ".:!?-_/~#$@%&"
_ALIKE = (
    "аеорсухіѕјһԁԛԝӏαεικνορτυᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢհոսօցյꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜᎪᏴᏟᎠᎬᎶᎻᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃᏆɑɡıɩʋɾᴦη"
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧχγωϲϳАВЕЅІЈКМНОРСТУХˍ‐‒–—―−⁃∕⁄∶꞉",
    "aeopcyxisjhdqwlaeikvoptuabcdefghijklmnoprstuvwyzhnuogjabcdefghijklmnoprstuvwxyzabcdeghjklmprstvwziagiivrrn"
    "abezhikmnoptyxxywcjabesijkmhopctyx_-------//::",
)
"""Letters and signs that look like others, and which."""
_FRAMED = (0x1F150, 0x1F170, 0x1F1E6)  # letters in black circles and squares, and those of flags
_SIGNS_STAND_IN = (
    range(128),
    range(128, 0x3100),
    range(0xA640, 0xA800),
    range(0xFE00, 0x10000),
    range(0x1F300, 0x1FB00),
)


def fold(text: str, *, marks: bool = False) -> str:
    """`text` in lower case, without white space and quotation, whatever escapes it was written in. `marks`: with what
    tags and comments of a markup hold, which no reader of its page sees.
    """
    return "".join(_folded(one, marks=marks) for one in _slices(text))


def words(text: str, *, marks: bool = False) -> list[str]:
    """The words of `text`, folded each by itself, without the signs that they begin and end with."""
    apart = " ".join(_plain(one, marks=marks).translate(_apart()) for one in _slices(text))
    return [word for one in apart.split() if (word := one.strip(_AT_ENDS))]


def _slices(text: str) -> Iterator[str]:
    """The text in parts that end with a word where they can, for no other thread runs while a pattern searches one."""
    start = 0
    while start < len(text):
        end = start + _AT_ONCE
        if end < len(text):
            end = max(text.rfind(" ", end - 1_000, end), text.rfind("\n", end - 1_000, end)) + 1 or end
        yield text[start:end]
        start = end


def _folded(text: str, *, marks: bool) -> str:
    return _plain(text, marks=marks).translate(_noise())


def _plain(text: str, *, marks: bool) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text).translate(_unseen())
    for _ in range(_DEPTH):
        before = text
        text = _decoded(text, marks=marks)
        if text == before:
            break
    text = text.lower()
    return text if text.isascii() else text.translate(_unseen())


def signless(folded: str) -> str:
    """What is left of folded text when signs are left out too, as those that begin each line of a comment."""
    return folded.translate(_no_signs())


def _decoded(text: str, *, marks: bool) -> str:
    if "<" in text and not marks:
        text = _TAG.sub("", text)
    if "[/" in text and not marks:
        text = _BBCODE.sub("", text)
    if "\x1b" in text or "\x08" in text:
        text = _UNSHOWN.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    if "\\" in text:
        text = _ESCAPE.sub(_character, text)
    if "%" in text and _PERCENT.search(text):
        text = unquote(text)
    if "%u" in text:
        text = _PERCENT_U.sub(lambda found: chr(int(found[1], 16)), text)
    if "=22" in text or "=3D" in text:
        text = _QUOTED_PRINTABLE.sub(lambda found: chr(int(found[1], 16)) if found[1] else "", text)
    return text


def _character(found: re.Match[str]) -> str:
    *hexadecimal, octal, decimal = found.groups()
    digits = next(filter(None, hexadecimal), "")
    code = int(digits, 16) if digits else int(octal, 8) if octal else int(decimal or "0")
    return chr(code) if 0 < code <= sys.maxunicode else ""


@cache
def _no_signs() -> dict[int, None]:
    return {code: None for codes in _SIGNS_STAND_IN for code in codes if not chr(code).isalnum()}


@cache
def _noise() -> dict[int, str | None]:
    return {ord(char): None for char in _NOISE}


@cache
def _apart() -> dict[int, str | None]:
    return {ord(char): " " for char in _NOISE + _BETWEEN}


@cache
def _unseen() -> dict[int, str | None]:
    """What can't be seen or only marks a letter, to nothing; letters of invisible tags and those that look like others,
    to what they stand for."""
    codes = (*range(128, 0x3100), *range(0xFE00, 0x10000), *range(0xE0000, 0xE01F0))
    unseen: dict[int, str | None] = {
        code: None for code in codes if unicodedata.category(chr(code)) in ("Cf", "Mn", "Me")
    }
    tags = {0xE0000 + code: chr(code) for code in range(32, 127)}
    blank = dict.fromkeys((0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0))
    framed = {first + place: chr(ord("a") + place) for first in _FRAMED for place in range(26)}
    return {**unseen, **blank, **tags, **framed, **{ord(one): other for one, other in zip(*_ALIKE, strict=True)}}

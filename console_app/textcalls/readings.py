"""The ways to read a text: as it is compared, and what else it says to whoever decodes it.

A text is compared without layout, quotation, invisible characters and whatever notation it came in (`fold`). A page may
ask its reader to decode it (`readings`): its letters apart, numbered, coded or turned.
"""

from __future__ import annotations

import html
import re
import sys
import unicodedata
from base64 import b32decode, urlsafe_b64decode
from codecs import encode
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from urllib.parse import unquote

_AT_ONCE = 100_000  # characters, which take 10 ms: no other thread runs while a pattern searches them
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
"""A pattern of signs that move or colour a terminal's letters, and of overwritten letters, as in a page of `man`."""
_NOISE = " \t\r\n\v\f\"'`“”‘’„«»「」ʺʹ′ˮʼ\\*>|+"
_BETWEEN = "()[]{}<,;="
"""A pattern of other signs between words; `_AT_ENDS` at the beginning or the end of one."""
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
_SEAM = 4_000  # characters behind them that are looked at with them
_LAYERS = 2  # of codes in codes
_FEWEST = 20  # digits of a text from which on its numbers are looked at
_NUMBER = re.compile(
    r"(?m)^\[?\d{4}-\d\d-\d\d[T ]\d\d:[\d:.,+Z]{4,20}\]?[ \t]+(?:\[?[A-Z]{3,8}\]?[ \t:]+)?(?:\[[\w.-]{1,40}\][ \t:]*)?"
    r"|^[ \t]*(?:[\w./-]{1,80}[:-])?[\[(L]{0,2}(?:\d{1,7}|[0-9a-f]{8})[\])]?[ \t]*[:.|→│-]?(?:[ \t]|(?<=\W))"
)
"""A pattern of the text before each line: its number, or when it was logged."""
_RUN = re.compile(r"(?<![^\W_])(?:[^\W_][\W_]{1,12}){5,}[^\W_]?")
_GAP = re.compile(r"[\W_]+")
_NUMBERS = re.compile(
    r"(?:(?:\b|(?<=u))(?:0[xob]|u\+|(?:chr|char|chr\$)\(|char\])?[0-9a-f]{2,8}\b[^0-9a-z]{1,4}){7,}(?:0[xob]|u\+|chr\(|char\])?[0-9a-f]{2,8}\b",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"(?:0[xob]|u\+)?([0-9a-f]{2,8})\b", re.IGNORECASE)
_BYTES = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{16,}(?![0-9A-Za-z])")
_BITS = re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{16,}")
_FIFTHS = re.compile(r"(?<!\w)[A-Za-z2-7]{24,}")
_TIGHT = re.compile(r"[A-Za-z0-9+/_-]{64,}")
_APART = re.compile(r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{1,15}[ \t\r\n>|,;\"'`]{1,8}){16,}[A-Za-z0-9+/_-]{1,15}")
_FILLERS = str.maketrans("", "", " \t\r\n>|,;\"'`")
_ONES = re.compile(r"(?<!\w)[01]{56,}(?!\w)")
_UNSEEN_ONES = re.compile(r"[\u200b-\u200f\u2060-\u2064\ufeff]{56,}")
_DUMP = re.compile(r"(?mi)^[ \t]*[0-9a-f]{4,8}:?[ \t]+((?:(?:[0-9a-f]{2}){1,4} {1,2}){4,16})")
_TURNED = re.compile(r"\u202e([^\u202c\u2069]{2,400})")
_SEAMS = re.compile(r"""["'`]\s{0,4}(?:\.{1,2}|&|~|\|\||<>)\s{0,4}["'`]""")
_SHIFTED = re.compile(r"\+([A-Za-z0-9+/]{2,})-?")
_SELECTORS = re.compile(r"[\ufe00-\ufe0f\U000e0100-\U000e01ef]{8,}")
_SHAPE = bytes(ord("a") if chr(code).isascii() and chr(code).isalnum() else ord(".") for code in range(256))
_SPELLED = tuple((b"a" + b"." * gap) * 5 for gap in (1, 2, 3, 4, 5))
_NO_DIGITS = bytes(code for code in range(256) if not 48 <= code < 58)
_SEEN = bytes((*range(32, 127), *b"\r\n\t\0"))


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
    """Return folded text without its signs, as those that begin each line of a comment."""
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
    """Map signs that can't be seen or only mark a letter to nothing; letters of invisible tags and those that look like
    others, to what they stand for."""
    codes = (*range(128, 0x3100), *range(0xFE00, 0x10000), *range(0xE0000, 0xE01F0))
    unseen: dict[int, str | None] = {
        code: None for code in codes if unicodedata.category(chr(code)) in ("Cf", "Mn", "Me")
    }
    tags = {0xE0000 + code: chr(code) for code in range(32, 127)}
    blank = dict.fromkeys((0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0))
    framed = {first + place: chr(ord("a") + place) for first in _FRAMED for place in range(26)}
    return {**unseen, **blank, **tags, **framed, **{ord(one): other for one, other in zip(*_ALIKE, strict=True)}}


def turned(folded: str) -> tuple[str, str]:
    """Folded text with each letter moved by thirteen, and backwards: to do it again gives it back."""
    return encode(folded, "rot13"), folded[::-1]


def readings(text: str, folded: str) -> Iterator[tuple[str, str]]:
    """The other ways to read `text`, each as it is and folded; `folded` is the plain one."""
    if (whole := fold(text, marks=True)) != folded:
        yield text, whole
    for start in range(0, len(text), _AT_ONCE):
        for one in _other_readings(text[start : start + _AT_ONCE + _SEAM], _LAYERS):
            yield one, fold(one)


def _other_readings(text: str, layers: int) -> Iterator[str]:
    plain = _NUMBER.sub("", text)
    if plain != text:
        yield plain
    plain = plain.replace("\\n", "\n").replace("\\/", "/")
    shape = plain.encode("ascii", "replace")
    if any(one in shape.translate(_SHAPE) for one in _SPELLED):
        yield _RUN.sub(_joined, plain)
    if "+A" in plain:
        yield _SHIFTED.sub(lambda found: _text(_of_base64(found[1]), "utf-16-be") or found[0], plain)
    if _SEAMS.search(plain):
        yield _SEAMS.sub("", plain)
    if not plain.isascii():
        yield "".join(_text(bytes(map(_selected, run))) for run in _SELECTORS.findall(plain))
        yield from (_text(_of_ones(run)) for found in _UNSEEN_ONES.findall(plain) for run in _either(found))
        if "\u202e" in plain:
            yield _TURNED.sub(lambda found: found[1][::-1], plain)
    coded = [_codes(_BITS.findall(plain), _of_base64), _codes(_FIFTHS.findall(plain), _of_base32), _tight(plain)]
    if len(shape.translate(None, _NO_DIGITS)) >= _FEWEST:
        coded += [_codes(_BYTES.findall(plain), _of_hexadecimal), *_numbers(plain)]
        coded.append(_text(b"".join(_of_hexadecimal(row.replace(" ", "")[:32]) for row in _DUMP.findall(text))))
        coded += [_text(_of_ones(run)) for run in _ONES.findall(plain)]
    for one in filter(None, coded):
        yield one
        if layers > 1:
            yield from _other_readings(one, layers - 1)


def _joined(run: re.Match[str]) -> str:
    """Letters without what stands between most of them."""
    usual = Counter(_GAP.findall(run[0])).most_common(1)[0][0]

    def between(gap: re.Match[str]) -> str:
        sign = gap[0].removeprefix(usual).removesuffix(usual)
        return sign.replace(usual, "") or sign[:1]

    return _GAP.sub(between, run[0])


def _codes(found: Sequence[str], decode: Callable[[str], bytes]) -> str:
    """Decode the coded words of a text, each alone and, as lines may break anywhere, all together."""
    alone = "".join(_text(decode(one)) for one in found)
    return "\n".join(dict.fromkeys(filter(None, (alone, _text(decode("".join(found))) if len(found) > 1 else ""))))


def _tight(text: str) -> str:
    """Return the text of base64 whose signs stand apart, or in lines that are shorter than a word may be: where its
    first word begins no one can tell.
    """
    runs = [run for apart in _APART.findall(text) for run in _TIGHT.findall(apart.translate(_FILLERS))]
    return "\n".join(_text(_of_base64(run[first:])) for run in runs for first in range(4))


def _numbers(text: str) -> Iterator[str]:
    """Numbers that stand for letters, to each base that may be meant."""
    runs = [_DIGITS.findall(run) for run in _NUMBERS.findall(text)]
    if runs:
        yield "".join(_text(_of_hexadecimal("".join(run))) for run in runs)
    for base in (10, 8, 2):
        yield "".join(_text(bytes(_codes_to(base, run))) for run in runs)


def _codes_to(base: int, run: Sequence[str]) -> Iterator[int]:
    for digits in run:
        try:
            yield min(int(digits, base), 255)
        except ValueError:
            yield 255


def _text(coded: bytes, charset: str = "latin-1") -> str:
    """Return the text that is written in bytes, "" where they are no text."""
    if charset == "latin-1" and len(coded.translate(None, _SEEN)) > len(coded) // 4:
        return ""
    said = coded.decode(charset, "ignore").replace("\0", "")
    seen = "".join(char for char in said if char.isprintable() or char == "\n")
    return seen if said and len(seen.encode("ascii", "ignore")) >= 0.9 * len(said) else ""


def _selected(selector: str) -> int:
    """The byte that a variation selector, which is not seen, can stand for."""
    return (ord(selector) - 0xFE00) if ord(selector) < 0xFFFF else ord(selector) - 0xE0100 + 16


def _of_base64(word: str) -> bytes:
    whole = word[: len(word) - (len(word) % 4 == 1)].replace("+", "-").replace("/", "_")
    return urlsafe_b64decode(whole + "=" * (-len(whole) % 4))


def _of_base32(word: str) -> bytes:
    return b32decode(word[: len(word) // 8 * 8].upper())


def _of_ones(word: str) -> bytes:
    return bytes(int(word[at : at + 8], 2) for at in range(0, len(word) - 7, 8))


def _either(signs: str) -> Iterator[str]:
    """Invisible signs as ones and zeros, where there are but two of them."""
    kinds = sorted(set(signs))
    if len(kinds) == 2:
        for ones in (kinds, kinds[::-1]):
            yield signs.translate({ord(ones[0]): "0", ord(ones[1]): "1"})


def _of_hexadecimal(word: str) -> bytes:
    return bytes.fromhex(word[: len(word) // 2 * 2])

"""Makes foreign text safe to write to a terminal: what could move, hide or reorder becomes a visible mark. Marks are
control pictures for C0 and `<U+XXXX>` for the rest: C1, bidirectional controls (Trojan Source, CVE-2021-42574),
zero-width characters, line separators, tags and lone surrogates. A joiner inside an emoji, and a variation selector
behind a character it can style, are left alone."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar, cast

T = TypeVar("T")
ALWAYS_UNSAFE = (  # the inside of a character class
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # invisible letters and fillers
    "\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f"  # zero width, bidi, separators
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff"  # fillers, BOM, annotations, surrogates
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # format controls, tags, selectors
)
PLACEHOLDER = "\U0010eeee"  # some terminals draw a picture in its place: only the console's own may stand
_PICTOGRAPH = "\u00a9\u00ae\u200d\u203c-\u3299\ufe0f\U0001f000-\U0001faff"
_STYLED = "#*0-9\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
_UNSAFE = re.compile(  # one set of characters comes first: so ten megabytes are gone through in a tenth of a second
    f"[{ALWAYS_UNSAFE}{PLACEHOLDER}\u200d\ufe00-\ufe0f](?:(?<=[{ALWAYS_UNSAFE}{PLACEHOLDER}])"
    f"|(?<=\u200d)(?:(?<![{_PICTOGRAPH}]\u200d)|(?![{_PICTOGRAPH}]))"
    f"|(?<=[\ufe00-\ufe0f])(?<![{_STYLED}][\ufe00-\ufe0f]))"
)
SGR = re.compile(r"\x1b\[([0-9;:]*)m")  # a colour or an emphasis
LONGEST_LINE = 2000  # characters of a line of output that are shown
_ESCAPE = re.compile(
    r"\x1b(?:\[(?![0-9;:]*m)[0-?]{0,40}[ -/]{0,8}[@-~]"  # moves the cursor, erases, sets a mode
    r"|[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"  # titles, links, the clipboard
    r"|[ -/]{1,8}[0-~]|[0-OQ-WYZ\\`a-~])"
)

_SAFE = bytes(code for code in range(128) if not _UNSAFE.match(chr(code)))  # of ASCII
_LONG = 10_000  # characters from which a text is worth a look at what it begins with
BLANKS = "\u2800\U00013441\U00013442\U00016fe4\U0001d159"  # signs that draw nothing, and are no white space
_BLANK = re.compile(rf"[\s{BLANKS}{ALWAYS_UNSAFE}]*")
_LINE_BREAKS = re.compile(rf"\r\n?|\n|\t|[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000{BLANKS}]{{2,}}")


def encodable(text: str) -> str:
    """Join surrogate pairs, and make lone halves, which no UTF-8 can hold, U+FFFD. For where text comes in."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def as_text(value: Any) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _mark(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"


def visible(text: str) -> str:
    if is_safe(text):
        return text
    return _UNSAFE.sub(_mark, text.replace("\r\n", "\n"))


def is_blank(text: str) -> bool:
    return _BLANK.fullmatch(text) is not None


def one_line(text: str, limit: int = 0) -> str:
    """`text` made safe and folded to one line; with `limit` over 0, cut to that many characters with an ellipsis."""
    if limit > 0 and len(text) > limit * 8:
        text = text[: limit * 8]  # what is beyond can't be seen; spare the work on megabytes
    folded = visible(_LINE_BREAKS.sub(" ", text)).strip()
    if 0 < limit < len(folded):
        return folded[: max(limit - 1, 0)] + "…"
    return folded


def is_safe(text: str) -> bool:
    plain = ascii_length(text) if len(text) > _LONG else 0
    if plain and text[:plain].encode().translate(None, _SAFE):
        return False
    return _UNSAFE.search(text, max(plain - 1, 0)) is None


def size_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def ascii_length(text: str) -> int:
    try:
        return len(text.encode("ascii"))
    except UnicodeEncodeError as error:
        return error.start


def written_lines(text: str, most: int = sys.maxsize) -> list[str]:
    """Return the newest lines that aren't blank, as they stand after every carriage return; of escapes only colours are
    left."""
    found: list[str] = []
    end = len(text)
    while end >= 0 and len(found) < most:
        begin = text.rfind("\n", 0, end)
        if shown := _as_it_stands(text[begin + 1 : end]):
            found.append(shown)
        end = begin
    return found[::-1]


def plain_lines(text: str, most: int = sys.maxsize) -> list[str]:
    """Return those lines without colours, and safe to show anywhere."""
    return [visible(SGR.sub("", line)) for line in written_lines(text, most)]


def _as_it_stands(line: str) -> str:
    """Return the line that is left of one which was written over; "" for a blank one."""
    if "\r" in line:
        line = next((part for part in reversed(line.split("\r")) if part.strip()), "")
    if "\x1b" in line:
        line = _ESCAPE.sub("", line)
    line = line[:LONGEST_LINE]
    if "\b" in line:
        left: list[str] = []
        for one in line:
            if one != "\b":
                left.append(one)
            elif left:
                left.pop()
        line = "".join(left)
    return line.rstrip() if SGR.sub("", line).strip() else ""


def json_line(value: Any) -> str:
    """`value` as one line of JSON. Every control, C1, bidi or lone surrogate character in it is escaped."""
    try:
        text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except ValueError:
        finite = changed(value, float, lambda one: one if math.isfinite(one) else None)
        text = json.dumps(finite, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("\x7f", "\\u007f")


def changed(value: Any, kind: type[T], change: Callable[[T], Any], *, names: bool = False) -> Any:
    """Return a JSON value with each value in it that is of `kind` changed; with `names` those of fields, too."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, dict):
        fields: dict[Any, Any] = {}
        for name, one in cast("dict[Any, Any]", value).items():
            fields[change(name) if names else name] = changed(one, kind, change, names=names)
        return fields
    if isinstance(value, list | tuple):  # of a tuple JSON makes a list, too
        return [changed(one, kind, change, names=names) for one in cast("list[Any]", value)]
    return value


def texts_in(value: Any, *, names: bool = False) -> Iterator[str]:
    """Yield each text in a JSON value; with `names` those of fields, too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in cast("dict[str, Any]", value).items():
            if names:
                yield name
            yield from texts_in(one, names=names)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from texts_in(one, names=names)


def as_list(value: Any) -> list[Any]:
    """Return a JSON value that should be a list; an empty list where it is none."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def object_in(text: str | bytes) -> dict[str, Any]:
    """Return the object that JSON is; {} for all else."""
    try:
        return as_object(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def no_constant(name: str) -> NoReturn:
    """Refuse `NaN` and `Infinity`, which Python's reader of JSON takes."""
    raise ValueError(f"{name} is not JSON")


def _exact_number(text: str) -> float:
    from decimal import Decimal  # rarely needed

    number = float(text)
    if not math.isfinite(number) or Decimal(repr(number)) != Decimal(text):
        raise ValueError(f"the number {text[:60]} has more digits than a program keeps; write it as a text")
    return number


def _object_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of JSON that `pairs` make. Raises ValueError for a key that is there twice, as nobody could say
    which is meant."""
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields:
            raise ValueError(f"the key “{key}” is there twice")
        fields[key] = value
    return fields


ONCE = json.JSONDecoder(object_pairs_hook=_object_once, parse_constant=no_constant)
AS_WRITTEN = json.JSONDecoder(object_pairs_hook=_object_once, parse_float=_exact_number, parse_constant=no_constant)
"""Read JSON that a person wrote: with each key once, and as it stands or not at all."""

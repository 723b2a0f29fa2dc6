"""What looks like a call of a tool that exists, in an answer without any: so that none is lost in silence."""

import re
from dataclasses import dataclass
from functools import cache

from console_app.dialects.patterns import any_of, lazily, lead_word
from console_app.dialects.shapes import NAME_KEYS
from console_app.dialects.source import WINDOW
from console_app.dialects.table import DIALECTS, SECTIONS
from console_app.dialects.tool_schemas import ToolSchemas

_MOST = 200  # marks that are looked at
_REACH = 160
_WORD = lazily(r"\w(?:[\w.\-]|\\_)*")
_LAST_WORD = lazily(r"\w(?:[\w.\-]|\\_){0,100}\s*\Z")
_SEPARATOR = lazily(r"<[ \t]?\\?[|｜][ \t]?tool(?:[▁ \t]|\\?_)sep[ \t]?\\?[|｜][ \t]?\\?>")
"""What stands behind a tool's name, or before it, in calls between bars: these may come without their opening."""
_LOOSE = lazily(r"(?P<bar>(?:\\\|)|｜)|(?P<join>_|▁)|>|\\[\[\]]")
_BEFORE_NAME = lazily(
    r"<(?=\w[\w.\-]*[ \t]*(?:\n|\Z))"
    r"|^(?:<(?=\w[\w.\-]*(?:>|[ \t]+[\w.\-]+=))|\[(?=\w[\w.\-]*\()|action[ \t]{0,2}=[ \t]*(?=\w))",
    re.MULTILINE | re.IGNORECASE,
)
"""Marks that the name follows at once: the tag that a call in tags of the tools' names begins with, broken off, with
attributes or with text in place of parameters; a list of calls in Python; a label with the wrong sign.
"""
_PLACE = "it stands in code, in a quotation or in a list"
_MARK = "its mark is not written as in any dialect"
_LIST = "more than calls stands on its line"


@dataclass(frozen=True)
class SeemingCall:
    """What seems to be a call, from `start` to the `end` of the tool's `name`, and `why` it is none."""

    start: int
    end: int
    name: str
    why: str


def mentioned(text: str, tools: ToolSchemas, *, unmarked: bool, start: int = 0) -> SeemingCall | None:
    """The first mark from `start` on, in either case and with blanks in its brackets, that a tool's name follows.
    `unmarked`: the key of a name in an object, a label, half a tag of the name and a list in Python are marks too.
    """
    lead, marks = _marks(unmarked)
    looked = 0
    for begin in range(start, len(text), WINDOW):
        for first in lead.finditer(text, begin, begin + WINDOW):
            looked += 1
            if looked > _MOST:
                return None
            if (tail := _SEPARATOR.match(text, first.start())) and (
                (before := _LAST_WORD.search(text, max(0, first.start() - _REACH), first.start()))
                and (name := tools.resolve(_plain(before.group())))
            ):
                return SeemingCall(before.start(), tail.end(), name, _MARK)
            at_once = _BEFORE_NAME.match(text, first.start()) if unmarked else None
            for found in filter(None, (at_once, marks.match(text, first.start()))):
                for word in _WORD.finditer(text, found.end(), found.end() + _REACH):
                    if name := tools.resolve(_plain(word.group())):
                        escaped = text[: found.start()].endswith("\\")
                        return SeemingCall(found.start(), word.end(), name, _MARK if escaped else _why(found))
                    if found is at_once:
                        break
    return None


def _why(found: re.Match[str]) -> str:
    mark = found.group()
    if mark == "[":
        return _LIST
    return _MARK if found.lastgroup == "loose" or (mark[0] in "aA" and "=" in mark) else _PLACE


def _plain(word: str) -> str:
    """A name without what Markdown escapes it with."""
    return word.replace("\\", "").strip()


@cache
def _marks(unmarked: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    markers = {token for row in DIALECTS if row.marked for token in (*row.opens, *row.begins)} | set(SECTIONS)
    markers.add("<tool_code>")
    markers |= {*(f'"{key}"' for key in NAME_KEYS), "Action:"} if unmarked else set()
    lead = {one if one[0] == '"' else lead_word(one) for one in markers}
    sign = r"|^action[ \t]{0,2}=" if unmarked else ""
    tags = {one for one in markers if one[0] in "<["}
    spaced = any_of({one[1:].rstrip(">]") for one in tags})
    loose = rf"[<\[][ \t]{{1,2}}{spaced}(?:(?<=\W)|(?!\w))|{_loosely(tags)}|{_SEPARATOR.pattern}"
    either = re.IGNORECASE | re.MULTILINE
    return (
        re.compile("|".join(sorted(map(re.escape, lead))) + sign, either),
        re.compile(rf"{any_of(markers)}|(?P<loose>{loose})", either),
    )


def _loosely(tags: set[str]) -> str:
    """The marks as Markdown escapes them, and those between bars with blanks in them."""
    barred = {one for one in tags if one[1:2] in "|｜"}
    escaped = _LOOSE.sub(lambda found: rf"\\?{found.group()}", any_of(tags - barred))
    return f"{escaped}|{_LOOSE.sub(_with_blanks, any_of(barred))}"


def _with_blanks(found: re.Match[str]) -> str:
    if found["bar"]:
        return r"[ \t]?\\?[|｜][ \t]?"
    return r"(?:[ \t▁]|\\?_)" if found["join"] else rf"\\?{found.group()}"

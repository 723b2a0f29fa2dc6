"""What looks like a call of a tool that exists, in an answer without any: so that none is lost in silence."""

import re
from dataclasses import dataclass
from functools import cache

from console_app.dialects.patterns import any_of, lazily, leads
from console_app.dialects.shapes import NAME_KEYS
from console_app.dialects.source import WINDOW
from console_app.dialects.table import DIALECTS, SECTIONS
from console_app.dialects.tool_schemas import ToolSchemas

_MOST = 200  # marks that are looked at
_REACH = 160
_WORD = lazily(r"\w[\w.\-]*")
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
            at_once = _BEFORE_NAME.match(text, first.start()) if unmarked else None
            for found in filter(None, (at_once, marks.match(text, first.start()))):
                for word in _WORD.finditer(text, found.end(), found.end() + _REACH):
                    if name := tools.resolve(word.group()):
                        return SeemingCall(found.start(), word.end(), name, _why(found.group()))
                    if found is at_once:
                        break
    return None


def _why(mark: str) -> str:
    if mark == "[":
        return _LIST
    return _MARK if mark[1:2].isspace() or (mark[0] in "aA" and "=" in mark) else _PLACE


@cache
def _marks(unmarked: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    markers = {token for row in DIALECTS if row.marked for token in (*row.opens, *row.begins)} | set(SECTIONS)
    markers.add("<tool_code>")
    markers |= {*(f'"{key}"' for key in NAME_KEYS), "Action:"} if unmarked else set()
    lead = {one if one[0] == '"' else leads([one])[0].replace("\\", "") for one in markers}
    sign = r"|^action[ \t]{0,2}=" if unmarked else ""
    spaced = any_of({one[1:].rstrip(">]") for one in markers if one[0] in "<["})
    either = re.IGNORECASE | re.MULTILINE
    return (
        re.compile("|".join(sorted(map(re.escape, lead))) + sign, either),
        re.compile(rf"{any_of(markers)}|[<\[][ \t]{{1,2}}{spaced}(?:(?<=\W)|(?!\w))", either),
    )

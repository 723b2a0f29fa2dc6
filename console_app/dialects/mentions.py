"""What looks like a call of a tool that exists, in an answer without any: so that none is lost in silence."""

import re
from functools import cache

from console_app.dialects.patterns import any_of, lazily, leads
from console_app.dialects.shapes import NAME_KEYS
from console_app.dialects.source import WINDOW
from console_app.dialects.table import DIALECTS, SECTIONS
from console_app.dialects.tool_schemas import ToolSchemas

_MOST = 200  # marks that are looked at
_REACH = 160
_WORD = lazily(r"\w[\w.\-]*")
_HALF_TAG = lazily(r"<(?=\w[\w.\-]*[ \t]*(?:\n|\Z))")
"""The tag that a call in tags of the tools' names begins with, broken off."""
WHY = "it stands in code, in a quotation or in a list"


def mentioned(text: str, tools: ToolSchemas, *, unmarked: bool) -> tuple[int, int, str] | None:
    """Where the first mark stands, in either case, that a tool's name follows: its start, the name's end, and
    the name. `unmarked`: the key of a name in an object, a label, and half a tag of the name are marks too.
    """
    lead, marks = _marks(unmarked)
    looked = 0
    for begin in range(0, len(text), WINDOW):
        for first in lead.finditer(text, begin, begin + WINDOW):
            looked += 1
            if looked > _MOST:
                return None
            half = _HALF_TAG.match(text, first.start()) if unmarked else None
            if (found := half or marks.match(text, first.start())) is None:
                continue
            for word in _WORD.finditer(text, found.end(), found.end() + _REACH):
                if name := tools.resolve(word.group()):
                    return found.start(), word.end(), name
                if half:
                    break
    return None


@cache
def _marks(unmarked: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    markers = {token for row in DIALECTS if row.marked for token in (*row.opens, *row.begins)} | set(SECTIONS)
    markers.add("<tool_code>")
    markers |= {*(f'"{key}"' for key in NAME_KEYS), "Action:"} if unmarked else set()
    lead = {one if one[0] == '"' else leads([one])[0].replace("\\", "") for one in markers}
    either = re.IGNORECASE
    return re.compile("|".join(sorted(map(re.escape, lead))), either), re.compile(any_of(markers), either)

"""What looks like a call of a tool that exists, in an answer without any: so that none is lost in silence."""

import re
from functools import cache

from console_app.dialects.patterns import any_of
from console_app.dialects.shapes import NAME_KEYS
from console_app.dialects.table import DIALECTS, SECTIONS
from console_app.dialects.tool_schemas import ToolSchemas

_MOST = 200  # marks that are looked at
_REACH = 160
_WORD = re.compile(r"\w[\w.\-]*")
WHY = "it stands in code, in a quotation or in a list"


def mentioned(text: str, tools: ToolSchemas, *, unmarked: bool) -> tuple[int, int, str] | None:
    """Where the first mark stands that a tool's name follows: its start, the name's end, and the name. `unmarked`: the
    key of a name in an object, and a label, are marks too.
    """
    for count, found in enumerate(_marks(unmarked).finditer(text)):
        if count == _MOST:
            break
        for word in _WORD.finditer(text, found.end(), found.end() + _REACH):
            if word.group() in tools:
                return found.start(), word.end(), word.group()
    return None


@cache
def _marks(unmarked: bool) -> re.Pattern[str]:
    markers = {token for row in DIALECTS if row.marked for token in (*row.opens, *row.begins)} | set(SECTIONS)
    shapes = rf"|\"(?:{'|'.join(NAME_KEYS)})\"\s{{0,8}}:|\nAction:" if unmarked else ""
    return re.compile(any_of(markers) + shapes)

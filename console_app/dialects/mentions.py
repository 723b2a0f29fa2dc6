"""What looks like a call of a tool that exists, in an answer without any: so that none is lost in silence.

It calls nothing, it is told of: a mark of some dialect that a tool's name follows. Marks are compared without what
Markdown or a tokenizer adds to them: backslashes, blanks beside brackets and bars, other letters for bars and joints.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

from console_app.dialects.conclusions import Places
from console_app.dialects.model import ScanProblem
from console_app.dialects.patterns import any_of, lazily, lead_word
from console_app.dialects.shapes import NAME_KEYS
from console_app.dialects.source import WINDOW
from console_app.dialects.table import DIALECTS, SECTIONS
from console_app.dialects.tool_schemas import ToolSchemas
from console_app.dialects.vocabulary import CHAT_TOKENS

_MOST = 200  # marks that are looked at
_REACH = 200
_MOST_ENDS = 5
_WORD = lazily(r"\w[\w.\-]*")
_LAST_WORD = lazily(r"\w[\w.\-]{0,100}\s*\Z")
_ADDED = lazily(r"\\(?=[^\w\s]|_)|(?<=[<\[|])[ \t]{1,2}|[ \t]{1,2}(?=[>\]|])")
_BARRED = lazily(r"(?<=\|)\w+(?: \w+)+(?=\|)")
_SEPARATOR = "<|tool_sep|>"
"""What stands behind a tool's name, or before it, in calls between bars: these may come without their opening."""
_AT_ONCE = lazily(
    r"<(?=\w[\w.\-]*[ \t]*(?:\n|\Z))"
    r"|^(?:<(?=\w[\w.\-]*(?:>|[ \t]+[\w.\-]+=))|\[(?=\w[\w.\-]*\()|action[ \t]{0,2}=[ \t]*(?=\w))",
    re.MULTILINE | re.IGNORECASE,
)
"""Marks that the name follows at once: the tag that a call in tags of the tools' names begins with, broken off, with
attributes or with text in place of parameters; a list of calls in Python; a label with the wrong sign.
"""
_QUOTES = ("'", '"', "“", "‘", "«")
_ENDS = lazily(r"call|tool|function|action", re.IGNORECASE)
WHY = "it is quoted, or its mark is not written as in any dialect"


@dataclass(frozen=True)
class SeemingCall:
    """What seems to be a call of the tool `name`: its mark from `start`, up to the `end` of the name behind it."""

    start: int
    end: int
    name: str


def mentioned(text: str, tools: ToolSchemas, *, unmarked: bool, start: int = 0) -> SeemingCall | None:
    """The first mark from `start` on, in either case, that a tool's name follows. `unmarked`: the key of a name in an
    object, a label, half a tag of the name and a list in Python are marks too.
    """
    leads, marks = _marks(unmarked)
    looked = 0
    for begin in range(start, len(text), WINDOW):
        for lead in leads.finditer(text, begin, begin + WINDOW):
            looked += 1
            if looked > _MOST:
                return None
            at, plain = lead.start(), _plain(text[lead.start() : lead.end() + _REACH])
            words: list[str] = []
            if unmarked and (found := _AT_ONCE.match(text, at)):
                words += _WORD.findall(_plain(text[found.end() : found.end() + _REACH]))[:1]
            if found := marks.match(plain):
                words += _WORD.findall(plain, found.end())
            if plain.startswith(_SEPARATOR) and (last := _LAST_WORD.search(_plain(text[max(0, at - _REACH) : at]))):
                words.append(last.group().strip())
            if word := next(filter(tools.resolve, words), None):
                there = text.find(word, at)
                return SeemingCall(at, lead.end() if there < 0 else there + len(word), tools.resolve(word) or "")
    return None


def _plain(text: str) -> str:
    """A stretch of text, or a mark, without what may be added to a mark."""
    plain = _ADDED.sub("", text.replace("｜", "|").replace("▁", "_"))
    return _BARRED.sub(lambda found: found.group().replace(" ", "_"), plain)


@cache
def _marks(unmarked: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Where a mark may begin, and the marks as `_plain` gives them."""
    marks = {token for row in DIALECTS if row.marked for token in (*row.opens, *row.begins)} | set(SECTIONS)
    marks |= {"<tool_code>", _SEPARATOR}
    marks |= {*(f'"{key}"' for key in NAME_KEYS), "Action:"} if unmarked else set()
    leads = {one if one[0] == '"' else lead_word(one) for one in marks}
    sign = r"|^action[ \t]{0,2}=" if unmarked else ""
    either = re.IGNORECASE | re.MULTILINE
    return (
        re.compile("|".join(sorted(map(re.escape, leads))) + sign, either),
        re.compile(any_of(map(_plain, marks)), either),
    )


def unread(raw: str, names: Sequence[str]) -> ScanProblem | None:
    """The end of a call that an answer without calls holds alone: where there are tools it seems to have meant one."""
    if names and (end := _lone_end(raw)):
        why = f"The answer holds the end of a call ({raw[slice(*end)]}) and no call."
        return Places(raw).problem("ignored", why, *end, None)
    return None


def _lone_end(raw: str) -> tuple[int, int] | None:
    """The token with which an answer ends as a call of some dialect does, or a special one anywhere but in code or
    quotation marks, for it is not shown.
    """
    last, special = _end_patterns()
    if found := last.search(raw, max(0, len(raw) - 200)):
        return found.span("end")
    for found in islice(special.finditer(raw), _MOST_ENDS):
        before = raw[: found.start()]
        if before[-1:] not in _QUOTES and not before.count("```") % 2 and not before.rpartition("\n")[2].count("`") % 2:
            return found.span()
    return None


@cache
def _end_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What ends an answer as a call ends, and what ends calls wherever it stands."""
    closes = {close for row in DIALECTS if row.marked for close in row.closes} | set(SECTIONS.values())
    ends = sorted(close for close in closes if _ENDS.search(close))
    last = rf"(?:\A|[}}\])>`\"'])\s*(?P<end>{any_of(ends)})(?:\s|{any_of(CHAT_TOKENS)})*\Z"
    return re.compile(last), re.compile(any_of([end for end in ends if end.startswith(("<|", "<｜"))]))

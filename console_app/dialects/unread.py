"""What an answer without calls seems to have meant as one, where it holds no dialect's mark: misspelt, or an end alone.

It calls nothing; it is told of, so that no call is lost in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from itertools import islice

from console_app.dialects.patterns import any_of
from console_app.dialects.table import DIALECTS, SECTIONS
from console_app.dialects.vocabulary import CHAT_TOKENS

_LONG = 100_000  # characters from which on an answer is not a lost call
_MOST = 5  # words that are compared with the tools' names
_LIKE = 0.85
_ENDS = re.compile(r"call|tool|function|action", re.IGNORECASE)
_QUOTES = ("'", '"', "“", "‘", "«")
_MARK = re.compile(
    r"^[ \t]*[<\[({]?[<\[|｜]?/?(?P<mark>[A-Za-z][\w:.-]{1,30})(?:[ \t]+name)?[ \t]*[=:][ \t]*[\"'`]?", re.M
)
_NAME = re.compile(r"\w[\w.-]*")
_GOES_ON = re.compile(r"[\"'`]?[ \t]*(?:/?>|\n\s*(?:[{<]|(?:\w+ )?(?:input|arg|param)\w*[ \t]*[:=]))", re.IGNORECASE)
_TAG = re.compile(r"^[ \t]*<(?P<name>[A-Za-z][\w.-]{3,80})>(?=\s*<[\w.-]{1,80}>)", re.M)
_CALLS = ("action", "call", "function", "function_call", "invoke", "recipient", "tool", "tool_call", "tool_name")
_TOLD_APART = re.compile(r"[_.:-]|[a-z][A-Z]")  # in a name that is no word like any other, as of a setting or a person
_INPUT = re.compile(r"arg|param|input", re.IGNORECASE)
_OBJECT = re.compile(r"\A\s*[\[{][\s\S]*[\]}]\s*\Z")
_VALUE = re.compile(r"[\"'](?:name|tool|tool_name|function|action)[\"']\s*:\s*[\"'](?P<name>[\w.-]{3,80})[\"']")
_PYTHON = re.compile(r"\A\s*(?:print\s*\(\s*)?(?P<name>[A-Za-z_][\w.]{2,80})\([^\n]*\)\s*\Z")

MISSPELT = "its mark is not written as in any dialect"
NO_SUCH = "no tool has exactly this name"
IS_CODE = "it is written as code"
ENDS_ALONE = "The answer holds the end of a call ({}) and no call"


def seeming_call(raw: str, names: Sequence[str]) -> tuple[str, int, str] | None:
    """The tool that an answer seems to call, at which offset, and why it doesn't; None where nothing seems so."""
    if len(raw) > _LONG or not names:
        return None
    known = {_plain(name): name for name in names}
    for name, at, why in _found(raw, known):
        return name, at, why
    return None


def lone_end(raw: str) -> str:
    """The token with which an answer ends as a call of some dialect does, or a special one anywhere but in code or
    quotation marks, for it is not shown; "" where there is none.
    """
    last, special = _end_patterns()
    if found := last.search(raw[-200:]):
        return found.group("end")
    for found in islice(special.finditer(raw), _MOST):
        before = raw[: found.start()]
        if before[-1:] not in _QUOTES and not before.count("```") % 2 and not before.rpartition("\n")[2].count("`") % 2:
            return found.group()
    return ""


def _found(raw: str, known: dict[str, str]) -> Iterator[tuple[str, int, str]]:
    for mark in _MARK.finditer(raw):
        word = _NAME.match(raw, mark.end())
        if word is not None and (name := known.get(_plain(word.group()))) and _GOES_ON.match(raw, word.end()):
            if not _TOLD_APART.search(name) and not get_close_matches(mark["mark"].lower(), _CALLS, 1, _LIKE):
                continue  # of YAML, say
            yield name, mark.start("mark"), MISSPELT
    if (called := _PYTHON.match(raw)) and (name := known.get(_plain(called["name"]))):
        yield name, called.start("name"), IS_CODE
    tags = (tag for tag in islice(_TAG.finditer(raw), _MOST) if f"</{tag['name']}>" in raw)
    values = islice(_VALUE.finditer(raw), _MOST) if _OBJECT.match(raw) else ()
    for word in (*tags, *values):
        like = get_close_matches(_plain(word["name"]), known, 1, _LIKE)
        if like and (_TOLD_APART.search(known[like[0]]) or _INPUT.search(raw)):
            yield known[like[0]], word.start("name"), NO_SUCH


def _plain(name: str) -> str:
    return re.sub(r"[_.-]", "", name).lower()


@cache
def _end_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What ends an answer as a call ends, and what ends calls wherever it stands."""
    closes = {close for row in DIALECTS if row.marked for close in row.closes} | set(SECTIONS.values())
    ends = sorted(close for close in closes if _ENDS.search(close))
    last = rf"(?:\A|[}}\])>`\"'])\s*(?P<end>{any_of(ends)})(?:\s|{any_of(CHAT_TOKENS)})*\Z"
    return re.compile(last), re.compile(any_of([end for end in ends if end.startswith(("<|", "<｜"))]))

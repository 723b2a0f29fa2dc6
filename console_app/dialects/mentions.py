"""What looks like a call of a tool that exists, in an answer without any: so that none is lost in silence.

It calls nothing, it is told of: a mark of some dialect that a tool's name follows, or what was meant as one.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import islice

from console_app.dialects.conclusions import Places
from console_app.dialects.model import ScanProblem
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
_LONG = 100_000  # characters from which on an answer is not a lost call
_MOST_WORDS = 5  # words that are compared with the tools' names
_LIKE = 0.85
_ENDS = lazily(r"call|tool|function|action", re.IGNORECASE)
_NAMING = lazily(
    r"^[ \t]*[<\[({]?[<\[|｜]?/?(?P<mark>[A-Za-z][\w:.-]{1,30})(?:[ \t]+name)?[ \t]*[=:][ \t]*[\"'`]?", re.M
)
_GOES_ON = lazily(r"[\"'`]?[ \t]*(?:/?>|\n\s*(?:[{<]|(?:\w+ )?(?:input|arg|param)\w*[ \t]*[:=]))", re.IGNORECASE)
_LETTERS = lazily(r"\w[\w.-]*")
_TAG = lazily(r"^[ \t]*<(?P<name>[A-Za-z][\w.-]{3,80})>(?=\s*<[\w.-]{1,80}>)", re.M)
_CALLS = ("action", "call", "function", "function_call", "invoke", "recipient", "tool", "tool_call", "tool_name")
_TOLD_APART = lazily(r"[_.:-]|[a-z][A-Z]")  # in a name that is no word like any other, as of a setting or a person
_INPUT = lazily(r"arg|param|input", re.IGNORECASE)
_OBJECT = lazily(r"\A\s*[\[{][\s\S]*[\]}]\s*\Z")
_VALUE = lazily(r"[\"'](?:name|tool|tool_name|function|action)[\"']\s*:\s*[\"'](?P<name>[\w.-]{3,80})[\"']")
_PYTHON = lazily(r"\A\s*(?:print\s*\(\s*)?(?P<name>[A-Za-z_][\w.]{2,80})\([^\n]*\)\s*\Z")

MISSPELT = "its mark is not written as in any dialect"
NO_SUCH = "no tool has exactly this name"
IS_CODE = "it is written as code"
_PLACE = "it stands in code, in a quotation or in a list"
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
                return SeemingCall(before.start(), tail.end(), name, MISSPELT)
            at_once = _BEFORE_NAME.match(text, first.start()) if unmarked else None
            for found in filter(None, (at_once, marks.match(text, first.start()))):
                for word in _WORD.finditer(text, found.end(), found.end() + _REACH):
                    if name := tools.resolve(_plain(word.group())):
                        escaped = text[: found.start()].endswith("\\")
                        return SeemingCall(found.start(), word.end(), name, MISSPELT if escaped else _why(found))
                    if found is at_once:
                        break
    return None


def _why(found: re.Match[str]) -> str:
    mark = found.group()
    if mark == "[":
        return _LIST
    return MISSPELT if found.lastgroup == "loose" or (mark[0] in "aA" and "=" in mark) else _PLACE


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


def unread(raw: str, names: Sequence[str]) -> ScanProblem | None:
    """What an answer without calls seems to have meant as one, where no dialect's mark stands before a tool's name:
    misspelt, as code, or an end alone.
    """
    if found := seeming_call(raw, names):
        return Places(raw).problem("ignored", f"Not taken as a call: {found.why}.", found.start, found.end, found.name)
    text = raw.rstrip()
    if names and (end := _lone_end().search(text, max(0, len(text) - 400))):
        why = f"The answer ends as a call does ({end['end']}) and holds none."
        return Places(raw).problem("ignored", why, *end.span("end"), None)
    return None


def seeming_call(raw: str, names: Sequence[str]) -> SeemingCall | None:
    """The tool that an answer seems to call without any dialect's mark; None where nothing seems so."""
    if len(raw) <= _LONG:
        for at, name, why in _unmarked(raw, {_letters(name): name for name in names}):
            return SeemingCall(at, at + len(name), name, why)
    return None


def _unmarked(raw: str, known: dict[str, str]) -> Iterator[tuple[int, str, str]]:
    for mark in _NAMING.finditer(raw):
        word = _LETTERS.match(raw, mark.end())
        if word is not None and (name := known.get(_letters(word.group()))) and _GOES_ON.match(raw, word.end()):
            if not _TOLD_APART.search(name) and not get_close_matches(mark["mark"].lower(), _CALLS, 1, _LIKE):
                continue  # of YAML, say
            yield mark.start("mark"), name, MISSPELT
    if (called := _PYTHON.match(raw)) and (name := known.get(_letters(called["name"]))):
        yield called.start("name"), name, IS_CODE
    tags = (tag for tag in islice(_TAG.finditer(raw), _MOST_WORDS) if f"</{tag['name']}>" in raw)
    values = islice(_VALUE.finditer(raw), _MOST_WORDS) if _OBJECT.match(raw) else ()
    for word in (*tags, *values):
        like = get_close_matches(_letters(word["name"]), known, 1, _LIKE)
        if like and (_TOLD_APART.search(known[like[0]]) or _INPUT.search(raw)):
            yield word.start("name"), known[like[0]], NO_SUCH


def _letters(name: str) -> str:
    return re.sub(r"[_.-]", "", name).lower()


@cache
def _lone_end() -> re.Pattern[str]:
    """The token with which a call of some dialect ends, at the end of an answer and behind what ends there too."""
    closes = {close for row in DIALECTS if row.marked for close in row.closes} | set(SECTIONS.values())
    ends = sorted(close for close in closes if _ENDS.search(close))
    return re.compile(rf"(?:\A|[}}\])>`\"'])\s*(?P<end>{any_of(ends)})\Z")

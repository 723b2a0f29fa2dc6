"""Finds what looks like a call of a tool that exists, in an answer without any: so that none is lost in silence.

It calls nothing, it is told of: a mark of some dialect that a tool's name follows, or what was meant as one. Marks are
compared without what Markdown or a tokenizer adds: backslashes, blanks beside brackets and bars, other bars and joints.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache, partial
from html import unescape
from itertools import islice

from console_app.textcalls.bodies.draft import Places
from console_app.textcalls.bodies.shapes import NAME_KEYS
from console_app.textcalls.dialects.coats import BEGIN, CHAT_TOKENS, CLOSE, MARK, OTHER_OPENS, PLAIN_OPENS
from console_app.textcalls.dialects.table import DIALECTS
from console_app.textcalls.model import ScanProblem
from console_app.textcalls.patterns import any_of, compiled, lazily, lead_word
from console_app.textcalls.source import WINDOW
from console_app.textcalls.tool_schemas import ToolSchemas

_MOST = 200  # marks that are looked at
_REACH = 200
_LONG = 100_000  # characters from which on an answer is not a lost call
_MOST_WORDS = 5  # words that are compared with the tools' names, and ends that are looked at
_LIKE = 0.85
_LITERAL = r"(?:\\{0,3}[\"'“]|-?\d|\[|\{(?!\s*[\"'](?:type|description)\b)|(?i:true|false|null|none)\b)"
"""A pattern of how a value begins, which no type of a parameter and no schema does."""
_ESCAPED = lazily(r"\\(?:u([\dA-Fa-f]{4})|([nrt\"'\\/]))")
_BLANKS = {"n": "\n", "r": "\r", "t": "\t"}
_WORD = lazily(r"\w[\w.\-]*")
_LAST_WORD = lazily(r"\w[\w.\-]{0,100}\s*\Z")
_ADDED = lazily(r"\\(?=[^\w\s]|_)|(?<=[<\[|])[ \t]{1,2}|[ \t]{1,2}(?=[>\]|])")
_BARRED = lazily(r"(?<=\|)\w+(?: \w+)+(?=\|)")
_SEPARATOR = "<|tool_sep|>"
"""Patterns around a tool's name in calls between bars, which may come without their opening."""
_AT_ONCE = lazily(
    r"<(?=\w[\w.\-]*[ \t]*(?:\n|\Z))|\[(?=\w[\w.\-]*\Z)"
    r"|^(?:<(?=\w[\w.\-]*(?:>|[ \t]+[\w.\-]+=))|\[(?=\w[\w.\-]*\()|action[ \t]{0,2}=[ \t]*(?=\w)|>>>(?=\w))",
    re.MULTILINE | re.IGNORECASE,
)
"""Marks that the name follows at once: the tag that a call in tags of the tools' names begins with, broken off, with
attributes or with text in place of parameters; a list of calls in Python; a label with the wrong sign."""
_QUOTES = ("'", '"', "“", "‘", "«")
_NAMING = lazily(r"^[^\w\n]{0,12}(?P<mark>[A-Za-z][\w:.-]{1,30})(?:[ \t]+name)?[ \t]*[=:][ \t]*[\"'`]?", re.M)
_GOES_ON = lazily(r"[\"'`]?[ \t]*(?:/?>|\n\s*(?:[{<]|(?:\w+ )?(?:input|arg|param)\w*[ \t]*[:=]))", re.IGNORECASE)
_LETTERS = lazily(r"\w[\w.-]*")
_TAG = lazily(r"^[ \t]*<(?P<name>[A-Za-z][\w.-]{3,80})>(?=\s*<[\w.-]{1,80}>)", re.M)
_CALLS = ("action", "call", "function", "function_call", "invoke", "recipient", "tool", "tool_call", "tool_name")
_TOLD_APART = lazily(r"[_.:-]|[a-z][A-Z]")  # in a name that is no word like any other, as of a setting or a person
_INPUT = lazily(r"arg|param|input", re.IGNORECASE)
_OBJECT = lazily(r"\A\s*[\[{][\s\S]*[\]}]\s*\Z")
_VALUE = lazily(r"[\"'](?:name|tool|tool_name|function|action)[\"']\s*:\s*[\"'](?P<name>[\w.-]{3,80})[\"']")
_PYTHON = lazily(r"\A\s*(?:print\s*\(\s*)?(?P<name>[A-Za-z_][\w.]{2,80})\([^\n]*\)\s*\Z")
_LAST_END = lazily(lambda: rf"(?:\A|[}}\])>`\"'])\s*(?P<end>(?!</tools?>){CLOSE})(?:\s|{any_of(CHAT_TOKENS)})*\Z")
_SPECIAL_END = lazily(lambda: rf"(?=<[|｜]|</[|｜])(?:{CLOSE}|<\|call\|>)")
"""The end of an answer that ends like a call, and special tokens that end one anywhere."""
MISSPELT = "its mark is not written as in any dialect"
NO_SUCH = "no tool has exactly this name"
IS_CODE = "it is written as code"
WHY = "it is quoted, or its mark is not written as in any dialect"


def mentioned(
    text: str, tools: ToolSchemas, *, unmarked: bool, start: int = 0, layers: int = 3
) -> tuple[int, int, str] | None:
    """Return where what seems to call a tool begins and its name ends, and the name: the first mark from `start` on, in
    either case, that a tool's name follows, through so many `layers` of escapes. `unmarked`: the key of a name in an
    object, a label, half a tag of the name and a list in Python are marks."""
    leads, marks = _LEADS[unmarked], _MARKS[unmarked]
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
                key = found.group()[0] in '"aA'
                words += _WORD.findall(plain, found.end())[: 1 if key else None]
            if plain.startswith(_SEPARATOR) and (last := _LAST_WORD.search(_plain(text[max(0, at - _REACH) : at]))):
                words.append(last.group().strip())
            words = [word[:-5] if word.lower().endswith(".call") else word for word in words]
            if word := next(filter(tools.resolve, words), None):
                there = text.find(word, at)
                return at, lead.end() if there < 0 else there + len(word), tools.resolve(word) or ""
    if unmarked and len(text) <= _LONG and (found := _spelled(text, tools, start)):
        return found
    escaped = text[start:] if layers and len(text) <= _LONG else ""
    decoded = unescape(_ESCAPED.sub(lambda it: chr(int(it[1], 16)) if it[1] else _BLANKS.get(it[2], it[2]), escaped))
    if decoded == escaped or (call := mentioned(decoded, tools, unmarked=unmarked, layers=layers - 1)) is None:
        return None
    at, name = max(start, text.find(call[2], start)), call[2]
    return at, at + len(name), name


def _spelled(text: str, tools: ToolSchemas, start: int) -> tuple[int, int, str] | None:
    """Return the first place where one of a tool's own parameters follows its name with a value, in whatever signs."""
    names = [name for name in tools.names if all(part in text for part in name.split("_", 1))]
    spellings = {name.replace("_", sign, 1): name for sign in "./:_" for name in names}
    named = compiled(rf"(?<![\w.-])(?<![^\W_]/)_?(?P<name>{any_of(spellings) or '(?!)'})(?![\w?&-])")
    for found in islice(named.finditer(text, start), _MOST):
        name, behind = spellings[found["name"]], text[found.end() : found.end() + _REACH]
        apart = _TOLD_APART.search(name)
        if not apart and text.count("```", 0, found.start()) % 2:
            continue  # a program has such names too
        if compiled(_given(any_of(tools.properties(name)) or "(?!)", bool(apart))).match(behind):
            return *found.span("name"), name
    return None


@lru_cache(maxsize=256)
def _given(keys: str, apart: bool) -> str:
    """Return a pattern of what follows a tool's name where a value is given to one of its parameters; of a name that is
    `apart` from words, any value in brackets at once."""
    quote = r"[\"'`\\]{0,4}"
    key = (
        rf"<{keys}>|=\s*{quote}{keys}{quote}>|(?:--|:){keys}[\s=]"
        rf"|{quote}\b{keys}{quote}(?:=\S|\s*[:=]\s*{_LITERAL})"
    )
    gap = r"\W{0,24}(?:\w+\W{1,24}){0,2}?" if apart else r"\W{0,24}(?:(?:\w*(?:arg|param|input)\w*|json)\W{1,24})?"
    return rf"{gap}(?:{key})" + (rf"|\s?\(\s*(?:\w+\s*[:=]\s*)?{_LITERAL}" if apart else "")


def _plain(text: str) -> str:
    """A stretch of text, or a mark, without what may be added to a mark."""
    plain = _ADDED.sub("", text.replace("｜", "|").replace("▁", "_"))
    return _BARRED.sub(lambda found: found.group().replace(" ", "_"), plain)


def _marked(unmarked: bool, leads: bool) -> str:
    """Return a pattern of the marks as `_plain` gives them, or of where one may begin."""
    marks = {*OTHER_OPENS, *(token for row in DIALECTS for token in (*row.opens, *row.begins))} - PLAIN_OPENS
    marks |= {"<tool_code>", "```tool_code", "<function name", "<function=", _SEPARATOR}
    marks |= {*(f'"{key}"' for key in NAME_KEYS), "Action:"} if unmarked else set()
    if not leads:
        return rf"(?:{any_of(map(_plain, marks))})|(?:{MARK})|(?:{BEGIN})"
    begins = {one if one[0] == '"' else lead_word(one) for one in marks} | {"◁", "⟨"}
    return "|".join(sorted(map(re.escape, begins))) + (r"|^(?:action[ \t]{0,2}=|>>>(?=\w))" if unmarked else "")


_LEADS, _MARKS = (
    {un: lazily(partial(_marked, un, leads), re.IGNORECASE | re.MULTILINE) for un in (True, False)}
    for leads in (True, False)
)


def unread(raw: str, names: Sequence[str]) -> ScanProblem | None:
    """Find what seems to be meant as a call in an answer without any: misspelt, as code, or an end alone."""
    known = {_letters(name): name for name in names} if len(raw) <= _LONG else {}
    for at, name, why in _meant(raw, known):
        return Places(raw).problem("ignored", f"Not taken as a call: {why}.", at, at + len(name), name)
    ends = [found.span("end")] if (found := _LAST_END.search(raw, max(0, len(raw) - 200))) else []
    own = [f"</{name}>" for name in known.values() if f"</{name}>" in raw and _TOLD_APART.search(name)]
    for found in islice(compiled(rf"{_SPECIAL_END.pattern}|{any_of(own) or '(?!)'}").finditer(raw), _MOST_WORDS):
        before = raw[: found.start()]
        coded = before.count("```") % 2 or before.rpartition("\n")[2].count("`") % 2
        ends += [] if coded or before[-1:] in _QUOTES else [found.span()]
    if names and ends:
        why = f"The answer holds the end of a call ({raw[slice(*ends[0])]}) and no call."
        return Places(raw).problem("ignored", why, *ends[0], None)
    return None


def _meant(raw: str, known: dict[str, str]) -> Iterator[tuple[int, str, str]]:
    """Where a tool, `known` by its letters, seems to be called, its name, and why that is no call."""
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

"""What language a text is written in, where no path says it, and texts whose lines a tool has numbered.

Prose, logs and what a shell printed are in none. A text is source where one line at least is as nothing else is, more
speak for the same language, and every line that isn't indented can stand in it: that keeps the colours away from words
that only quote code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from console_app.tui.lineview.results.languages import LANGUAGES, Language, any_of

_SNIFFED = 8000  # characters that are looked at
_LOOKED_AT = 40  # lines of these that are neither empty nor comments
_LONGEST = 400  # characters of a line that are
_LARGEST_NUMBERED = 256 * 1024  # characters of a text whose numbers are taken off

_SHEBANG = re.compile(r"#! ?(?:/[\w.-]+)+/([\w.+-]+)(?: -S)?(?: ([A-Za-z][\w.+-]*))?(?: -\S+)*$")
_INTERPRETERS = {
    "sh": "bash", "dash": "bash", "ash": "bash", "zsh": "bash", "ksh": "bash", "bash": "bash", "fish": "fish",
    "python": "python", "pypy": "python", "node": "javascript", "deno": "typescript", "bun": "typescript",
    "ruby": "ruby", "perl": "perl", "php": "php", "lua": "lua", "awk": "awk", "gawk": "awk", "Rscript": "r",
    "pwsh": "powershell", "make": "make", "tclsh": "tcl",
}  # fmt: skip
_OPENINGS = (
    (re.compile(r"<\?php(?:\s|$)"), "php"),
    (re.compile(r"(?i)<(?:!doctype html|html)(?:[\s>]|$)"), "html"),
    (re.compile(r"<\?xml\s"), "xml"),
    (re.compile(r'syntax = "proto\d";'), "protobuf"),
    (re.compile(r"\\documentclass\b"), "latex"),
)
_WITH_TAGS = ("html", "xml", "php", "html+php", "css+php", "jsp", "aspx-cs", "aspx-vb")
_TAG = re.compile(r"<([A-Za-z][\w:.-]*)[\s/>]")
_HTML = frozenset({"head", "body", "div", "section", "main", "nav", "header", "footer", "article", "ul", "ol", "dl",
                   "table", "form", "p", "span", "style", "script", "template"})  # fmt: skip
_NUMBER = re.compile(r" {0,8}(\d{1,7}) ?(?:[\t│|→]|:(?= |$))(.*)")
_HEAD = re.compile(r"(?! *\d)[^\n]{1,300}:\n+(?= {0,8}\d{1,7} ?[\t│|→:])")


def language_of_text(text: str) -> str:
    """pygments' alias of the language that a text is written in; "" where it is in none, or none is sure."""
    lines = _lines(text)
    if len(lines) < 2:
        return ""
    first = lines[0]
    if (called := _SHEBANG.match(first)) is not None:
        name, given = called.groups()
        by_name = given if name == "env" else "" if given else name
        return _INTERPRETERS.get((by_name or "").rstrip("0123456789."), "")
    if opened := next((alias for pattern, alias in _OPENINGS if pattern.match(first)), ""):
        return opened
    if first[:1] in (" ", "\t"):  # a part of something
        return ""
    if (tag := _TAG.match(first)) is not None:
        return _marked_up(lines, tag[1], text)
    known: dict[object, list[str]] = {}  # the lines without comments, which many languages have in common
    for language in LANGUAGES:
        family = (language.comment, language.blocks)
        if family not in known:
            known[family] = list(_code(language, lines))
        mark = any_of(language.mark)
        if any(mark.match(one) for one in known[family]) and _telling(language, known[family]) >= language.least:
            return language.alias
    return ""


def can_be(alias: str, text: str) -> bool:
    """Whether a text can be of the language that its path says: what a tool says of a file, or a page that was made of
    one, can't."""
    if alias in _WITH_TAGS:
        return "<" in text[:_SNIFFED]
    language = next((one for one in LANGUAGES if one.alias == alias), None)
    lines = [] if language is None else list(_code(language, _lines(text)))
    return language is None or _telling(language, lines) >= 0 or any(_tells(language, one) for one in lines)


def _lines(text: str) -> list[str]:
    begin = text[:_SNIFFED].lstrip("\ufeff\r\n")
    lines = [line[:_LONGEST].rstrip() for line in begin.split("\n")]
    return lines[:-1] if len(text) > _SNIFFED else lines  # the last is cut off


def _tells(language: Language, line: str) -> bool:
    return any_of(language.mark).match(line) is not None or any_of(language.said).match(line) is not None


def _telling(language: Language, lines: list[str]) -> int:
    """How many lines speak for a language; less than 0 where one can't stand in it."""
    other = any_of(language.line)
    telling, continued = 0, False
    for line in lines:
        if _tells(language, line):
            telling += 1
        elif not continued and line[0] not in " \t" and other.match(line) is None:
            return -1
        continued = line.endswith("\\")
    return telling


def _code(language: Language, lines: list[str]) -> Iterator[str]:
    """The first lines without comments; of Python without what stands in long strings, whose words may be any."""
    end, left = "", _LOOKED_AT
    for one in lines:
        bare = one.lstrip()
        if end:
            end = "" if end in bare else end
            continue
        if not bare or bare.startswith(language.comment):
            continue
        begun = next((block for block in language.blocks if block[0] in bare), None)
        if begun is not None and begun[0] == begun[1]:
            end = begun[1] if bare.count(begun[0]) % 2 else ""
        elif begun is not None and bare.startswith(begun[0]):
            end = "" if begun[1] in bare else begun[1]
            continue
        if not left:
            return
        left -= 1
        yield one.partition(f" {language.comment}")[0].rstrip()


def _marked_up(lines: list[str], tag: str, text: str) -> str:
    """HTML or XML without a head: one element from end to end, and no words between the elements of it."""
    looked = [line for line in lines if line][:_LOOKED_AT]
    if len(looked) < 3 or not text[-200:].rstrip().endswith(f"</{tag}>"):
        return ""
    if not all(line[0] in "< \t" or line[-1] == ">" for line in looked):
        return ""
    elements = sum(line.lstrip()[0] == "<" for line in looked)
    return "" if elements * 2 < len(looked) else "html" if tag.lower() in _HTML else "xml"


def unnumbered(text: str) -> tuple[str, int]:
    """A text without the numbers that a tool printed before its lines, and the first of them; 0 where there are none,
    or one is not the next. A line above them that says what was read goes too."""
    if len(text) > _LARGEST_NUMBERED:
        return text, 0
    head = _HEAD.match(text)
    first, bare = 0, list[str]()
    for at, line in enumerate(text[head.end() if head else 0 :].removesuffix("\n").split("\n")):
        found = _NUMBER.fullmatch(line.removesuffix("\r"))
        if found is None or (at and int(found[1]) != first + at):
            return text, 0
        first = first if at else int(found[1])
        bare.append(found[2])
    if len(bare) < 2 or not first:
        return text, 0
    spaced = all(line[:1] in ("", " ") for line in bare)  # a space that belongs to the bar between
    return "".join(f"{line[spaced:]}\n" for line in bare), first

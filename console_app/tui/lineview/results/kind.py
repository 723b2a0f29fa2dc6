"""Find out what kind of text a result is, from the path in the call's arguments, then from the text itself.

No more of the text is read than that takes. A path counts only where the call read that file: the result of one that
writes is a message about it. Nor does it count for a text that can't be what its path says.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from io import StringIO
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, Literal, cast

from console_app.records import dataclass, replace
from console_app.tui.lineview.markdown.code import find_lexer
from console_app.tui.lineview.markdown.units import parser
from console_app.tui.lineview.results.diff import begins_diff
from console_app.tui.lineview.results.source import can_be, language_of_text, unnumbered

_WILD = frozenset("*?[")  # what makes a pattern of a name more than an ending
_SUFFIXES = {".csv": ",;", ".tsv": "\t", ".tab": "\t"}
_LINES_LOOKED_AT = 20  # lines that decide what it is
_LONGEST_NAME = 40  # characters of a column's name
_MOST_COLUMNS = 40


class Delimited:
    """A text, and what stands between its fields."""

    def __init__(self, text: str, mark: str) -> None:
        self._text = text.rstrip("\n")
        self._reader = csv.reader(StringIO(self._text, newline="\n"), delimiter=mark)
        self._known: list[list[str]] = []

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(next(iter(self._read(0, 1)), ()))

    @cached_property
    def count(self) -> int:
        if '"' in self._text:  # a field may have several lines
            return max(len(self._read(0, sys.maxsize)) - 1, 0)
        return self._text.count("\n")

    def rows(self, first: int, last: int) -> list[list[str]]:
        return self._read(first + 1, last + 1)

    def _read(self, first: int, last: int) -> list[list[str]]:
        self._known.extend(islice(self._reader, max(last - len(self._known), 0)))
        return self._known[first:last]


def delimiter_of(text: str, name: str) -> str:
    """The mark between the fields of a table that begins so; "" where the text is none. `name` is its file's."""
    known = _SUFFIXES.get(PurePosixPath(name).suffix.lower(), "")
    for mark in known or "\t,;|":
        if _fits(text, mark, fewest=2 if known or mark == "\t" else 3):
            return mark
    return ""


def _fits(text: str, mark: str, fewest: int) -> bool:
    """Tell whether all lines have as many fields, and the first has a name for each."""
    lines = text.split("\n")[: _LINES_LOOKED_AT + 1]
    if len(lines) > 1:
        lines.pop()  # cut off, or empty behind the last newline
    if len(lines) < 2 or mark not in lines[0]:
        return False
    try:
        rows = list(csv.reader(lines, delimiter=mark))
    except csv.Error:
        return False
    names = rows[0]
    plain = all(name.strip() and len(name) <= _LONGEST_NAME and not is_number(name) for name in names)
    alike = fewest <= len(names) <= _MOST_COLUMNS and len(set(names)) == len(names)
    return plain and alike and len(rows) > 1 and all(len(row) == len(names) for row in rows[1:])


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


MOST_TEXT = 256 * 1024  # characters that are looked through
MOST_LEAVES = 2000


def says_the_same(content: str, structured: dict[str, Any]) -> bool:
    """True where the text is that JSON, or what a single field of it holds, or has every value that stands in it.

    A flag or a null counts as said only where the text is JSON: in prose neither can be told from a word.
    """
    text = content.strip()
    if not structured:
        return True
    if not text or len(text) > MOST_TEXT:
        return False
    only = next(iter(structured.values())) if len(structured) == 1 else None
    try:
        parsed: Any = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if (parsed is not None and parsed in (structured, only)) or (isinstance(only, str) and only.strip() == text):
        return True
    words, leaves = " ".join(text.split()), list(islice(_leaves(structured), MOST_LEAVES + 1))
    return 0 < len(leaves) <= MOST_LEAVES and all(_said(leaf, words) for leaf in leaves)


def _said(leaf: Any, words: str) -> bool:
    if isinstance(leaf, str):
        return " ".join(leaf.split()) in words
    if isinstance(leaf, bool) or leaf is None:
        return False
    return any(re.search(rf"(?<![\w.]){re.escape(form)}(?![\w]|\.\d)", words) for form in {str(leaf), f"{leaf:,}"})


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for one in cast("dict[str, Any]", value).values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _leaves(one)
    else:
        yield value


MOST_COLUMNS = 16
_LOOKED_AT = 50  # rows that decide what it is


@dataclass(frozen=True, slots=True)
class Records:
    columns: tuple[str, ...]
    values: Sequence[Any]  # each an object, or a list in the order of the columns

    @property
    def count(self) -> int:
        return len(self.values)

    def rows(self, first: int, last: int) -> list[list[str]]:
        out: list[list[str]] = []
        for value in self.values[first:last]:
            if isinstance(value, dict):
                fields = cast("dict[str, Any]", value)
                out.append([_cell(fields[name]) if name in fields else "" for name in self.columns])
            else:
                out.append([_cell(one) for one in cast("list[Any]", value)])
        return out


def records_of(value: Any) -> Records | None:
    """The table that a JSON value is, or None. An object may wrap it under its one name."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if set(fields) == {"columns", "rows"}:
            return _with_columns(fields["columns"], fields["rows"])
        value = next(iter(fields.values())) if len(fields) == 1 else None
    found = cast("list[Any]", value) if isinstance(value, list) else []
    if len(found) < 2 or not all(found) or not all(isinstance(item, dict) for item in found):
        return None
    items = cast("list[dict[str, Any]]", found)
    first, names = items[:_LOOKED_AT], dict.fromkeys(name for item in items[:_LOOKED_AT] for name in item)
    if not 2 <= len(names) <= MOST_COLUMNS or sum(map(len, first)) * 3 < len(names) * len(first) * 2:
        return None
    if any(isinstance(one, (dict, list)) for item in first for one in item.values()):
        return None
    names |= dict.fromkeys(name for item in items for name in item)
    return Records(tuple(names), items) if len(names) <= MOST_COLUMNS else None


def _with_columns(columns: Any, rows: Any) -> Records | None:
    if not isinstance(columns, list) or not isinstance(rows, list) or not rows or not columns:
        return None
    names, items = cast("list[Any]", columns), cast("list[Any]", rows)
    whole = all(isinstance(row, list) and len(cast("list[Any]", row)) == len(names) for row in items)
    return Records(tuple(str(name) for name in names), items) if whole and len(names) <= MOST_COLUMNS else None


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if type(value) is int:  # most are, and this is ten times as fast
        return str(value)
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


KindName = Literal["text", "diff", "source", "json", "table", "markdown"]
LARGEST_JSON = 256 * 1024  # characters; beyond, reading JSON would be felt at the keyboard
_SNIFFED = 8000  # characters of a text that its kind is told from
_LONGEST_NOTE = 200
_PATHS = ("path", "file", "file_path", "filepath", "filename", "file_name", "uri", "url", "notebook_path")
_STARTS = ("offset", "start", "start_line", "startline", "line_start", "from_line", "line")
# Such a file is no source, whatever it looks like.
_PLAIN = (".txt", ".text", ".log", ".csv", ".tsv", ".tab")
_NUMBERED = re.compile(r"\s*\d+[\t│|:→][^\n]*\n\s*\d+[\t│|:→]")
_FENCED = re.compile(r"\s*(`{3,})([\w+#.-]*)[^\n`]*\n(.*?)\n?\1\s*\Z", re.DOTALL)
# The second group is the end of the MIME type: `x-lua` of `text/x-lua`, and `xml` of `image/svg+xml`.
_RESOURCE = re.compile(r"\[resource (\S+)(?: of type \S{1,60}?([\w-]{1,60}))?\]\n")
_HOST = re.compile(r"https?://[^/?#]*")  # whose end, as in `.rs` or `.pl`, is not that of a file
_NOTE = re.compile(r"\n(\[lines \d+ to \d+[^\[\]\n]{0,100}\])\s*\Z")
_SPACE = re.compile(r"\s+")
_HEADING = re.compile(r"^#{1,4} \S", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~)", re.MULTILINE)
_MARKS = (  # beside headings and fences, what prose in Markdown has
    re.compile(r"^ {0,3}(?:[-*+]|\d{1,3}[.)]) +\S.*\n(?:.*\n)?? {0,3}(?:[-*+]|\d{1,3}[.)]) +\S", re.MULTILINE),
    re.compile(r"\[[^\]\n]+\]\([^)\s]+\)"),
    re.compile(r"\*\*[^*\s][^*\n]*\*\*"),
    re.compile(r"(?<!`)`[^`\n]+`(?!`)"),
    re.compile(r"^\|.*\|[ \t]*\n\|[ :|-]+\|", re.MULTILINE),
)
_TABLE = _MARKS[-1]


@dataclass(frozen=True, slots=True)
class ResultKind:
    """A kind of text and how it is shown. `text` lacks everything that only wraps it. `language` is pygments' name for
    it, `title` that for people. `value` is the parsed JSON, or the table. `first` is the number of a source's first
    line, 0 without numbers of ours. `styled`: escapes colour the text. `note` is a remark of the tool below."""

    kind: KindName
    text: str
    language: str = ""
    title: str = ""
    value: Any = None
    first: int = 1
    styled: bool = True
    note: str = ""


def kind_of(content: str, arguments: Mapping[str, Any] | None) -> ResultKind:
    noted = _NOTE.search(content, max(len(content) - _LONGEST_NOTE, 0))
    if noted is None:
        return _kind_of(content, arguments)
    found = _kind_of(content[: noted.start() + 1], arguments)
    return replace(found, note=noted[1]) if found.kind != "text" else ResultKind("text", content)


def _kind_of(content: str, arguments: Mapping[str, Any] | None) -> ResultKind:
    text, language = _unwrapped(content)
    if "\x1b" in text[:_SNIFFED]:
        return ResultKind("text", content)
    if language in ("diff", "patch") or begins_diff(text[:_SNIFFED]):
        return ResultKind("diff", text)
    if (value := _json(text)) is not None:
        rows = records_of(value)
        return ResultKind("json", text, value=value) if rows is None else ResultKind("table", text, value=rows)
    name = _path_read(content, arguments)
    bare, first = unnumbered(text)
    alias, title = _language(bare, name, language)
    if alias in ("markdown", "md") or (not alias and is_markdown(text[:_SNIFFED])):
        return ResultKind("markdown", bare if alias else text)
    mark = "" if alias else delimiter_of(text[:_SNIFFED], name)
    if mark:
        return ResultKind("table", text, value=Delimited(text, mark))
    if not alias or "\n" not in text.strip():
        return ResultKind("text", content)
    return ResultKind("source", bare, alias, title, first=first or _first_line(text, arguments or {}))


def _language(text: str, name: str, said: str) -> tuple[str, str]:
    """The language by the file's name, by the word behind a fence or of a MIME type, by the text."""
    found = language_of_file(name) if name else ("", "")
    if found[0] and _NUMBERED.match(text) is None and not can_be(found[0], text):
        found = ("", "")
    if not found[0] and said:
        found = language_of_alias(said)
    if not found[0] and not name.lower().endswith(_PLAIN) and (alias := language_of_text(text)):
        found = language_of_alias(alias)
    return found


def _first_line(text: str, arguments: Mapping[str, Any]) -> int:
    """The number of the first line that was read; 0 where it isn't known, or the text has numbers of its own."""
    starts = [value for name, value in arguments.items() if name.lower() in _STARTS and value not in (None, 0)]
    if _NUMBERED.match(text) or any(arguments.get(name) is not None for name in ("tail", "view_range")):
        return 0
    return 1 if not starts else starts[0] if len(starts) == 1 and isinstance(starts[0], int) and starts[0] > 0 else 0


def _unwrapped(content: str) -> tuple[str, str]:
    """The text without the line that names its resource and a fence around it; the word of its kind."""
    head = _RESOURCE.match(content)
    text = content[head.end() :] if head else content
    said = (head[2] or "").removeprefix("x-") if head else ""
    if text.lstrip()[:3] == "```" and len(text) < 4 * LARGEST_JSON and (fenced := _FENCED.match(text)):
        body = fenced[3]
        if "\n```" not in f"\n{body}":
            return body, fenced[2].lower() or said
    return text, said


def _json(text: str) -> Any:
    if len(text) > LARGEST_JSON or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        return _objects(text) if error.msg == "Extra data" else None
    except (ValueError, RecursionError):
        return None


def _objects(text: str) -> list[Any] | None:
    """JSON objects one behind the other, as a tool's list comes in blocks of its own, and a file of JSON lines."""
    decoder, found, at = json.JSONDecoder(), list[Any](), 0
    try:
        while at < len(text):
            value, end = decoder.raw_decode(text, _blank(text, at))
            if not isinstance(value, dict):
                return None
            found.append(value)
            at = _blank(text, end)
    except (ValueError, RecursionError):
        return None
    return found


def _blank(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _path_read(content: str, arguments: Mapping[str, Any] | None) -> str:
    """The last part of the one path that was read; "" without one, or where the call was given text to write."""
    if (head := _RESOURCE.match(content)) is not None:
        return _last_part(head[1])
    if not arguments or any(isinstance(value, str) and "\n" in value for value in arguments.values()):
        return ""
    found = [value for name, value in arguments.items() if name.lower() in _PATHS and isinstance(value, str)]
    return _last_part(found[0]) if len(found) == 1 else ""


def _last_part(path: str) -> str:
    path = _HOST.sub("", path)
    return re.split(r"[\\/]", path.partition("?")[0].partition("#")[0].rstrip("/"))[-1][:200]


@lru_cache(maxsize=256)
def language_of_file(name: str) -> tuple[str, str]:
    """pygments' alias of the language of a file and its name for people; two empty ones where there is none."""
    # pygments is there since the first code was shown, or costs 25 ms now. Its own look-up by name keeps 5 MB.
    from pygments.lexers import find_lexer_class, get_all_lexers  # pyright: ignore[reportUnknownVariableType]

    named: list[tuple[Any, str]] = [
        (find_lexer_class(lexer), pattern)
        for lexer, _, patterns, _ in get_all_lexers(plugins=False)
        for pattern in patterns
        if _is_named(name, pattern)
    ]
    best = max(reversed(named), key=lambda one: one[0].priority + ("*" not in one[1]) / 2, default=(None, ""))
    return _named(best[0])


def _is_named(name: str, pattern: str) -> bool:
    """Do as `fnmatchcase`, which compiles and keeps what it is given: next to all patterns are a name or an ending."""
    end = pattern.removeprefix("*")
    if not _WILD.isdisjoint(end):
        return fnmatchcase(name, pattern)
    return name == end or (end != pattern and name.endswith(end))


@lru_cache(maxsize=64)
def language_of_alias(alias: str) -> tuple[str, str]:
    """The same by the word behind a fence."""
    return _named(find_lexer(alias))


def _named(lexer: Any) -> tuple[str, str]:
    if lexer is None or not lexer.aliases or lexer.aliases[0] == "text":
        return "", ""
    return cast("str", lexer.aliases[0]), cast("str", lexer.name)


def is_markdown(text: str) -> bool:
    """Tell whether a text is Markdown: it has a table, or two different marks, one of them a heading or a fence."""
    if _TABLE.search(text):
        return True
    # `#` alone opens a comment in many a language: a heading stands for itself, between empty lines.
    headings = sum(1 for found in _HEADING.finditer(text) if _stands_alone(text, found.start()))
    strong = (headings > 0) + (_FENCE.search(text) is not None)
    return strong > 0 and (strong + sum(1 for mark in _MARKS if mark.search(text)) > 1 or headings > 2)


def _stands_alone(text: str, at: int) -> bool:
    end = text.find("\n", at)
    above = text[:at].rstrip(" \t")
    return (not above or above.endswith("\n\n")) and (end < 0 or text[end + 1 : end + 2] in ("", "\n"))


Table = Records | Delimited


LANGUAGES = ("text", "python", "bash", "json", "diff", "yaml", "toml")


def use_first(is_stopped: Callable[[], bool]) -> None:
    """Use beforehand, on a thread, the parts that cost most when a conversation first needs them."""
    parser()
    for language in LANGUAGES:
        if is_stopped():
            return
        find_lexer(language)
    if not is_stopped():
        language_of_text("a\nb")  # the first text costs 20 ms

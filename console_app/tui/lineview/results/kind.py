"""Find out what kind of text a result is, from the path in the call's arguments, then from the text itself.

No more of the text is read than that takes. A path counts only where the call read that file: the result of one that
writes is a message about it. Nor does it count for a text that can't be what its path says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, cast

from console_app.tui.lineview.results.diff import begins_diff
from console_app.tui.lineview.results.records import Delimited, Records, delimiter_of, records_of
from console_app.tui.lineview.results.source import can_be, language_of_text, unnumbered

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
    """The text without the line that names its resource and a fence around it all; the word of the fence or of the MIME
    type."""
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
    # pygments is there since the first code was shown, or costs 25 ms now.
    from pygments.lexers import find_lexer_class_for_filename  # pyright: ignore[reportUnknownVariableType]

    return _named(find_lexer_class_for_filename(name))


@lru_cache(maxsize=64)
def language_of_alias(alias: str) -> tuple[str, str]:
    """The same by the word behind a fence."""
    from pygments.lexers import find_lexer_class_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        return _named(find_lexer_class_by_name(alias))
    except ClassNotFound:
        return "", ""


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

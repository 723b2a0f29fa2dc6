"""Reads JSON as people write it (comments, trailing commas), with the line and column of every key and value.

Python's own parser says where a file is broken but not where a wrong value stands, so a second walk over the text,
with the same parser for strings and scalars, notes the position of every path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from console_app.config.files import line_column
from console_app.records import dataclass, field

Path = tuple[str | int, ...]

_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\\n])*"|,(?=\s*[}\]])')
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


@dataclass
class Document:
    """A parsed text. `offsets` has the place of each path: of its key in an object, of the value in a list."""

    value: Any
    text: str
    offsets: dict[Path, int] = field(default_factory=dict[Path, int])
    spans: dict[Path, tuple[int, int]] = field(default_factory=dict[Path, tuple[int, int]])  # of the values
    repeated: list[tuple[Path, int]] = field(default_factory=list[tuple[Path, int]])  # keys given twice

    def position(self, path: Path) -> tuple[int, int]:
        """Return line and column of `path`, or of the nearest part of it that exists."""
        while path and path not in self.offsets:
            path = path[:-1]
        return line_column(self.text, self.offsets.get(path, 0))

    def texts(self, path: Path) -> Iterator[tuple[Path, str]]:
        """Yield the texts under `path` as they are written, in their order."""
        for place, (begin, end) in self.spans.items():
            if place[: len(path)] == path and self.text[begin] == '"':
                yield place, self.text[begin:end]


def parse(text: str) -> Document:
    """Read `text`. Raises JSONDecodeError with the place where it stops being JSON."""
    plain = _STRING_OR_COMMENT.sub(_blank, text.removeprefix("\ufeff"))
    plain = _STRING_OR_COMMA.sub(lambda match: match[0] if match[0] != "," else " ", plain)
    try:
        value = json.loads(plain)
    except RecursionError as error:
        raise json.JSONDecodeError("nested too deeply", "", 0) from error
    document = Document(value, plain)
    _note(document, (), 0)
    return document


def _blank(match: re.Match[str]) -> str:
    found = match[0]
    return found if found.startswith('"') else re.sub(r"[^\n]", " ", found)


def _note(document: Document, path: Path, at: int) -> int:
    """Note the places of everything inside the value at `at`; return where the value ends."""
    text = document.text
    begin = at = _skip(text, at)
    kind, index = text[at], 0
    if kind not in "{[":
        at = _DECODER.raw_decode(text, at)[1]
    else:
        at = _skip(text, at + 1)
        while text[at] not in "}]":
            key, end = (index, at) if kind == "[" else _DECODER.raw_decode(text, at)
            place: Path = (*path, key)
            if place in document.offsets:
                document.repeated.append((place, at))
                for inner in [other for other in document.offsets if other[: len(place)] == place]:
                    del document.offsets[inner]
            document.offsets[place] = at
            at = _skip(text, _note(document, place, at if kind == "[" else _skip(text, end) + 1))
            at = _skip(text, at + 1) if text[at] == "," else at
            index += 1
        at += 1
    document.spans[path] = (begin, at)
    return at


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at

"""Reads TOML and finds where in the text a key stands, since tomllib gives values without their places.

The places are looked up only to word an error, so the text is scanned a second time then and not before.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from console_app.domain import ConfigError, displayed, one_line, visible

_MOST_TOML = 1_000_000  # characters of a file: more would be seconds of reading
_LONGEST_VALUE = 2_000  # characters of one value that a list shows
_PART = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
_KEY = re.compile(rf"[ \t]*({_PART}(?:[ \t]*\.[ \t]*{_PART})*)[ \t]*=")
_HEADER = re.compile(rf"[ \t]*\[\[?[ \t]*({_PART}(?:[ \t]*\.[ \t]*{_PART})*)[ \t]*\]")
_PARTS = re.compile(_PART)
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[{]|[\]}]|\n|[^\'"#\[\]{}\n]+|.',
    re.DOTALL,
)
_AT = re.compile(r"(.*) \(at line (\d+), column (\d+)\)$", re.DOTALL)


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Return the values of `text`. A ConfigError names file, line and column."""
    if len(text) > _MOST_TOML:
        raise ConfigError(f"{path}: it has more than {_MOST_TOML:,} characters")
    try:
        return tomllib.loads(text)
    except ValueError as error:  # a TOMLDecodeError, or a number of more digits than Python reads
        message = str(error)
        if found := _AT.match(message):
            message, line, column = found[1], int(found[2]), int(found[3])
        else:
            message = message.removesuffix(" (at end of document)")
            line, column = line_column(text, len(text))
        raise ConfigError(f"{path}:{line}:{column}: {message[:1].lower()}{message[1:]}", "It has to be TOML.") from None
    except RecursionError:
        raise ConfigError(f"{path}: it is nested too deeply") from None


def position(text: str, key: Sequence[str | int]) -> tuple[int, int]:
    """Return line and column, from 1, of the longest leading part of `key` that is written out in `text`."""
    places = _places(text)
    parts = [str(part) for part in key]
    for length in range(len(parts), 0, -1):
        if (offset := places.get(tuple(parts[:length]))) is not None:
            return line_column(text, offset)
    return 1, 1


def line_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def lines_of(table: Mapping[str, Any], above: str = "", longest: int = _LONGEST_VALUE) -> Iterator[str]:
    """Yield `name = value` for everything in a table: one line of safe text each, of at most `longest` characters (0:
    all)."""
    for name, value in table.items():
        whole = f"{above}{name}"
        if isinstance(value, dict) and value:
            yield from lines_of(cast("dict[str, Any]", value), f"{whole}.", longest)
        else:
            text = f"{whole} = {json.dumps(value, ensure_ascii=False, default=str)}"
            yield one_line(text, longest) if longest else displayed.fold_blanks(visible(text).replace("\n", "␊"))


@lru_cache(maxsize=1)  # many faults of one file are looked up
def _places(text: str) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    at = 0
    while at < len(text):
        header = _HEADER.match(text, at)
        if written := header or _KEY.match(text, at):
            parts = tuple(part[1:-1] if part[0] in "\"'" else part for part in _PARTS.findall(written[1]))
            key = parts if header else (*table, *parts)
            table = parts if header else table
            for length in range(1, len(key) + 1):
                found.setdefault(key[:length], written.start(1))
            at = written.end()
        at = _end_of_entry(text, at)
    return found


def _end_of_entry(text: str, at: int) -> int:
    """Return where the next line begins that isn't inside a bracket or a string of several lines."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        match token[0]:
            case "[" | "{":
                depth += 1
            case "]" | "}":
                depth -= 1
            case "\n" if depth <= 0:
                return token.end()
            case _:
                pass
    return len(text)

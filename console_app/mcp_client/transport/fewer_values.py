"""Cuts a JSON-RPC message to a number of values, on its bytes: before a model is made of each of a million blocks."""

from __future__ import annotations

import re
from typing import Any, Final, cast

MOST_VALUES: Final = 100_000  # of one message: what is read of a result is far less
_UNBOUND: Final = 2**31  # in a list of tools, where each schema is judged by itself
_MARK: Final = "[Fanout: left out, "
_NAME: Final = b'"[Fanout]":'
_PLACE: Final = (
    3  # levels that a message has around what it carries: itself, its result or parameters, a field of these
)
_STRING: Final = rb'"(?>[^"\\]+|\\.)*+"'
_FLAT: Final = rb'\{[^{}\[\]"]*+(?>' + _STRING + rb'[^{}\[\]"]*+)*+\}'
# A quote alone begins a text without an end: looking for its end from each of its quotes would never be done.
_TOKEN: Final = re.compile(_STRING + rb'|[\[\]{},"]', re.DOTALL)
_TOOLS: Final = re.compile(rb'"tools"\s*:\s*\[\Z')
_PASSED: Final = re.compile(rb'(?>[^"\[\]{}]++|' + _STRING + rb"|" + _FLAT + rb"){0,2000}+", re.DOTALL)


def fewer(line: bytes, most: int = MOST_VALUES) -> bytes:
    """`line`, if it holds more than `most` values, without what comes behind these; it says so where they are missing.

    Of a list that a result holds (its blocks) whole items are left out; an object (structured content) is cut where the
    bound is reached. What isn't JSON stays as it is. For much of it this takes a second: a thread's work.
    """
    if line.count(b",") + line.count(b"{") + line.count(b"[") <= most:
        return line
    kept: list[bytes] = []
    opened: list[bytes] = []
    done = at = item = values = 0
    bound = most
    while token := _TOKEN.search(line, at):
        at, kind = token.end(), token[0]
        if kind == b'"' or (kind in (b"]", b"}") and not opened):
            return line
        if kind in (b"[", b"{"):
            opened.append(kind)
        elif kind in (b"]", b"}"):
            opened.pop()
            continue
        elif kind != b",":
            continue
        values += 1
        depth = len(opened)
        if depth == _PLACE:
            item = token.start() if kind == b"," else at
            if kind != b",":
                bound = _UNBOUND if _TOOLS.search(line, max(0, at - 40), at) else most
        if values <= bound * (1 if depth >= _PLACE else 2) or depth < _PLACE - 1:
            continue
        level = min(depth, _PLACE)
        whole = depth >= _PLACE and opened[_PLACE - 1] == b"["
        cut = item if whole else token.start() if kind == b"," else at
        if (end := _end(line, at, depth - level + 1)) is None:
            return line
        inner = opened[level - 1] if whole else opened[-1]
        closed = b"" if whole else b"".join(b"]" if one == b"[" else b"}" for one in reversed(opened[level:]))
        comma = b"," if line[cut : cut + 1] == b"," and (kind == b"," or whole) else b""
        said = f'"{_MARK}{end - cut:,} bytes: of one message, {most:,} values are read]"'.encode()
        kept += [line[done:cut], comma, _NAME if inner == b"{" else b"", said, closed]
        done, at = end, end + 1
        del opened[level - 1 :]
    return b"".join([*kept, line[done:]])


def _end(line: bytes, at: int, depth: int) -> int | None:
    """Where the bracket is that closes `depth` levels; None where the line ends before."""
    while depth:
        while (passed := _PASSED.match(line, at)) and passed.end() > at:
            at = passed.end()
        match line[at : at + 1]:
            case b"[" | b"{":
                depth += 1
            case b"]" | b"}":
                depth -= 1
            case _:
                return None
        at += 1
    return at - 1


def cut_of(value: Any) -> str:
    """The words that stand in a value that was cut, or "": they are its last part, or its last part's."""
    while value and isinstance(value, dict | list):
        parts = cast("Any", value)
        value = parts[next(reversed(parts))] if isinstance(value, dict) else parts[-1]
    return value if isinstance(value, str) and value.startswith(_MARK) else ""

"""Cuts a JSON-RPC message at a number of values and at a depth, on its bytes, before a model is made of its parts.

Readers of JSON on the way give up at 200 levels, and a message may hold a million blocks. Words stand for what is cut.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, cast

DEEPEST: Final = 150  # levels
CUT: Final = "[Fanout: left out, nested too deep]"
LARGE: Final = 2**16  # bytes, more than come from a network at once
MOST_VALUES: Final = 100_000  # of one message: what is read of a result is far less
_UNBOUND: Final = 2**31  # in a list of tools, where each schema is judged by itself
_MARK: Final = "[Fanout: left out, "
_NAME: Final = b'"[Fanout]":'
# Levels that a message has around what it carries: itself, its result or parameters, a field of these.
_PLACE: Final = 3
_STRING: Final = rb'"(?>[^"\\]+|\\.)*+"'
_FLAT: Final = rb'\{[^{}\[\]"]*+(?>' + _STRING + rb'[^{}\[\]"]*+)*+\}'
# A quote alone begins a text without an end: looking for its end from each of its quotes would never be done.
_TOKEN: Final = re.compile(_STRING + rb'|[\[\]{},"]', re.DOTALL)
_BRACKET: Final = re.compile(r'"(?>[^"\\]+|\\.)*+"|[\[\]{}"]', re.DOTALL)
_TOOLS: Final = re.compile(rb'"tools"\s*:\s*\[\Z')
_PASSED: Final = re.compile(rb'(?>[^"\[\]{}]++|' + _STRING + rb"|" + _FLAT + rb"){0,2000}+", re.DOTALL)
LINES: Final = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_DATA: Final = b"data:"
_LONGEST_ERROR: Final = 2_000  # characters of an error that is no text
_INTERNAL_ERROR: Final = -32603
_WHOLE: Final = re.compile(r"-?\d{1,9}(\.0)?")


def fewer(line: bytes, most: int = MOST_VALUES) -> bytes:
    """Return `line` without the values beyond `most`, with words in place of what is left out.

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
    """Return where the bracket is that closes `depth` levels; None where the line ends before."""
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
    """Return the words that stand for what was cut from a value, or "": they are its last part, or its last part's."""
    while value and isinstance(value, dict | list):
        parts = cast("Any", value)
        value = parts[next(reversed(parts))] if isinstance(value, dict) else parts[-1]
    return value if isinstance(value, str) and value.startswith(_MARK) else ""


def shallow(text: str) -> str:
    """Return `text` with CUT in place of every object and list that is deeper than DEEPEST; else as it is."""
    kept: list[str] = []
    depth, done, cut_at = 0, 0, 0
    for token in _BRACKET.finditer(text):
        match token[0]:
            case "{" | "[":
                depth += 1
                if depth == DEEPEST + 1:
                    cut_at = token.start()
            case "}" | "]":
                if depth == DEEPEST + 1:
                    kept += [text[done:cut_at], f'"{CUT}"']
                    done = token.end()
                depth -= 1
            case '"':
                break
            case _:
                pass
    return "".join([*kept, text[done:]])


def object_of(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def plain_error(message: Any) -> Any:
    """Return a message whose error has the protocol's shape: servers write a text for it, or for its code."""
    fields = object_of(message)
    error: Any = fields.get("error")
    if not fields.get("jsonrpc") or "method" in fields or error is None or isinstance(fields.get("result"), dict):
        return message
    said = object_of(error)
    code, words = said.get("code"), said.get("message")
    if type(code) is int and isinstance(words, str):
        return message
    if not isinstance(words, str):
        found = (said.get(name) for name in ("detail", "description", "error", "reason", "msg"))
        words = next((one for one in found if isinstance(one, str)), "")
        words = words or (error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)[:_LONGEST_ERROR])
    number = int(float(code)) if isinstance(code, str | float) and _WHOLE.fullmatch(str(code)) else code
    if type(number) is not int:
        words = f"{words} ({code})" if isinstance(code, str) and code else words
        number = _INTERNAL_ERROR
    return {"id": None} | fields | {"error": said | {"code": number, "message": words}}


def plain(message: bytes) -> bytes:
    """Do as `plain_error` does, for a message that is read as it is where it has no error."""
    if b'"error"' not in message or b'"result"' in message:
        return message
    try:
        read: Any = json.loads(message)
    except (ValueError, RecursionError):
        return message
    mended = plain_error(read)
    return message if mended is read else json.dumps(mended, ensure_ascii=False).encode("utf-8", "replace")


def forgiven(line: bytes) -> str:
    """Return a message that strict readers refuse in a form that they take.

    Bytes that aren't UTF-8 and lone surrogates become U+FFFD, what is nested too deep is cut off. Raises ValueError
    for what is no JSON, or RecursionError.
    """
    value: Any = plain_error(json.loads(shallow(line.decode("utf-8", "replace"))))
    return json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def taken(line: bytes) -> bytes:
    """Return a message for a strict reader, cut where it is too deep or too much; all else as it is."""
    line = fewer(line)
    if line.count(b"{") + line.count(b"[") <= DEEPEST:
        return line
    from pydantic_core import from_json

    try:
        from_json(line)
    except ValueError:
        try:
            return forgiven(line).encode()
        except (ValueError, RecursionError):
            return line
    return line


async def aside(read: Callable[[bytes], bytes], data: bytes) -> bytes:
    """Read large data in a thread."""
    return read(data) if len(data) < LARGE else await asyncio.to_thread(read, data)


async def taken_events(pieces: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """Do as `taken` does for each line of an event stream; a line of more than `most` bytes passes as it is."""
    rest = bytearray()
    async for piece in pieces:
        if len(piece) >= LARGE:
            await asyncio.sleep(0)  # a little gzip is many of these, with no wait between them
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1
        if end:
            yield await aside(_taken_lines, bytes(rest) + piece[:end])
            rest = bytearray(piece[end:])
        else:
            rest += piece
        if len(rest) > most:
            yield bytes(rest)
            rest = bytearray()
    if rest:
        yield await aside(_taken_lines, bytes(rest))


def _taken_lines(block: bytes) -> bytes:
    if block.count(b"{") + block.count(b"[") <= DEEPEST:
        return block
    return b"".join(map(_taken_line, LINES.findall(block)))


def _taken_line(line: bytes) -> bytes:
    if not line.startswith(_DATA):
        return line
    message = line[len(_DATA) :].rstrip(b"\r\n")
    return _DATA + taken(message) + line[len(_DATA) + len(message) :]

"""Cuts JSON text at a depth, so that what is nested a thousand levels deep costs itself alone, and says so."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any, Final

from console_app.mcp_client.transport.fewer_values import fewer

DEEPEST: Final = 150  # levels; readers of JSON on the way give up at 200
CUT: Final = "[Fanout: left out, nested too deep]"
# A quote alone begins a text without an end: looking for its end from each of its quotes would never be done.
_TOKEN: Final = re.compile(r'"(?>[^"\\]+|\\.)*+"|[\[\]{}"]', re.DOTALL)
_LINES: Final = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_DATA: Final = b"data:"
LARGE: Final = 2**16  # bytes, more than come from a network at once


def shallow(text: str) -> str:
    """`text` with CUT in place of every object and list that is deeper than DEEPEST; else as it is."""
    kept: list[str] = []
    depth, done, cut_at = 0, 0, 0
    for token in _TOKEN.finditer(text):
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


def forgiven(line: bytes) -> str:
    """A message that strict readers refuse, as they take it: bytes that aren't UTF-8 and lone surrogates become U+FFFD,
    what is nested too deep is cut off. Raises ValueError for what is no JSON, RecursionError."""
    value: Any = json.loads(shallow(line.decode("utf-8", "replace")))
    return json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def taken(line: bytes) -> bytes:
    """A message of a transport that reads strictly, cut where it is too deep or too much; all else as it is."""
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


async def taken_aside(line: bytes) -> bytes:
    """The same; a large one in a thread."""
    return taken(line) if len(line) < LARGE else await asyncio.to_thread(taken, line)


async def taken_events(pieces: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """The same for an event stream, a line at a time; one of more than `most` bytes as it is."""
    rest = bytearray()
    async for piece in pieces:
        if len(piece) >= LARGE:
            await asyncio.sleep(0)  # a little gzip is many of these, with no wait between them
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1
        if end:
            yield await _taken_block(bytes(rest) + piece[:end])
            rest = bytearray(piece[end:])
        else:
            rest += piece
        if len(rest) > most:
            yield bytes(rest)
            rest = bytearray()
    if rest:
        yield await _taken_block(bytes(rest))


async def _taken_block(block: bytes) -> bytes:
    return _taken_lines(block) if len(block) < LARGE else await asyncio.to_thread(_taken_lines, block)


def _taken_lines(block: bytes) -> bytes:
    if block.count(b"{") + block.count(b"[") <= DEEPEST:
        return block
    return b"".join(map(_taken_line, _LINES.findall(block)))


def _taken_line(line: bytes) -> bytes:
    if not line.startswith(_DATA):
        return line
    message = line[len(_DATA) :].rstrip(b"\r\n")
    return _DATA + taken(message) + line[len(_DATA) + len(message) :]

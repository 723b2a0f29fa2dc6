"""Cuts a server's output into lines, in time that grows with its size and memory that doesn't.

The SDK's own reader copies everything it holds with each chunk (100 MB in one line took 45 s) and knows no limit. Here
a line over the limit is thrown away as it arrives; what is kept of it is enough to tell which request it answered.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

LARGEST_LINE = 32 * 1024 * 1024  # bytes
ENDLESS = 8  # times the limit: such a line is taken to have no end
OVERSIZED_EXCERPT = 4096
_OBJECT = 64  # bytes that a line takes beside its own, at most

# The id of a response where writers put it: first, or last. Between, "id" may be anything's.
_ID_FIRST = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*[,}]')
_ID_LAST = re.compile(rb'"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


def find_id(head: bytes, tail: bytes) -> int | None:
    """The id of the request that a line answers, from its two ends; None when neither shows it."""
    match = _ID_FIRST.search(head) or _ID_LAST.search(tail)
    return int(match[1]) if match else None


def members(line: bytes) -> list[bytes]:
    """The messages of a batch, each as a line of its own: 2025-03-26 has them. Empty for what is none."""
    if not line.lstrip().startswith(b"[") or b'"jsonrpc"' not in line:
        return []
    try:
        listed: Any = json.loads(line)
        whole = all(isinstance(each, dict) and "jsonrpc" in each for each in listed)
        return [json.dumps(each).encode() for each in listed] if whole else []
    except (ValueError, RecursionError):
        return []


@dataclass(frozen=True, slots=True)
class Oversized:
    """A line over the limit: its ends and its size.

    Reported when it passes the limit and once more if it proves `endless`, both while it still arrives, and when it
    ends (`whole`).
    """

    head: bytes
    tail: bytes
    size: int
    whole: bool = False
    endless: bool = False


def weight(line: bytes | Oversized) -> int:
    """Bytes that keeping a line takes: a flood of empty ones takes memory and time too."""
    return _OBJECT + (len(line) if isinstance(line, bytes) else len(line.head) + len(line.tail))


class LineSplitter:
    """Feed it bytes as they come; it returns the lines they complete, without their line breaks."""

    def __init__(self, limit: int = LARGEST_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None  # set while an oversized line goes by
        self._tail = b""

    def feed(self, data: bytes) -> list[bytes | Oversized]:
        """Takes the next bytes."""
        found: list[bytes | Oversized] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._add(piece, found)
            if self._head is not None:
                found.append(Oversized(self._head, self._tail, self._size, whole=True))
            else:
                found.append(b"".join(self._parts))
            self._parts, self._size, self._head, self._tail = [], 0, None, b""
        self._add(rest, found)
        return found

    def end(self) -> list[bytes]:
        """Nothing more comes; gives the JSON object that stands whole on the last line, which no line break ended."""
        rest = b"" if self._head is not None else b"".join(self._parts)
        self._parts, self._size = [], 0
        return [rest] if rest.rstrip().endswith(b"}") else []

    def _add(self, piece: bytes, found: list[bytes | Oversized]) -> None:
        if not piece:
            return
        self._size += len(piece)
        if self._head is not None:
            self._tail = (self._tail + piece[-OVERSIZED_EXCERPT:])[-OVERSIZED_EXCERPT:]
            if self._size > self._limit * ENDLESS >= self._size - len(piece):
                found.append(Oversized(self._head, self._tail, self._size, endless=True))
            return
        self._parts.append(piece)
        if self._size > self._limit:
            whole = b"".join(self._parts)
            self._head, self._tail, self._parts = whole[:OVERSIZED_EXCERPT], whole[-OVERSIZED_EXCERPT:], []
            found.append(Oversized(self._head, b"", self._size))

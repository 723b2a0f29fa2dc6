"""A server's output as lines, cut, joined where a message is spread over several, and thinned out in a flood.

The SDK's own reader copies everything it holds with each chunk (100 MB in one line took 45 s) and knows no limit. Here
a line over the limit is thrown away as it arrives; what is kept of it is enough to tell which request it answered.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Any, Final

from console_app.records import dataclass

LARGEST_LINE = 32 * 1024 * 1024  # bytes
ENDLESS = 8  # times the limit: such a line is taken to have no end
OVERSIZED_EXCERPT = 4096
_OBJECT = 64  # bytes that a line takes beside its own, at most

# The id of a response where writers put it: first, or last. Between, "id" may be anything's.
_ID_FIRST = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*[,}]')
_ID_LAST = re.compile(rb'"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
# Such a message begins with a bracket alone, or the first of its fields; a program's log lines begin otherwise.
_BEGINS = re.compile(rb'\s*(\[|\[?\s*\{(\s*"(jsonrpc|result|error|method|params)"\s*:[^\n]*[,{\[])?)\s*$')
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')  # a string of JSON is never on two lines
MOST_A_SECOND: Final = 200  # notices of a connection that are read each on its own
MOST_OUTPUT_A_SECOND: Final = 4000  # those that carry output, which no newer one makes up for: 20 of each of 200 calls
_LONGEST: Final = 8192  # bytes of a line that is looked at
# Usual writers put the method first, or behind the version. A notice written otherwise is read on its own.
_PROGRESS: Final = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:\s*"notifications/progress"\s*,')
_OUTPUT: Final = b'"fanout/output"'
_FILES: Final = b'"MCP_UPDATE:'
_TOKEN: Final = re.compile(rb'"progressToken"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)')


def find_id(head: bytes, tail: bytes) -> int | None:
    """Return the id of the request that a line answers, from its two ends; None when neither shows it."""
    match = _ID_FIRST.search(head) or _ID_LAST.search(tail)
    return int(match[1]) if match else None


def members(line: bytes) -> list[bytes]:
    """Return the messages of a batch (2025-03-26 has them), each as a line of its own; none where it is no batch."""
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
    """A line over the limit: its ends and its size. It is reported as it passes that, proves `endless`, and is
    `whole`."""

    head: bytes
    tail: bytes
    size: int
    whole: bool = False
    endless: bool = False


def weight(line: bytes | Oversized) -> int:
    """Return the bytes that keeping a line takes: a flood of empty ones takes memory and time too."""
    return _OBJECT + (len(line) if isinstance(line, bytes) else len(line.head) + len(line.tail))


class LineSplitter:
    """Takes bytes as they come, and returns the lines they complete, without their line breaks."""

    def __init__(self, limit: int = LARGEST_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None  # set while an oversized line goes by
        self._tail = b""

    def feed(self, data: bytes) -> list[bytes | Oversized]:
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
        """End the input; return the JSON object that stands whole on a last line without a line break."""
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


class SpreadLines:
    """Joins a message that a server wrote over several lines, which MCP forbids: its call would wait for its time
    limit."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0
        self._open = 0  # brackets
        self.joined = 0  # messages so far

    def take(self, line: bytes) -> list[bytes]:
        """Return what can be read now: `line` itself, nothing while its message goes on, or all of that as one line."""
        if not self._held and not (line.rstrip()[-1:] in b"[{," and _BEGINS.match(line)):
            return [line]
        more = _opened(line)
        if self._held and (more == 0 and line.startswith(b"{") and b'"jsonrpc"' in line):
            return [*self._released(), line]
        self._held.append(line)
        self._open += more or 0
        self._size += len(line)
        if more is None or self._open < 0 or self._size > LARGEST_LINE:
            return self._released()
        if self._open:
            return []
        self.joined += 1
        return [b" ".join(self._released())]

    def _released(self) -> list[bytes]:
        held, self._held, self._open, self._size = self._held, [], 0, 0
        return held


def _opened(line: bytes) -> int | None:
    """Return how many brackets a line leaves open; None where it ends within a string."""
    bare = _STRINGS.sub(b"", line)
    if b'"' in bare:
        return None
    return sum(bare.count(each) for each in (b"{", b"[")) - sum(bare.count(each) for each in (b"}", b"]"))


class ProgressFlood:
    """Thins a flood of progress out before it is parsed, which takes 40 µs each: only the newest of each token is
    kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._second = 0.0
        self._counts = [0, 0]  # without and with output
        self._held: dict[tuple[bytes, bool], bytes] = {}
        self._replaced = 0  # notices that a newer one has the place of

    def holds(self, line: bytes) -> bool:
        """Return whether `line` is a notice too many, kept here until it is taken or replaced by a newer one."""
        if len(line) > _LONGEST or _PROGRESS.match(line) is None or (token := _TOKEN.search(line)) is None:
            return False
        if _FILES in line:  # no newer notice makes up for it
            return False
        now, output = self._clock(), _OUTPUT in line
        if now - self._second >= 1:
            self._second, self._counts = now, [0, 0]
        self._counts[output] += 1
        if self._counts[output] <= (MOST_OUTPUT_A_SECOND if output else MOST_A_SECOND):
            return False
        key = (token[1], output)
        self._replaced += self._held.pop(key, None) is not None
        self._held[key] = line
        return True

    def take(self) -> list[bytes]:
        if not self._held:
            return []
        lines, self._held = list(self._held.values()), {}
        return lines

    def replaced(self) -> int:
        count, self._replaced = self._replaced, 0
        return count

"""Joins a message that a server wrote over several lines, as printers of JSON for people do.

MCP wants a message on one line, and each of these lines alone is nonsense: its call would wait for its time limit.
"""

from __future__ import annotations

import re

from console_app.mcp_client.transport.lines import LARGEST_LINE

# How such a message begins: a bracket alone, or the first of its fields. What a program logs begins otherwise.
_BEGINS = re.compile(rb'\s*(\[|\[?\s*\{(\s*"(jsonrpc|result|error|method|params)"\s*:[^\n]*[,{\[])?)\s*$')
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')  # a string of JSON is never on two lines


class SpreadLines:
    """Feed it each line; it returns those that can be read now."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0
        self._open = 0  # brackets
        self.joined = 0  # messages so far

    def take(self, line: bytes) -> list[bytes]:
        """The line itself, nothing while more of its message must come, or the whole of that as one line."""
        if not self._held and not (line.rstrip()[-1:] in b"[{," and _BEGINS.match(line)):
            return [line]
        more = _opened(line)
        if self._held and _is_whole(line, more):
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
    """How many brackets it opens and leaves open; None where it ends within a string."""
    bare = _STRINGS.sub(b"", line)
    if b'"' in bare:
        return None
    return sum(bare.count(each) for each in (b"{", b"[")) - sum(bare.count(each) for each in (b"}", b"]"))


def _is_whole(line: bytes, opened: int | None) -> bool:
    """Whether it is a message by itself: what began before never ended."""
    return opened == 0 and line.startswith(b"{") and b'"jsonrpc"' in line

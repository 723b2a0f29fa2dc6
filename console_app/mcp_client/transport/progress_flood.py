"""Thins a flood of progress out before it is parsed: of notices that wait to be read, the newest of each call counts.

To read, check and hand on a notice takes some 40 µs; to see that a line is one takes less than one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

MOST_A_SECOND: Final = 200  # notices of a connection that are read each on its own
_LONGEST: Final = 8192  # bytes of a line that is looked at
# As writers put it: the method first, or behind the version. What is written otherwise is read one by one.
_PROGRESS: Final = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:\s*"notifications/progress"\s*,')
_FILES: Final = b'"MCP_UPDATE:'
_TOKEN: Final = re.compile(rb'"progressToken"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)')


class ProgressFlood:
    """Lines that are held back, the newest of each token, until something else is to be read."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._second = 0.0
        self._count = 0
        self._held: dict[bytes, bytes] = {}
        self._replaced = 0  # notices that a newer one has the place of

    def holds(self, line: bytes) -> bool:
        """Whether `line` is a notice too many, and kept here until it is taken or a newer one has its place."""
        if len(line) > _LONGEST or _PROGRESS.match(line) is None or (token := _TOKEN.search(line)) is None:
            return False
        if _FILES in line:  # no newer notice makes up for it
            return False
        now = self._clock()
        if now - self._second >= 1:
            self._second, self._count = now, 0
        self._count += 1
        if self._count <= MOST_A_SECOND:
            return False
        self._replaced += self._held.pop(token[1], None) is not None
        self._held[token[1]] = line
        return True

    def take(self) -> list[bytes]:
        """What was held back, in its order."""
        if not self._held:
            return []
        lines, self._held = list(self._held.values()), {}
        return lines

    def replaced(self) -> int:
        """How many notices nobody will read, since this was last asked."""
        count, self._replaced = self._replaced, 0
        return count

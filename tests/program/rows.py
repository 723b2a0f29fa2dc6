"""The rows of an emulated screen as text."""

from __future__ import annotations

import pyte
from wcwidth import wcwidth


class Rows:
    """Writes anew what changed. pyte's own `display` writes all, which takes half a second where there are 800 rows."""

    def __init__(self, screen: pyte.Screen) -> None:
        self._screen = screen
        self._rows: list[str] = []
        self._columns = 0

    def now(self) -> list[str]:
        """Trailing blanks cut."""
        screen = self._screen
        if (len(self._rows), self._columns) != (screen.lines, screen.columns):
            self._rows, self._columns = [""] * screen.lines, screen.columns
            screen.dirty.update(range(screen.lines))
        for y in screen.dirty | {y - 1 for y in screen.dirty}:  # an accent may be drawn on the end of the row above
            if 0 <= y < screen.lines:
                self._rows[y] = self._row(y)
        screen.dirty.clear()
        return self._rows

    def _row(self, y: int) -> str:
        line = self._screen.buffer[y]
        text = ""
        x, end = 0, min(max(line, default=-1) + 1, self._columns)
        while x < end:
            char = line[x].data
            text += char
            x += 2 if wcwidth(char[:1]) == 2 else 1  # what is behind a wide one is a part of it
        return text.rstrip()

"""The words that are looked for: where they stand in painted blocks, and how they are marked there.

What a block is searched for (`Block.searched`) is its source, so that nothing has to be painted to be counted; the
marks are of the lines that are on screen.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from rich.style import Style
from textual.strip import Strip

from console_app.tui.transcript_view.block import Block
from console_app.tui.transcript_view.selection import restyled
from console_app.tui.widgets.lines import Line

Span = tuple[int, int, int]  # a line of a block, and the characters from and to in it
FOUND = Style(underline=True, bold=True)
HERE = Style(reverse=True, bold=True)  # seen without colours too


def pattern_of(words: str) -> re.Pattern[str] | None:
    """What finds `words` in any case, whatever space or line end stands between them; None for nothing."""
    parts = words.split()
    return re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE) if parts else None


class Found:
    """What is looked for in one view. `here` is the block and the number of the match that is gone to."""

    def __init__(self) -> None:
        self.pattern: re.Pattern[str] | None = None
        self.here: tuple[Block, int] | None = None
        self.stale: dict[Block, None] = {}  # changed since they were last counted
        self._marks: dict[Block, tuple[Sequence[Line], list[list[Span]]]] = {}

    def look_for(self, words: str) -> None:
        """Other words, or with "" none."""
        self.pattern = pattern_of(words)
        self.here = None
        self._marks.clear()

    def changed(self, block: Block) -> None:
        """A block is another one, or new. Called once a token."""
        if self.pattern is not None:
            self.stale[block] = None

    def matches(self, block: Block) -> list[list[Span]]:
        """Where the words stand in a block as it is painted; one that goes over a line's end has several spans."""
        known = self._marks.get(block)
        if known is None or known[0] is not block.lines:
            known = self._marks[block] = (block.lines, _matches(block, self.pattern) if self.pattern else [])
        return known[1]

    def paint(self, strip: Strip, block: Block, line: int) -> Strip:
        """A painted line with what is found in it marked."""
        if self.pattern is None or not block.lines:
            return strip
        here = self.here[1] if self.here is not None and self.here[0] is block else -1
        for number, spans in enumerate(self.matches(block)):
            for at, start, end in spans:
                if at == line:
                    strip = restyled(strip, start, end, HERE if number == here else FOUND)
        return strip


def _matches(block: Block, pattern: re.Pattern[str]) -> list[list[Span]]:
    texts: list[str] = []
    places: list[tuple[int, int, int]] = []  # where a line's text begins in all of it; the line; its first character
    length = 0
    for number, start, end in block.searchable():
        line = block.lines[number]
        if places:
            texts.append(line.joint)
            length += len(line.joint)
        texts.append(line.text[start:end])
        places.append((length, number, start))
        length += end - start
    return [_spans(found, places) for found in pattern.finditer("".join(texts))]


def _spans(found: re.Match[str], places: Sequence[tuple[int, int, int]]) -> list[Span]:
    """A match in the joined text, as spans of the lines that it goes over."""
    at = max(bisect_right(places, found.start(), key=lambda place: place[0]) - 1, 0)
    spans: list[Span] = []
    while at < len(places) and places[at][0] < found.end():
        begin, number, first = places[at]
        past = places[at + 1][0] if at + 1 < len(places) else found.end()
        start, end = max(found.start(), begin), min(found.end(), past)
        if start < end:
            spans.append((number, first + start - begin, first + end - begin))
        at += 1
    return spans

"""The words that are looked for: where they stand in blocks, and how they are marked there.

What a block is searched for (`Block.searched`) is its source, so that nothing has to be painted to be counted; the
marks are of the lines that are on screen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rich.style import Style
from textual.strip import Strip

from console_app.tui.lineview.block import Block
from console_app.tui.lineview.lines import Line
from console_app.tui.lineview.passages import Matches
from console_app.tui.lineview.selection import restyled

FOUND = Style(underline=True, bold=True)
HERE = Style(reverse=True, bold=True)  # seen without colours too


def pattern_of(words: str) -> re.Pattern[str] | None:
    """What finds `words` in any case, whatever space or line end stands between them; None for nothing."""
    parts = words.split()
    return re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE) if parts else None


class Found:
    """What is looked for in one view. `here` is the block and the number of the match that is gone to."""

    def __init__(self, unfinished: Callable[[Matches], None] = lambda matches: None) -> None:
        """`unfinished` is told of matches that are wanted, and known in part."""
        self._unfinished = unfinished
        self.pattern: re.Pattern[str] | None = None
        self.here: tuple[Block, int] | None = None
        self.stale: dict[Block, None] = {}  # changed since they were last counted
        self._marks: dict[Block, tuple[Sequence[Line], Matches]] = {}

    def look_for(self, words: str) -> None:
        """Other words, or with "" none."""
        self.pattern = pattern_of(words)
        self.here = None
        self._marks.clear()

    def changed(self, block: Block) -> None:
        """A block is another one, or new. Called once a token."""
        if self.pattern is not None:
            self.stale[block] = None

    def matches(self, block: Block) -> Matches:
        """Where the words stand in a block as it is painted."""
        known = self._marks.get(block)
        if known is None or known[0] is not block.lines:
            passages = () if self.pattern is None else block.searchable()
            before = None if known is None else known[1]
            known = (block.lines, Matches(passages, self.pattern or re.compile("(?!)"), before))
            self._marks[block] = known
        return known[1]

    def paint(self, strip: Strip, block: Block, line: int) -> Strip:
        """A painted line with what is found in it marked."""
        if self.pattern is None or not block.lines:
            return strip
        if block.unfinished:
            return strip  # it will be painted again
        matches = self.matches(block)
        if matches.unfinished:
            self._unfinished(matches)
            return strip
        here = self.here[1] if self.here is not None and self.here[0] is block else -1
        for number, start, end in matches.on(line):
            strip = restyled(strip, start, end, HERE if number == here else FOUND)
        return strip

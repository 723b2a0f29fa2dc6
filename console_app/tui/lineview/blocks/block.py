"""A block is a part of the conversation: plain state that paints itself as lines, once for each look it has.

It has no task, timer or input of its own, and knows no app. The view tells it the width, the palette and the time, and
keeps the lines until something of that changes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from rich.style import Style

from console_app.domain import Artifact, one_line
from console_app.tui.lineview.blocks.passages import Passage, passage_of
from console_app.tui.lineview.lines import Line, Piece, Row
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.text.joined import Joined

LIVE_RATE = 10  # looks a second of a block that spins or counts
log = logging.getLogger(__name__)
GUTTER = 3  # cells before a block's text: the edge, its bar, a space
NARROW = 44  # cells below which gutters shrink


def gutter_of(width: int) -> int:
    return GUTTER if width >= NARROW else 2 if width >= 12 else 0


def margin_of(width: int) -> int:
    return 2 if width >= NARROW else 0


def room_of(width: int) -> int:
    return max(width - gutter_of(width) - margin_of(width), 1)


def bar(width: int, mark: str, style: Style, base: Style, edge: str = "") -> list[Piece]:
    """The gutter of a block: the edge, a mark, a space."""
    gutter = gutter_of(width)
    return [(f"{edge:<{gutter - 2}}", base), (mark, style), (" ", base)] if gutter else []


class Block:
    """Base of all blocks: caching, and what the view keeps of each."""

    opens = False  # whether it has more to show
    estimates = False  # whether lines that were not seen yet may be more or fewer when they are
    sticks = False  # whether its first line stays at the edge of the view while its own place is out of it
    searched_folded = 0  # searched texts that are seen whole while it is folded
    files: Sequence[Artifact] = ()  # and links that came with it
    beside: Sequence[Block] = ()  # others whose look changes when it is selected or opened
    is_stop = False  # whether the cursor stops here when it moves by key

    def __init__(self) -> None:
        self.index = -1  # in the view; -1: not in one
        self.measured = False  # whether its height in the view is that of its lines
        self.selected = False  # whether the cursor is on it
        self.open = False
        self.lines: Sequence[Line] = []  # as last painted
        self._version = 0
        self._key: object = None

    @property
    def live(self) -> bool:
        """Tell whether its look changes with time alone."""
        return False

    @property
    def gap(self) -> int:
        """Empty lines above it."""
        return 1

    @property
    def copy_text(self) -> str:
        return "\n".join(line.content for line in self.lines[self.gap :])

    @property
    def searched(self) -> Sequence[str]:
        """The texts in which find looks, in the order in which they are painted when it is open."""
        return ()

    def searchable(self) -> Iterable[Passage]:
        """Return the searched texts as the painted lines show them."""
        return (passage_of(self.lines),)

    def unfold_match(self, expected: int, shown: int, wanted: int) -> bool:
        """Show more of an open block that shows `shown` of `expected` matches, so that number `wanted` is seen; False
        where nothing changed."""
        return False

    @property
    def kept(self) -> int:
        return len(self.lines)

    @property
    def unfinished(self) -> bool:
        """Tell whether only a part was laid out and painted, and `lay_out` goes on with it."""
        return False

    def lay_out(self) -> None:
        """Lays out a slice more of an unfinished one: a few milliseconds."""

    def come_into_view(self, first: int, past: int) -> bool:
        """Lay these of its lines out where they were only estimated, and tell whether any were."""
        return False

    def mark(self, line: int) -> object:
        """Return a place that stays the same when lines above it become more or fewer, or all get another width."""
        return line

    def line_of(self, mark: object) -> int:
        return mark if isinstance(mark, int) else 0

    def changed_too(self) -> Sequence[Block]:
        """Other blocks that look different as well since this was last asked, when it has changed."""
        return ()

    def touch(self) -> None:
        self._version += 1

    def select(self, selected: bool) -> None:
        self.selected = selected

    def toggle(self) -> None:
        self.open = not self.open
        self.touch()

    def set_room(self, height: int) -> bool:
        return False

    def forget(self) -> None:
        self._key = None
        self.lines = []

    def render(self, width: int, palette: Palette, now: float = 0.0) -> Sequence[Line]:
        """Its lines, each exactly `width` cells, with the empty ones above. The same list while nothing changed."""
        beat = int(now * LIVE_RATE) if self.live else 0
        key = (width, palette, self._version, self.selected, self.open, beat, *self.look())
        if key != self._key:
            try:
                body = self.paint(max(width, 1), palette, now)
            except Exception as error:
                body = self._unpainted(error, max(width, 1), palette)
            above = self.gap if body else 0
            blank = [Line.fit([], max(width, 1), palette.base)] * above
            self.lines = [*blank, *body] if isinstance(body, list) else Joined([blank, body])
            self._key = key
        return self.lines

    def _unpainted(self, error: Exception, width: int, palette: Palette) -> list[Line]:
        """Stand in for a block whose painting failed, so that the conversation goes on around it."""
        log.error("the console went on after an internal error: a block was not painted", exc_info=error)
        text = f"✗ This {type(self).__name__} could not be drawn: {one_line(repr(error), 80)}. /log has the details."
        return [Line.fit([(text, palette.error)], width, palette.base)]

    def look(self) -> tuple[object, ...]:
        return ()

    def estimate(self, width: int) -> int:
        """About how many lines it takes, without painting it."""
        return 1 + self.gap

    def paint(self, width: int, palette: Palette, now: float) -> Sequence[Line]:
        """Its lines without the empty ones above. Called when nothing kept fits."""
        raise NotImplementedError


class TextBlock(Block):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    @property
    def copy_text(self) -> str:
        return self.text

    @property
    def searched(self) -> Sequence[str]:
        return (self.text,)


def estimate_text(text: str, width: int) -> int:
    """About how many lines a text takes, in a time that does not show for thousands of them."""
    return text.count("\n", 0, 100_000) + len(text) // max(width - GUTTER, 1) + 1


def framed(row: Row, width: int, palette: Palette, left: Sequence[Piece]) -> Line:
    """A row with what stands left of it, padded to the width."""
    gutter = sum(len(text) for text, _ in left)
    margin = margin_of(width)
    body = row.pieces
    line_end = gutter + sum(len(text) for text, _ in body)
    fill = row.fill or palette.base
    if row.fill is not None and margin:
        inner = Line.fit([*left, *body], width - margin, fill)
        pieces = [(segment.text, segment.style or fill) for segment in inner]
        return Line.fit(pieces, width, palette.base, start=gutter + row.gutter, end=line_end, joint=row.joint)
    return Line.fit([*left, *body], width, fill, start=gutter + row.gutter, end=line_end, joint=row.joint)

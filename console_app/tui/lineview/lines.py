"""Measure, wrap and cut styled text, as lines of exactly so many cells.

A piece is text with a style, and a row is a line before it has its place on screen. A `Line` is the finished strip. It
also knows which of its characters are content, so that a copied selection leaves borders and gutters behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from console_app.domain import visible
from console_app.records import dataclass
from console_app.tui.lineview.text.cells import widths

WIDEST_NAME = 24
Piece = tuple[str, Style]

TAB_SIZE = 4
_NARROW, _WIDE = re.compile(b"\1*"), re.compile(b"\2*")  # characters of as many cells
_WORD = re.compile(r"\S+\s*|\s+")


class Line(Strip):
    """A painted line. Characters `start` to `end` are content; `joint` comes before it when lines are copied."""

    __slots__ = ("end", "joint", "start")

    def __init__(self, segments: Iterable[Segment], width: int, start: int, end: int, joint: str = "\n") -> None:
        super().__init__(segments, width)
        self.start = start
        self.end = end
        self.joint = joint

    @property
    def content(self) -> str:
        return self.text[self.start : self.end]

    @staticmethod
    def fit(
        pieces: Sequence[Piece], width: int, fill: Style, *, start: int = 0, end: int | None = None, joint: str = "\n"
    ) -> Line:
        """A line of exactly `width` cells: cropped without a mark, padded with `fill`. `end` counts characters."""
        size = Line.cells(pieces)
        if size > width:
            pieces = Line.trim(pieces, width, "")
            size = Line.cells(pieces)
        segments = [Segment(text, style) for text, style in pieces if text]
        length = sum(len(segment.text) for segment in segments)
        if size < width:
            segments.append(Segment(" " * (width - size), fill))
        stop = length if end is None else min(end, length)
        return Line(segments, width, min(start, stop), stop, joint)

    @staticmethod
    def cells(pieces: Sequence[Piece]) -> int:
        return sum(len(text) if text.isascii() else cell_len(text) for text, _ in pieces)

    @staticmethod
    def clean(text: str) -> str:
        """Foreign text made safe for one line or several: marks for what is unsafe, tabs as spaces."""
        text = visible(text)
        return text.expandtabs(TAB_SIZE) if "\t" in text else text

    @staticmethod
    def cut(text: str, cells: int) -> int:
        """Count the characters of `text` that fit into so many cells. A character is never parted from its marks."""
        if cells <= 0:
            return 0
        if text.isascii():
            return min(len(text), cells)
        used = 0
        for start, _, size in split_graphemes(text)[0]:
            used += size
            if used > cells:
                return start
        return len(text)

    @staticmethod
    def trim(pieces: Iterable[Piece], cells: int, ellipsis: str = "…") -> list[Piece]:
        kept: list[Piece] = []
        room = cells
        pending = iter(pieces)
        for text, style in pending:
            size = len(text) if text.isascii() else cell_len(text)
            if size <= room:
                kept.append((text, style))
                room -= size
                continue
            if ellipsis and cells > 0:
                kept = _make_room(kept, room, 1)
                room = cells - Line.cells(kept)
                begin = text[: Line.cut(text, room - 1)].removesuffix(ellipsis)  # it was cut before, right here
                if begin or not (kept and kept[-1][0].endswith(ellipsis)):
                    kept.append((begin + ellipsis, style))
            else:
                kept.append((text[: Line.cut(text, room)], style))
            break
        return [piece for piece in kept if piece[0]]

    @staticmethod
    def wrap(pieces: Sequence[Piece], width: int) -> list[Row]:
        """The pieces broken into rows of at most `width` cells; soft breaks are copied as the space they replace."""
        if not pieces:
            return [Row([])]
        text = "".join(piece[0] for piece in pieces)
        if len(text) <= width and text.isascii():
            return [Row(list(pieces))]
        rows: list[Row] = []
        previous = 0
        parts = Parts(pieces)
        for start, end in break_points(text, width):
            stop = start + len(text[start:end].rstrip(" ")) if end < len(text) else end
            joint = "\n" if not rows else " " if text[previous:start].endswith(" ") else ""
            rows.append(Row(parts.between(start, stop), joint))
            previous = start
        return rows

    @staticmethod
    def chop(pieces: Sequence[Piece], width: int) -> list[Row]:
        """The pieces cut into rows of `width` cells wherever the edge falls, as code is; copied without the breaks."""
        text = "".join(piece[0] for piece in pieces)
        if len(text) <= width and text.isascii():
            return [Row(list(pieces))]
        parts, cuts = Parts(pieces), pairwise([0, *chop_ends(text, width)])
        return [Row(parts.between(start, end), "" if start else "\n") for start, end in cuts]

    @staticmethod
    def wrap_text(text: str, width: int) -> list[str]:
        return [text[start:end].rstrip() for start, end in break_points(text, width)]

    @staticmethod
    def chop_text(text: str, width: int) -> list[str]:
        """`text` cut so that no part is wider than `width` cells; one part at least."""
        return [text[start:end] for start, end in pairwise([0, *chop_ends(text, width)])]

    @staticmethod
    def column(names: Iterable[str]) -> int:
        """Return the cells that a column of these names has. A longer name has a line of its own."""
        return min(max(map(cell_len, names), default=0), WIDEST_NAME)


@dataclass(slots=True)
class Row:
    """A line without its frame. The first `gutter` characters are not copied; `fill` is the style behind its end."""

    pieces: list[Piece]
    joint: str = "\n"
    gutter: int = 0
    fill: Style | None = None


def _make_room(pieces: list[Piece], room: int, needed: int) -> list[Piece]:
    """The pieces, shortened from the end until `needed` cells are free."""
    pieces = list(pieces)
    while room < needed and pieces:
        text, style = pieces.pop()
        size = cell_len(text)
        shorter = text[: Line.cut(text, size - (needed - room))]
        room += size - cell_len(shorter)
        if shorter:
            pieces.append((shorter, style))
    return pieces


def break_points(text: str, width: int) -> list[tuple[int, int]]:
    """Break `text` (without newlines) into lines of at most `width` cells, and return the character span of each.

    Breaks at spaces, which the span leaves out; a word longer than a line is cut, and text in a script written
    without spaces breaks between characters.
    """
    room = width = max(width, 1)
    if len(text) <= room and text.isascii():
        return [(0, len(text))]
    cells = None if text.isascii() else widths(text)
    spans: list[tuple[int, int]] = []
    begin = 0
    used = 0
    for match in _WORD.finditer(text):
        at, word = match.start(), match.group()
        end = at + len(word.rstrip())
        size = end - at if cells is None else sum(cells[at:end])
        breakable = size > end - at  # wide characters
        if used + size > room:
            if used and not (breakable and room - used >= 2):
                spans.append((begin, at))
                begin, used, room = at, 0, width
            while used + size > room:
                past = _past(cells, at, end, room - used)
                if past == at and used:
                    spans.append((begin, at))
                    begin, used, room = at, 0, width
                    continue
                if past == at:
                    past = _past(cells, at, end, 2)  # one character wider than the line
                if past == end:
                    break
                spans.append((begin, past))
                size -= past - at if cells is None else sum(cells[at:past])
                begin = at = past
                used, room = 0, width
        used += size + match.end() - end
    spans.append((begin, len(text)))
    return spans


def _past(cells: bytes | None, at: int, end: int, room: int) -> int:
    """The place behind the characters that fit into `room`; `cells` are those of each, None where all take one."""
    if room <= 0:
        return at
    if cells is None:
        return min(at + room, end)
    past = at
    while past < end and cells[past] <= room:
        room -= cells[past]
        past += 1
    return past


class Parts:
    """Pieces that are read from the first to the last, in a time that grows with their number alone."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self._number = self._begin = 0  # of the piece that was reached, and the characters before it

    def between(self, start: int, end: int) -> list[Piece]:
        out: list[Piece] = []
        while self._number < len(self._pieces):
            text, style = self._pieces[self._number]
            if part := text[max(start - self._begin, 0) : max(end - self._begin, 0)]:
                out.append((part, style))
            if self._begin + len(text) > end:
                break
            self._begin += len(text)
            self._number += 1
        return out


def chop_ends(text: str, width: int) -> list[int]:
    """The ends of the rows of `width` cells when `text` is cut wherever the edge falls; at least one row."""
    width = max(width, 1)
    size = len(text)
    if text.isascii():
        return [*range(width, size, width), size]
    cells = widths(text) if width > 1 else widths(text).replace(b"\2", b"\1")
    ends: list[int] = []
    end, half = 0, width // 2
    while end < size:
        at = end
        for run, step in ((_NARROW, width), (_WIDE, half)):  # most rows are all of one kind, and so are those below
            past = run.match(cells, at).end() if step else at  # pyright: ignore[reportOptionalMemberAccess]
            if past - at > step:
                rows = range(at + step, past, step)
                ends += rows[:-1]
                end = rows[-1]
                break
        else:
            room = width - cells[at]
            end = at + 1
            while end < size and cells[end] <= room:
                room -= cells[end]
                end += 1
        while end < size and not cells[end]:
            end += 1
        ends.append(end)
    return ends

"""Text that find looks in, and where it stands in the painted lines of a block, whether they are painted yet or not."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from console_app.tui.lineview.lines import Line, Row
from console_app.tui.lineview.results.windows import RowWindow
from console_app.tui.lineview.text.joined import Joined

SLICE = 100_000  # characters that are looked through at once: some 5 ms


class Search:
    """Searches one text slice by slice. It finds the same matches as `finditer` in the whole."""

    def __init__(self, pattern: re.Pattern[str], text: str, slice_: int = SLICE) -> None:
        self.text = text
        self._slice = slice_
        self.spans: list[tuple[int, int]] = []
        self._pattern = pattern
        self._at = 0

    @property
    def unfinished(self) -> bool:
        return self._at < len(self.text)

    def lay_out(self) -> None:
        text, begin, end = self.text, self._at, min(self._at + self._slice, len(self.text))
        first, reach = _facts(self._pattern)
        past = end
        if end < len(text) and (found := reach.match(text, end)) is not None:
            past = found.end()  # what begins in the slice ends before
        self._at = end
        for start, stop in _places(self._pattern, first, text, begin, past):
            if start >= end:
                break
            self.spans.append((start, stop))
        if self.spans:
            self._at = max(end, self.spans[-1][1])


def _places(pattern: re.Pattern[str], first: str, text: str, begin: int, past: int) -> Iterator[tuple[int, int]]:
    """Yield the places of a pattern whose first word in small letters is `first`, as `finditer` does."""
    if not first or not (part := text[begin:past]).isascii():
        yield from (match.span() for match in pattern.finditer(text, begin, past))
        return
    small = part.lower()  # to look for the word in small letters is ten times as fast
    at = small.find(first)
    while at >= 0:
        match = pattern.match(text, begin + at, past)
        if match is not None:
            yield match.span()
        at = small.find(first, at + 1 if match is None else match.end() - begin)


@lru_cache(maxsize=8)
def _facts(pattern: re.Pattern[str]) -> tuple[str, re.Pattern[str]]:
    """The first word in small letters, "" where it can't be looked for as it is; and a pattern for the reach of a
    match: no more signs than the pattern has."""
    first = pattern.pattern.split(r"\s+", 1)[0]
    plain = re.escape(first) == first and first.isascii()
    return first.lower() if plain else "", re.compile(rf"(?:\s*\S){{0,{len(pattern.pattern)}}}")


Span = tuple[int, int, int]  # a line of a block, and the characters from and to in it
TextLine = tuple[int, int, str, str]  # a line of a block, its first character, its text, and what joins it to the last


class LinesPassage:
    unfinished = False

    def __init__(self, lines: Sequence[TextLine]) -> None:
        joints = ["", *(joint for _, _, _, joint in lines[1:])]
        self.text = "".join(part for one, joint in zip(lines, joints, strict=False) for part in (joint, one[2]))
        behind = list(accumulate(len(one[2]) + len(joint) for one, joint in zip(lines, joints, strict=False)))
        self._begins = [past - len(one[2]) for past, one in zip(behind, lines, strict=True)]
        self._lines = lines
        self._by_line = {one[0]: number for number, one in enumerate(lines)}

    def lay_out(self) -> None:
        """Its text is there."""

    def line_at(self, offset: int) -> int:
        """The line of the block on which a character of the text stands."""
        return self._lines[max(bisect_right(self._begins, offset) - 1, 0)][0]

    def place(self, line: int) -> tuple[int, int, int] | None:
        """The span of the text that a line of the block shows, and the character of it where that begins, or None."""
        number = self._by_line.get(line)
        if number is None:
            return None
        begin, (_, column, text, _) = self._begins[number], self._lines[number]
        return begin, begin + len(text), column


class WindowPassage:
    """The rows of a window, the first of them in line `first` of the block and all from character `column` on."""

    def __init__(self, window: RowWindow, first: int, column: int) -> None:
        self._window, self._first, self._column = window, first, column

    @property
    def text(self) -> str:
        return self._window.shown.text

    @property
    def unfinished(self) -> bool:
        return self._window.shown.unfinished

    def lay_out(self) -> None:
        self._window.shown.lay_out()

    def line_at(self, offset: int) -> int:
        window = self._window
        begins = window.shown.begins
        number = max(bisect_right(begins, offset, hi=len(begins) - 1) - 1, 0)
        return self._first + window.row_of(number, offset - begins[number])

    def place(self, line: int) -> tuple[int, int, int] | None:
        row = line - self._first
        if not 0 <= row < len(self._window):
            return None
        number, start, end = self._window.span(row)
        begin = self._window.shown.begins[number]
        return begin + start, begin + end, self._column


Passage = LinesPassage | WindowPassage
"""A text over lines of a block. It may still have to be made (`unfinished`), in slices (`lay_out`)."""


def passage_of(lines: Sequence[Line], first: int = 0) -> LinesPassage:
    return LinesPassage(
        [
            (at, (line := lines[at]).start, line.text[line.start : line.end], line.joint)
            for at in range(first, len(lines))
        ]
    )


def passages_in(rows: Joined[Row], edge: int, first: int) -> list[Passage]:
    """The passages of rows behind `edge` characters, the first in line `first` of the block. Titles have no gutter:
    they are not searched."""
    found: list[Passage] = []
    plain: list[TextLine] = []
    for begin, part in rows.begins():
        if isinstance(part, RowWindow):
            found += [LinesPassage(plain), WindowPassage(part, first + begin, edge + part[0].gutter)]
            plain = []
            continue
        plain += [
            (first + at, edge + row.gutter, "".join(text for text, _ in row.pieces)[row.gutter :], row.joint)
            for at, row in enumerate(part, begin)
            if row.gutter
        ]
    return [*found, LinesPassage(plain)]


class Matches:
    """Finds the places of a pattern in a block, in order. Megabytes are searched in slices, and known after that."""

    def __init__(self, passages: Iterable[Passage], pattern: re.Pattern[str], before: Matches | None = None) -> None:
        self._passages = list(passages)
        self._pattern = pattern
        self._known = {} if before is None else {id(one.text): one for one in before._searches}
        self._searches: list[Search] = []  # of the first passages
        self._looked = 0
        while self.unfinished and self._looked < SLICE:
            self.lay_out()

    @property
    def unfinished(self) -> bool:
        return len(self._searches) < len(self._passages) or any(one.unfinished for one in self._searches[-1:])

    def lay_out(self) -> None:
        if not self._searches or not self._searches[-1].unfinished:
            passage = self._passages[len(self._searches)]
            if passage.unfinished:
                self._looked += SLICE // 4
                passage.lay_out()
                return
            text = passage.text
            self._searches.append(self._known.get(id(text)) or Search(self._pattern, text))
        search = self._searches[-1]
        if search.unfinished:
            self._looked += min(len(search.text), SLICE)
            search.lay_out()

    @property
    def _found(self) -> Iterable[tuple[Passage, list[tuple[int, int]]]]:
        return ((passage, one.spans) for passage, one in zip(self._passages, self._searches, strict=False))

    def __len__(self) -> int:
        return sum(len(one.spans) for one in self._searches)

    def __getitem__(self, number: int) -> list[Span]:
        """The spans of a match: several where it goes over a line's end."""
        for passage, spans in self._found:
            if number < len(spans):
                start, end = spans[number]
                lines = range(passage.line_at(start), passage.line_at(max(end - 1, start)) + 1)
                places = ((at, place) for at in lines if (place := passage.place(at)) is not None)
                cut = ((at, max(start, begin), min(end, past), column - begin) for at, (begin, past, column) in places)
                return [(at, low + shift, high + shift) for at, low, high, shift in cut if low < high]
            number -= len(spans)
        raise IndexError(number)

    def on(self, line: int) -> list[tuple[int, int, int]]:
        out: list[tuple[int, int, int]] = []
        before = 0
        for passage, spans in self._found:
            place = passage.place(line) if spans else None
            if place is not None:
                begin, past, column = place
                at = bisect_left(spans, begin, key=lambda span: span[1])
                while at < len(spans) and spans[at][0] < past:
                    start, end = max(spans[at][0], begin), min(spans[at][1], past)
                    if start < end:
                        out.append((before + at, column + start - begin, column + end - begin))
                    at += 1
            before += len(spans)
        return out

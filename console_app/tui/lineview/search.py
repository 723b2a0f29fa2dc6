"""Where words stand in a text of any length: looked for in slices, so that it can be megabytes."""

from __future__ import annotations

import re
from functools import lru_cache

SLICE = 100_000  # characters that are looked through at once: some 5 ms


class Search:
    """Of one text. What it finds is what `finditer` finds in the whole."""

    def __init__(self, pattern: re.Pattern[str], text: str, slice_: int = SLICE) -> None:
        self.text = text
        self._slice = slice_
        self.spans: list[tuple[int, int]] = []
        self._pattern = pattern
        self._at = 0

    @property
    def unfinished(self) -> bool:
        """Whether not all of the text was looked through."""
        return self._at < len(self.text)

    def lay_out(self) -> None:
        """Looks through a slice more."""
        text, begin, end = self.text, self._at, min(self._at + self._slice, len(self.text))
        first, reach = _facts(self._pattern)
        past = end
        if end < len(text) and (found := reach.match(text, end)) is not None:
            past = found.end()  # what begins in the slice ends before
        self._at = end
        part = text[begin:past]
        # Looking in small letters first is ten times as fast where there is none.
        if first and part.isascii() and first not in part.lower():
            return
        for match in self._pattern.finditer(text, begin, past):
            if match.start() >= end:
                break
            self.spans.append(match.span())
        if self.spans:
            self._at = max(end, self.spans[-1][1])


@lru_cache(maxsize=8)
def _facts(pattern: re.Pattern[str]) -> tuple[str, re.Pattern[str]]:
    """The first word in small letters, where that can be looked for as it is; and what follows a character as far as a
    match that begins before it can go: no more signs than the pattern has, whatever space is between them."""
    first = pattern.pattern.split(r"\s+", 1)[0]
    plain = re.escape(first) == first and first.isascii()
    return first.lower() if plain else "", re.compile(rf"(?:\s*\S){{0,{len(pattern.pattern)}}}")

"""Where a block of Markdown that grew very long is cut in two, so that no frame has to parse more than a few pages.

Where it is cut depends on the text before alone, so a text looks the same however it came in. What follows the cut must
be read as what it was: behind a paragraph's it begins with a letter, which opens no block of another kind.
"""

from __future__ import annotations

import re
from itertools import islice

from console_app.tui.lineview.markdown_tail import is_closed

LONG = 8000  # weight of a block beyond which it is cut: its characters, of which some take as long to read as many
HUGE = 2 * LONG  # of one that is cut only because it has to be
_MARK = 10  # what a mark weighs
_LINE = 20  # the end of a line
_CELL = 6  # the edge of a cell
_TRIES = 24  # places looked at: each look reads all before it
_MARKS = re.compile(r"[*_`\[\]<>&\\~!|\n]")
_AS_WRITTEN = ("fence", "code_block")  # where a mark is a character as any other
_SENTENCE = re.compile(r"(?:(?<=[.!?:;,])[ \n]|(?<=[。！？：；，、])\n?)(?=[^\W\d_])")
_WORD = re.compile(r"[ \n](?=[*_`(<~!\[]{0,2}[^\W\d_])(?!\[[^\]\n]*\]:)")
_LETTER = re.compile(r"(?=[^\W\d_])")


def cut_after(kind: str, text: str) -> int:
    """How many characters of a block, that `text` begins with, can be laid out for good; 0 while it isn't too long.

    `kind` is the type of its opening token.
    """
    end = reach(text, LONG, kind)
    if end == len(text):
        return 0
    if kind == "paragraph_open":
        return _in_paragraph(text, end)
    if kind == "table_open":
        return _in_table(text, end)
    if kind == "blockquote_open" and (line := text.rfind("\n>", 0, end)) > 0:
        return line + 1
    end = reach(text, HUGE, kind)
    return 0 if end == len(text) else text.rfind("\n", 0, end) + 1 or end


def reach(text: str, most: int, kind: str = "paragraph_open") -> int:
    """How many characters weigh so much; all of them where they weigh less."""
    if len(text) * _LINE <= most:
        return len(text)
    weights = {"\n": 0, "|": _CELL - 1} if kind == "table_open" else {"\n": _LINE - 1, "|": 0}
    extra = 0
    for mark in () if kind in _AS_WRITTEN else _MARKS.finditer(text, 0, most):
        extra += weights.get(mark[0], _MARK - 1)
        if mark.end() + extra > most:
            return mark.end()
    return min(most - extra, len(text))


def _in_paragraph(text: str, end: int) -> int:
    """Behind a sentence at which no emphasis, code or link is open, else behind any word."""
    for places in (_SENTENCE, _WORD):
        if place := _closed_at(places, text, end):
            return place
    if words := list(_WORD.finditer(text, end // 2, end)):
        return words[-1].end()
    end = reach(text, HUGE)
    if end == len(text):
        return 0
    if place := _closed_at(_LETTER, text, end):
        return place
    letters = list(_LETTER.finditer(text, end // 2, end))
    return letters[-1].end() if letters else end


def _closed_at(places: re.Pattern[str], text: str, end: int) -> int:
    """Behind the first of some places at which nothing is open; 0: there is none among so many."""
    for found in islice(places.finditer(text, end // 2, end), _TRIES):
        if is_closed(text[: found.start()]):
            return found.end()
    return 0


def _in_table(text: str, end: int) -> int:
    """Behind a row; there are rows beside the head."""
    end = text.rfind("\n", 0, end) + 1
    return end if text.count("\n", 0, end) > 2 else 0


def table_head(text: str) -> str:
    """The two lines that a table begins with: what is left of it needs them too."""
    return "".join(line + "\n" for line in text.split("\n", 2)[:2])

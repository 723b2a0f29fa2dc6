"""Find where Markdown that still grows can be cut, and close its open tail for a while."""

from __future__ import annotations

import re
from itertools import islice

MOST_HELD = 200  # characters of a line that are held back: what is longer is meant to be seen
_MARKS_ONLY = re.compile(r"[ \t]*(?:[-*+>#=_~`|:!\[ \t]*|\d{1,9}[.)]?|[-*+] \[[ xX]?\]?|[`~]{3,}.*)[ \t]*\Z")
_TABLE_LINE = re.compile(r" {0,3}\|")
_DELIMITER_PART = re.compile(r"[ \t|:\-]*\Z")
_FRESH_LINE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6}|>)[ \t]|$)", re.MULTILINE)
_FENCE_LINE = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)*(?:`{3,}[^`\n]*|~{3,}.*)$", re.MULTILINE)
_OPEN_LINK = re.compile(r"!?\[[^\[\]\n]*\]\([^()\s]*\Z")
_TICKS = re.compile(r"`+")
_MARK = re.compile(r"\\.|\*{1,3}|_{1,3}|~~?", re.DOTALL)


def mend(tail: str) -> str:
    """Return `tail`, the last block of a growing text, without what is open and with what is needed to close it."""
    tail = _hold_table(_hold_marks(tail))
    begin = 0
    in_code = False
    for line_start in _line_starts(tail):
        if _FENCE_LINE.match(tail, line_start):
            in_code = not in_code
            begin = tail.find("\n", line_start) + 1 or len(tail)
        elif not in_code and _FRESH_LINE.match(tail, line_start):
            begin = line_start
    if in_code or begin >= len(tail):
        return tail
    return _hold_marks(tail[:begin] + _close_inline(tail[begin:]))


def is_closed(text: str) -> bool:
    return _close_inline(text) == text


def _hold_marks(tail: str) -> str:
    """Without a last line that so far is made of markers alone."""
    begin = tail.rfind("\n") + 1
    return tail[:begin] if begin < len(tail) < begin + MOST_HELD and _MARKS_ONLY.match(tail, begin) else tail


def _hold_table(tail: str) -> str:
    """Without the head of a table whose second line is not known yet, and without a row still being written."""
    lines = tail.split("\n")
    last = len(lines) - 1 if lines[-1] else len(lines) - 2
    first = last
    while first >= 0 and _TABLE_LINE.match(lines[first]):
        first -= 1
    first += 1
    count = last - first + 1
    if count <= 0:
        return tail
    partial = bool(lines[-1])
    if count == 1 or (count == 2 and partial and _DELIMITER_PART.match(lines[last])):
        return "".join(line + "\n" for line in lines[:first])
    if partial and count > 2 and "-" in lines[first + 1] and _DELIMITER_PART.match(lines[first + 1]):
        return "".join(line + "\n" for line in lines[:last])
    return tail


def _line_starts(text: str) -> list[int]:
    starts = [0]
    begin = 0
    while (begin := text.find("\n", begin) + 1) > 0:
        starts.append(begin)
    return starts


def _close_inline(text: str) -> str:
    """The text with its open code, emphasis and link closed, and without a marker at its very end."""
    plain: list[tuple[int, int]] = []  # spans outside of code
    at = 0
    ticks = list(_TICKS.finditer(text))
    index = 0
    while index < len(ticks):
        opening = ticks[index]
        closing = next((n for n in range(index + 1, len(ticks)) if ticks[n].group() == opening.group()), None)
        plain.append((at, opening.start()))
        if closing is None:
            body = text.rstrip()
            if opening.end() < len(body):
                body = body.rstrip("`").rstrip()
            if opening.end() >= len(body):
                return _close_emphasis(text[: opening.start()], plain)
            return _close_emphasis(body + opening.group(), plain)
        at = ticks[closing].end()
        index = closing + 1
    plain.append((at, len(text)))
    if _OPEN_LINK.search(text, at):
        return _close_emphasis(text + ")", plain)
    return _close_emphasis(text, plain)


def _close_emphasis(text: str, plain: list[tuple[int, int]]) -> str:
    stack: list[str] = []
    for begin, end in plain:
        for match in _MARK.finditer(text, begin, min(end, len(text))):
            mark = match.group()
            if mark[0] == "\\":
                continue
            before = text[match.start() - 1 : match.start()]
            after = text[match.end() : match.end() + 1]
            if match.end() == len(text) and not (stack and stack[-1] == mark):
                text = text[: match.start()]  # may open or close something: not known before more arrives
                break
            _take(stack, mark, before, after)
    body = text.rstrip()
    return body + "".join(reversed(stack)) + text[len(body) :] if stack else text


def _take(stack: list[str], mark: str, before: str, after: str) -> None:
    """Opens or closes emphasis as CommonMark's flanking rules would, near enough for a moment."""
    if before and not before.isspace() and mark in stack:
        del stack[stack.index(mark) :]
        return
    if mark == "***" and before and not before.isspace() and {"*", "**"} <= set(stack):
        stack[:] = [open_mark for open_mark in stack if open_mark not in ("*", "**")]
        return
    inside_word = mark[0] == "_" and before.isalnum()
    if after and not after.isspace() and not inside_word and mark != "~":
        stack.append(mark)


LONG = 8000  # weight of a block beyond which it is cut: its characters, of which some take as long to read as many
HUGE = 2 * LONG  # of one that is cut only because it has to be
_MARK_WEIGHS = 10  # what a mark weighs
_LINE = 20  # the end of a line
_CELL = 6  # the edge of a cell
_TRIES = 24  # places looked at: each look reads all before it
_MARKS = re.compile(r"[*_`\[\]<>&\\~!|\n]")
_AS_WRITTEN = ("fence", "code_block")  # where a mark is a character as any other
_SENTENCE = re.compile(r"(?:(?<=[.!?:;,])[ \n]|(?<=[。！？：；，、])\n?)(?=[^\W\d_])")
_WORD = re.compile(r"[ \n](?=[*_`(<~!\[]{0,2}[^\W\d_])(?!\[[^\]\n]*\]:)")
_LETTER = re.compile(r"(?=[^\W\d_])")


def cut_after(kind: str, text: str) -> int:
    """Count the characters at the beginning of `text`, a block that a token of type `kind` opens, to be laid out for
    good; 0 while it is short."""
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
    """Count the characters from the beginning that together weigh `most`; all of a text that weighs less."""
    if len(text) * _LINE <= most:
        return len(text)
    weights = {"\n": 0, "|": _CELL - 1} if kind == "table_open" else {"\n": _LINE - 1, "|": 0}
    extra = 0
    for mark in () if kind in _AS_WRITTEN else _MARKS.finditer(text, 0, most):
        extra += weights.get(mark[0], _MARK_WEIGHS - 1)
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
    """The end of the first of some places at which nothing is open; 0 where there is none among so many."""
    for found in islice(places.finditer(text, end // 2, end), _TRIES):
        if is_closed(text[: found.start()]):
            return found.end()
    return 0


def _in_table(text: str, end: int) -> int:
    end = text.rfind("\n", 0, end) + 1
    return end if text.count("\n", 0, end) > 2 else 0


def table_head(text: str) -> str:
    """The two lines that a table begins with, which the rest of it needs too."""
    return "".join(line + "\n" for line in text.split("\n", 2)[:2])

"""The lines that a replacement changes, in the form in which arguments are shown."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from console_app.domain.displayed import ArgumentLine, fold_blanks, folded
from console_app.domain.safe_text import visible

MOST_COMPARED = 4000  # lines that differ, beyond which all of them are said to be replaced
AROUND = 2  # lines shown before and behind a change
FOLD = "⋯"


def diff_lines(old: list[str], new: list[str]) -> tuple[list[ArgumentLine], list[int]]:
    """The changed lines with some around them, and where each stretch of them begins."""
    lines: list[ArgumentLine] = []
    hunks: list[int] = []
    shown = 0  # lines of the old text that were passed
    stretches = [one for one in _opcodes(old, new) if one[0] != "equal"]
    for place, (_, i1, i2, j1, j2) in enumerate(stretches):
        begin = max(i1 - AROUND, shown)
        if begin > shown or not lines:
            lines += [ArgumentLine(FOLD)] if lines else []
            hunks.append(len(lines))
        lines += [_line(n + 1, old[n]) for n in range(begin, i1)]
        lines += folded(_line(n + 1, old[n], "-") for n in range(i1, i2))
        lines += folded(_line(n + 1, new[n], "+") for n in range(j1, j2))
        after = stretches[place + 1][1] if place + 1 < len(stretches) else len(old)
        shown = min(i2 + AROUND, after)
        lines += [_line(n + 1, old[n]) for n in range(i2, shown)]
    return lines or [ArgumentLine("(the file holds this already)")], hunks


def _opcodes(old: list[str], new: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """As `SequenceMatcher.get_opcodes`, without looking at what both begin and end with."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    one, other = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(one) > MOST_COMPARED or len(other) > MOST_COMPARED:
        yield "replace", head, head + len(one), head, head + len(other)
        return
    for what, i1, i2, j1, j2 in SequenceMatcher(None, one, other).get_opcodes():
        yield what, i1 + head, i2 + head, j1 + head, j2 + head


def _line(number: int, text: str, mark: str = " ") -> ArgumentLine:
    shown = visible(text.replace("\r", "␍") if text.endswith("\r") else text).replace("\n", " ").expandtabs(4)
    return ArgumentLine(fold_blanks(shown), str(number), "+" if mark == "+" else "-" if mark == "-" else " ")

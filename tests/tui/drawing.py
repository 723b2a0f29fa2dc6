"""A screen as text: its letters row by row, then each row's colours as runs of letters that a legend explains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from string import ascii_letters
from typing import Any

from rich.cells import cell_len
from rich.style import Style
from textual.app import App

from tests.tui.parts import painted

Cells = list[list[str]]  # of each row, the look of each cell
LETTERS = (*ascii_letters, *(f"({number})" for number in range(500)))


def looks(console: App[Any]) -> tuple[str, Cells]:
    """Gives the text of the screen, and the look of each cell."""
    width, height = console.size
    rows: Cells = []
    lines: list[str] = []
    for strip in painted(console)[:height]:
        cells: list[str] = []
        for segment in strip:
            cells += [_look(segment.style)] * cell_len(segment.text)
        rows.append(cells[:width])
        lines.append(strip.text.rstrip())
    return "\n".join(lines), rows


@cache
def _look(style: Style | None) -> str:
    if style is None:
        return "plain"
    ink, ground = (one.get_truecolor().hex if one and not one.is_default else "default" for one in _colours(style))
    kinds = ("bold", "dim", "italic", "underline", "strike", "reverse")
    return " ".join([f"{ink} on {ground}", *(kind for kind in kinds if getattr(style, kind))])


def _colours(style: Style) -> tuple[Any, Any]:
    return style.color, style.bgcolor


def drawing(text: str, themes: Sequence[Cells]) -> str:
    """The text, and the colours it has in each of some themes: two cells that differ in any have different letters."""
    legend: dict[tuple[str, ...], str] = {}
    coded: list[str] = []
    for rows in zip(*themes, strict=True):
        runs = groupby(zip(*rows, strict=True))
        names = [(legend.setdefault(look, LETTERS[len(legend)]), len(list(cells))) for look, cells in runs]
        coded.append(" ".join(f"{letter}{count}" for letter, count in names))
    lines, row = [text, "-- colours by row"], 1
    for code, same in groupby(coded):
        count = len(list(same))
        lines.append(f"{row}{f'-{row + count - 1}' if count > 1 else ''}: {code}")
        row += count
    lines += ["-- looks", *(f"{letter}: {' | '.join(look)}" for look, letter in legend.items())]
    return "\n".join(lines)


def drawn(picture: str) -> tuple[str, list[Cells]]:
    """Read a drawing back: return the text and the cells that `drawing` made it from."""
    text, rows, legend = re.split(r"\n-- colours by row\n|\n-- looks\n", picture)
    meant = {letter: look.split(" | ") for letter, _, look in (line.partition(": ") for line in legend.splitlines())}
    themes: list[Cells] = [[] for _ in next(iter(meant.values()))]
    for line in rows.splitlines():
        numbers, _, code = line.partition(": ")
        first, _, last = numbers.partition("-")
        runs = re.findall(r"(\(\d+\)|\D)(\d+)", code.replace(" ", ""))
        for theme, cells in enumerate(themes):
            row = [meant[letter][theme] for letter, count in runs for _ in range(int(count))]
            cells += [row] * (int(last or first) - int(first) + 1)
    return text, themes

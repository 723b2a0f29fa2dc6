"""The lines of a call's arguments as rows: values stand in a column of their own, also where they wrap."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len

from console_app.domain.displayed import ArgumentLine
from console_app.tui.lineview.lines import WIDEST_NAME, chop_text


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """One row on screen; `wrapped` when it goes on with the line above."""

    line: ArgumentLine
    name: str
    text: str
    wrapped: bool


def name_column(lines: list[ArgumentLine]) -> int:
    """Cells that the names take."""
    return min(max((cell_len(line.name) for line in lines), default=0), WIDEST_NAME)


def rows(lines: list[ArgumentLine], width: int) -> list[ArgumentRow]:
    """The lines as rows of which no text is wider than what `width` cells leave beside marks and names."""
    column = name_column(lines)
    room = max(width - column - 5, 8)
    found: list[ArgumentRow] = []
    for line in lines:
        name = line.name
        if cell_len(name) > column:
            found += [ArgumentRow(line, part, "", False) for part in chop_text(name, max(width - 3, 8))]
            name = ""
        for n, part in enumerate(chop_text(line.text, room)):
            found.append(ArgumentRow(line, "" if n else name, part, n > 0))
    return found

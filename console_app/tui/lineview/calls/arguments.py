"""The arguments in an open panel: texts as they are, replacements as the lines that they change, all else as JSON.

Names have a column of their own. Of a long value only the first page is laid out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len

from console_app.domain import CallState, displayed, one_line, plural
from console_app.domain.transcript import CallView
from console_app.tui.lineview.lines import WIDEST_NAME, Piece, Row, chop, clean
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.body import INDENT
from console_app.tui.lineview.text import json_view
from console_app.tui.lineview.text.text_page import FIRST_PAGE, TextPage

CHANGE = "change"  # in the column of names, before the lines that a replacement changes
_GAP = 2  # cells behind the names
_MARKS = re.compile(r"\]?<\]\w*\[?>?\[?|[<\[]/?[|\w][^<>\[\]\n]{0,60}(?:[>\]]|\Z)|[<\[]/?\|?\Z|[{}]")
"""Tags and tokens between which a model writes the values of a call in its text, and what may become one."""


@dataclass(frozen=True, slots=True)
class _Line:
    """`name` is set on the first line of a value; `is_json` where it is coloured as that."""

    name: str
    text: str
    mark: displayed.Mark = " "
    is_json: bool = False
    is_note: bool = False


def arguments_text(arguments: Mapping[str, Any]) -> str:
    return "\n".join(f"{line.name} {line.text}" for line in _lines(arguments) if not line.is_note)


def is_marked(call: CallView) -> bool:
    """Tell whether the arguments still arrive as text with marks between them, and not as a JSON object."""
    return call.arguments is None and call.origin == "text" and not call.arguments_text.lstrip().startswith('{"')


def without_marks(text: str) -> str:
    """The words of arguments with marks between them."""
    return _MARKS.sub(" ", text)


def arrived_lines(call: CallView) -> tuple[Sequence[str], int]:
    """The first page of the arguments as far as they came, and how many more lines there are. Arriving lines of mere
    marks are left out."""
    lines, left = TextPage(call.arguments_text).first(FIRST_PAGE)
    if is_marked(call) and call.state is not CallState.FINISHED:
        lines = [line.rstrip() for line in without_marks("\n".join(lines)).split("\n") if line.strip()]
    return lines, left


def argument_rows(arguments: Mapping[str, Any], width: int, palette: Palette) -> list[Row]:
    """The arguments as rows of at most `width` cells, a little to the right, as all parts of a panel are."""
    lines = list(_lines(arguments))
    column = min(max((cell_len(line.name) for line in lines), default=0), WIDEST_NAME)
    lead = INDENT + column + _GAP
    inks = {"+": palette.success, "-": palette.error, " ": palette.base}
    rows: list[Row] = []
    for line in lines:
        name = line.name
        if cell_len(name) > column:
            rows.append(Row([(" " * INDENT, palette.base), (name, palette.syntax["key"])], gutter=INDENT))
            name = ""
        ink = palette.muted if line.is_note else inks[line.mark]
        value = json_view.paint(line.text, palette) if line.is_json else [(line.text, ink)] if line.text else []
        for place, row in enumerate(chop(value, max(width - lead, 8))):
            shown = name if place == 0 else ""
            before: list[Piece] = [(" " * INDENT, palette.base), (shown, palette.syntax["key"])]
            before.append((" " * (lead - INDENT - cell_len(shown)), palette.base))
            gutter = lead if not shown or line.is_note else INDENT
            rows.append(Row([*before, *row.pieces], row.joint, gutter + len(line.text) * line.is_note))
    return rows


def _lines(arguments: Mapping[str, Any]) -> Iterator[_Line]:
    edits, said = displayed.edits_of(arguments)
    if any(max(old.count("\n"), new.count("\n")) >= FIRST_PAGE for old, new in edits):
        said = frozenset[str]()
    for name, value in arguments.items():
        if name not in said:
            yield from _value(one_line(str(name), 200), value)
    for old, new in edits if said else ():
        changed, _ = displayed.diff_lines(old.split("\n"), new.split("\n"))
        while not changed[-1].text and changed[-1].mark == " ":
            changed.pop()  # behind the last line end
        for number, line in enumerate(changed):
            text = line.text if line.mark == " " and not line.name else f"{line.mark} {line.text}"
            yield _Line("" if number else CHANGE, text, line.mark)


def _value(name: str, value: object) -> Iterator[_Line]:
    text = value if isinstance(value, str) else json_view.dump(value)
    lines, left = TextPage(text).first(FIRST_PAGE)
    for number, line in enumerate(lines or [""]):
        yield _Line("" if number else name, clean(line), is_json=not isinstance(value, str))
    if left:
        yield _Line("", f"… {plural(left, 'more line')}", is_note=True)

"""All arguments of a call, as lines in which no value can look like a name, a mark or a line of ours.

Values stand in a column of their own, also where they wrap; what is invisible or turns the direction of text is made
visible. Marks are only those of a diff: against the file that is changed, or the tool's definition that was trusted.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from rich.cells import cell_len

from console_app.console.files.line_diffs import ArgumentLine
from console_app.domain.safe_text import is_safe, one_line, visible
from console_app.tui.widgets.lines import chop_text

DEFINITION = "what it is"  # in the column of names, before a tool's difference
WIDEST_NAME = 24  # cells; a longer name has a line of its own


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """One row on screen; `wrapped` when it goes on with the line above."""

    line: ArgumentLine
    name: str
    text: str
    wrapped: bool


def argument_lines(arguments: Mapping[str, Any], said: Collection[str] = ()) -> list[ArgumentLine]:
    """The lines of all arguments but those that are `said` otherwise."""
    lines: list[ArgumentLine] = []
    for name, value in arguments.items():
        if name not in said:
            first, *others = value_text(value).split("\n")
            lines += [ArgumentLine(first, one_line(str(name))), *(ArgumentLine(line) for line in others)]
    return lines or ([] if said else [ArgumentLine("(no arguments)")])


def difference_lines(difference: str) -> list[ArgumentLine]:
    """A unified diff of what a tool was and what it is, with its marks in their column."""
    lines: list[ArgumentLine] = []
    for number, text in enumerate(visible(difference).expandtabs(4).splitlines()):
        mark, rest = text[:1], text[1:]
        if number < 2 and text.startswith(("---", "+++")):
            continue
        if text.startswith("@@"):
            if lines:
                lines.append(ArgumentLine("⋯"))
        elif mark == "+" or mark == "-":
            lines.append(ArgumentLine(rest, mark=mark))
        else:
            lines.append(ArgumentLine(rest if mark == " " else text))
    if lines:
        lines[0] = replace(lines[0], name=DEFINITION)
    return lines


def value_text(value: object) -> str:
    """A value as it is read: text as it is, everything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return visible(text.replace("\r\n", "␍\n")).expandtabs(4)


def hidden_characters(arguments: Mapping[str, Any]) -> bool:
    """Whether a name or a text among the arguments holds characters that can't be seen, or turn others round."""
    return any(not is_safe(text) for text in _texts(dict(arguments)))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in cast("dict[str, object]", value).items():
            yield name
            yield from _texts(one)
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            yield from _texts(one)


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

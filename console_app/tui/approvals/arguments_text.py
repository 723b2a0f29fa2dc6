"""All arguments of a call, as lines in which no value can look like a name, a mark or a line of ours.

Values stand in a column of their own, also where they wrap; what is invisible or turns the direction of text is made
visible; and what differs from the same tool's last call is marked, as in a diff.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Literal, cast

from rich.cells import cell_len

from console_app.domain.safe_text import is_safe, one_line, visible

Mark = Literal[" ", "+", "-"]
DEFINITION = "what it is"  # in the column of names, before a tool's difference
WIDEST_NAME = 24  # cells; a longer name has a line of its own
MOST_COMPARED = 2000  # lines of a value that are compared one by one
OLD_LINES = 12  # lines of the last call's value that are shown where they are gone


@dataclass(frozen=True, slots=True)
class ArgumentLine:
    """One line: `name` is set on the first of a value. `+` is new against the last call, `-` is what that had."""

    text: str
    name: str = ""
    mark: Mark = " "


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """One row on screen; `wrapped` when it goes on with the line above."""

    line: ArgumentLine
    name: str
    text: str
    wrapped: bool


def argument_lines(arguments: Mapping[str, Any], before: Mapping[str, Any] | None) -> list[ArgumentLine]:
    """The lines of all arguments; `before` are those of the same tool's last call, None when there was none."""
    lines = [
        line
        for name, value in arguments.items()
        for line in _value_lines(
            one_line(str(name)), value_text(value), None if before is None else _before(before, name)
        )
    ]
    for name in before or ():
        if name not in arguments:
            lines += _removed(one_line(str(name)), value_text((before or {})[name]))
    return lines or [ArgumentLine("(no arguments)")]


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


def _before(before: Mapping[str, Any], name: str) -> str:
    return value_text(before[name]) if name in before else ""


def _value_lines(name: str, text: str, old: str | None) -> list[ArgumentLine]:
    new_lines = text.split("\n")
    marks: list[tuple[Mark, str]]
    if old is None or old == text:
        marks = [(" ", line) for line in new_lines]
    else:
        marks = list(_compared(old.split("\n") if old else [], new_lines))
    lines = [ArgumentLine(line, "", mark) for mark, line in marks]
    first = next((n for n, line in enumerate(lines) if line.mark != "-"), 0)
    lines[first] = ArgumentLine(lines[first].text, name, lines[first].mark)
    return lines[first:][:1] + lines[:first] + lines[first + 1 :] if first else lines


def _compared(old: list[str], new: list[str]) -> Iterator[tuple[Mark, str]]:
    new_mark: Mark = "+"
    if len(old) > MOST_COMPARED or len(new) > MOST_COMPARED:
        for line in new:
            yield new_mark, line
        return
    for what, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        mark: Mark = " " if what == "equal" else "+"
        for line in new[j1:j2]:
            yield mark, line
        if what != "equal":
            yield from _gone(old[i1:i2])


def _gone(lines: list[str]) -> Iterator[tuple[Mark, str]]:
    for line in lines[:OLD_LINES]:
        yield "-", line
    if len(lines) > OLD_LINES:
        yield "-", f"… {len(lines) - OLD_LINES:,} more lines"


def _removed(name: str, text: str) -> list[ArgumentLine]:
    gone = list(_gone(text.split("\n")))
    return [ArgumentLine(line, "" if n else name, mark) for n, (mark, line) in enumerate(gone)]


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
            found += [ArgumentRow(line, part, "", False) for part in chop(name, max(width - 3, 8))]
            name = ""
        for n, part in enumerate(chop(line.text, room)):
            found.append(ArgumentRow(line, "" if n else name, part, n > 0))
    return found


def chop(text: str, width: int) -> list[str]:
    """`text` cut so that no part is wider than `width` cells; one part at least."""
    if text.isascii():
        return [text[at : at + width] for at in range(0, len(text), width)] or [""]
    parts, part, used = list[str](), list[str](), 0
    for character in text:
        size = cell_len(character)
        if used + size > width and part:
            parts.append("".join(part))
            part, used = [], 0
        part.append(character)
        used += size
    return [*parts, "".join(part)]

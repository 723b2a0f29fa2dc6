"""The lines that show a waiting call: what every face displays, and what an approval of the call stands for.

No value can look like a name, a mark or a line of ours. What is invisible or turns the direction of text is made
visible, and a long blank stretch, which would push the rest out of sight, becomes one mark that counts it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, cast

from console_app.domain.safe_text import is_blank, is_safe, one_line, visible

DEFINITION = "what it is"  # in the column of names, before a tool's difference
MOST_BLANK_LINES = 2  # that stand as they are
_LONG_BLANK = re.compile("(?:[^\\S\n]|\u2800){41,}")
Mark = Literal[" ", "+", "-"]


@dataclass(frozen=True, slots=True)
class ArgumentLine:
    """One line: `name` is set on the first of a value. `+` is new, `-` is what was."""

    text: str
    name: str = ""
    mark: Mark = " "


def argument_lines(arguments: Mapping[str, Any], said: Collection[str] = ()) -> list[ArgumentLine]:
    """The lines of all arguments but those that are `said` otherwise."""
    lines: list[ArgumentLine] = []
    for name, value in arguments.items():
        if name not in said:
            first, *others = map(ArgumentLine, value_text(value).split("\n"))
            lines += folded([replace(first, name=one_line(str(name)) or '""'), *others])
    return lines or ([] if said else [ArgumentLine("(no arguments)")])


def difference_lines(difference: str) -> list[ArgumentLine]:
    """A unified diff of what a tool was and what it is, with its marks in their column."""
    lines: list[ArgumentLine] = []
    for number, text in enumerate(fold_blanks(visible(difference).expandtabs(4)).splitlines()):
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
    return folded(lines)


def value_text(value: object) -> str:
    """A value as it is read: text as it is, everything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return fold_blanks(visible(text.replace("\r\n", "␍\n")).expandtabs(4))


def fold_blanks(text: str) -> str:
    """More than forty blanks side by side as a mark: a line that goes on behind them would end out of sight."""
    return _LONG_BLANK.sub(lambda found: f"␣ x {len(found[0])}", text)


def folded(lines: Iterable[ArgumentLine]) -> list[ArgumentLine]:
    """Runs of blank lines, but the shortest, as one line that counts them; each keeps the name of its first line."""
    kept: list[ArgumentLine] = []
    for (blank, _), run in groupby(lines, lambda line: (_is_blank(line), line.mark)):
        same = list(run)
        kept += [replace(same[0], text=f"⏎ x {len(same)}")] if blank and len(same) > MOST_BLANK_LINES else same
    return kept


def _is_blank(line: ArgumentLine) -> bool:
    return is_blank(line.text) or re.fullmatch(r"␣ x \d+", line.text) is not None


def as_text(lines: Iterable[ArgumentLine]) -> str:
    """The lines of arguments for a place without columns: what stands deeper than a name belongs to its value."""
    values: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.name or not values:
            values.append((line.name, []))
        values[-1][1].append(f"{line.mark.strip()}{line.text}")
    return "\n".join(
        f"  {name}: {texts[0]}" if name and len(texts) == 1 else "\n    ".join((f"  {name}:", *texts)) if name
        else "\n".join(f"  {text}" for text in texts)
        for name, texts in values
    )  # fmt: skip


def digest(lines: Sequence[ArgumentLine]) -> str:
    """The hash (SHA-256, hexadecimal) of the lines that were displayed, kept beside the decision."""
    return hashlib.sha256(json.dumps([(one.mark, one.name, one.text) for one in lines]).encode()).hexdigest()


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

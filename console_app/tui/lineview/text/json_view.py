"""JSON laid out and coloured line by line, so that only the lines on screen are ever coloured."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from console_app.domain import call_description, one_line
from console_app.tui.lineview.lines import Line, Piece
from console_app.tui.lineview.palette import Palette

_TOKEN = re.compile(
    r'("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b|([{}\[\],:]+)'
)
SHORTEST_PAIR = 12  # cells below which an argument is its value alone
_PLAIN = re.compile(r"…?[\w./:@%+~#*^()\-]+(?: [\w./:@%+~#*^()\-]+)*\Z")


def dump(value: Any) -> str:
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return str(value)


def paint(line: str, palette: Palette) -> list[Piece]:
    line = Line.clean(line)
    pieces: list[Piece] = []
    at = 0
    for match in _TOKEN.finditer(line):
        if match.start() > at:
            pieces.append((line[at : match.start()], palette.base))
        string, colon, number, constant, _ = match.groups()
        if string is not None and colon is not None:
            pieces += [(string, palette.syntax["key"]), (colon, palette.muted)]
        elif string is not None:
            pieces.append((string, palette.syntax["string"]))
        elif number is not None:
            pieces.append((number, palette.syntax["number"]))
        else:
            pieces.append((match.group(), palette.syntax["keyword"] if constant else palette.muted))
        at = match.end()
    if at < len(line):
        pieces.append((line[at:], palette.base))
    return pieces


def brief_value(value: Any, limit: int) -> str:
    """A value in a few words: text as it is where that is clear, everything else as compact JSON."""
    if isinstance(value, str):
        path = len(value) > limit and "/" in value and value.isascii() and value.isprintable() and " " not in value
        text = f"…{value[-(limit - 1) :]}" if path else one_line(value, limit)  # its end tells it apart
        whole = one_line(value, 200)  # a value that is cut stands in quotes where all of it would
        return text if _PLAIN.match(whole if len(value) <= 200 else whole[:-1].rstrip()) else f'"{text}"'
    try:
        return one_line(json.dumps(value, ensure_ascii=False, default=str), limit)
    except (ValueError, RecursionError):
        return one_line(str(value), limit)


def brief_arguments(arguments: Mapping[str, Any], limit: int = 120, first: Sequence[str] = ()) -> str:
    """Arguments in at most `limit` cells: the main one's value, then others as `name=value`, `first` ones first."""
    if limit <= 0 or not arguments:
        return ""
    main = call_description.main_argument(arguments, first)
    order = [main, *(name for name in first if name in arguments and name != main)]
    order += [name for name in arguments if name not in order]
    more = len(" …") if len(order) > 1 and limit > 8 else 0
    parts = [brief_value(arguments[main], max(limit - more, 1))]
    if not isinstance(arguments[main], str) and limit >= SHORTEST_PAIR:  # a number says nothing without its name
        name = one_line(str(main), 40)
        parts = [f"{name}={brief_value(arguments[main], max(limit - more - cell_len(name) - 1, 8))}"]
    room = limit - cell_len(parts[0])
    for place, name in enumerate(order[1:], 2):
        part = f"  {one_line(str(name), 40)}={brief_value(arguments[name], 60)}"
        room -= cell_len(part)
        if room < (0 if place == len(order) else more):
            parts.append("" if parts[-1].endswith("…") else " …" if more else "")
            break
        parts.append(part)
    return "".join(parts)

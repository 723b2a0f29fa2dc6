"""JSON laid out and coloured line by line, so that only the lines on screen are ever coloured."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rich.cells import cell_len

from console_app.domain.safe_text import one_line
from console_app.tui.widgets.lines import Piece, clean
from console_app.tui.widgets.palette import Palette

_TOKEN = re.compile(
    r'("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b|([{}\[\],:]+)'
)
_PLAIN = re.compile(r"[\w./:@%+~#*^()\-]+(?: [\w./:@%+~#*^()\-]+)*\Z")


def dump(value: Any) -> str:
    """A value as indented JSON text."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return str(value)


def paint(line: str, palette: Palette) -> list[Piece]:
    """One line of JSON in its colours."""
    line = clean(line)
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
        text = one_line(value, limit)
        return text if text and _PLAIN.match(text) else f'"{text}"'
    try:
        return one_line(json.dumps(value, ensure_ascii=False, default=str), limit)
    except (ValueError, RecursionError):
        return one_line(str(value), limit)


def brief_arguments(arguments: Mapping[str, Any], limit: int = 120) -> str:
    """Arguments as `name=value` pairs, side by side, up to about `limit` cells."""
    parts: list[str] = []
    room = limit
    for name, value in arguments.items():
        if room <= 0:
            parts.append("…")
            break
        part = f"{one_line(str(name), 40)}={brief_value(value, max(min(room, 60), 12))}"
        parts.append(part)
        room -= cell_len(part) + 2
    return "  ".join(parts)

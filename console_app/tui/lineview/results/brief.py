"""Sum up a result in one line.

For a command that is its last meaningful line, for a diff its changes, for a table its size, for everything
else its first line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, cast

from rich.style import Style

from console_app.domain import one_line, plural
from console_app.domain.transcript import verdicts
from console_app.tui.lineview.lines import Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.body import ResultBody, table_size
from console_app.tui.lineview.results.diff import stat_pieces
from console_app.tui.lineview.text.ansi import AnsiPainter
from console_app.tui.lineview.text.json_view import brief_value

_SOURCE = 4000  # characters at either end that a line is made from
_LONGEST = 600  # characters of the line
_MOST_NAMES = 12  # of a JSON object
_OUTPUTS = ("stdout", "output", "stderr")
_RULED = re.compile(r"^[=\-_*~#\s]{3,}|[=\-_*~#\s]{3,}$")


def brief(
    body: ResultBody,
    arguments: Mapping[str, Any] | None,
    structured: Mapping[str, Any] | None,
    palette: Palette,
    ink: Style,
) -> list[Piece]:
    """The line, of any length; nothing where the result is empty."""
    found = body.found
    if arguments is not None and not verdicts.COMMANDS.isdisjoint(arguments):
        is_object = found.kind == "json" and isinstance(found.value, dict)
        fields = cast("dict[str, Any]", found.value) if is_object else structured
        return _command(found.text, fields, palette, ink)
    match found.kind:
        case "diff":
            files = body.stat.files
            name = one_line(files[0], 80) if len(files) == 1 else plural(len(files), "file") if files else ""
            return [*stat_pieces(body.stat, palette), (f"  {name}" if name else "", palette.muted)]
        case "table":
            names = ", ".join(one_line(name, 24) for name in found.value.columns)
            return [(table_size(found.value), ink), (f"  {names}", palette.muted)]
        case "source":
            return [(plural(body.page.count, "line"), ink)]
        case "json":
            return [(_shape(found.value), ink)]
        case "markdown":
            line = _first_line(found.text)
            return [(one_line(re.sub(r"^#{1,6} ", "", line), 400), ink)] if line else []
        case "text":
            line = _first_line(found.text)
            return AnsiPainter(ink, palette).line(line[:_LONGEST]) if line else []


def says_all(body: ResultBody) -> bool:
    """Tell whether the line already says how much there is."""
    return body.found.kind in ("diff", "table", "source", "json")


def _shape(value: object) -> str:
    """JSON as its names, with short values as they are and how many there are in long ones."""
    if not isinstance(value, dict):
        return plural(len(cast("list[Any]", value)), "item") if isinstance(value, list) else brief_value(value, 60)
    fields = cast("dict[str, Any]", value)
    parts = [f"{one_line(name, 40)}: {_size(one)}" for name, one in islice(fields.items(), _MOST_NAMES)]
    return ", ".join([*parts, "…"] if len(fields) > _MOST_NAMES else parts) or "{}"


def _size(value: object) -> str:
    if isinstance(value, list):
        return str(len(cast("list[Any]", value)))
    return f"{{{len(cast('dict[str, Any]', value))}}}" if isinstance(value, dict) else brief_value(value, 40)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text[:_SOURCE].split("\n") if line.strip()), "")


def _command(text: str, fields: Mapping[str, Any] | None, palette: Palette, ink: Style) -> list[Piece]:
    """The last line of a command's output that says something."""
    code, output = verdicts.exit_code(text, fields), text
    if fields is not None:
        written = [value for name in _OUTPUTS if isinstance(value := fields.get(name), str) and value.strip()]
        output = written[0] if written else text if code is None else ""
    lines = [line.strip() for line in output[-_SOURCE:].split("\n")]
    if len(output) > _SOURCE:
        lines = lines[1:] or lines
    bare = (_RULED.sub("", line).strip() for line in reversed(lines) if not verdicts.exit_line(line))
    said = next(filter(None, bare), "")
    return AnsiPainter(ink, palette).line(said[:_LONGEST]) if said else []

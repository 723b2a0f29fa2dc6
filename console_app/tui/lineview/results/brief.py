"""Sum up a result in one line.

For a command that is its exit and last meaningful line, for a diff its changes, for a table its size, for everything
else its first line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from rich.style import Style

from console_app.domain import one_line, plural
from console_app.domain.transcript import verdicts
from console_app.tui.lineview.lines import Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.body import ResultBody, table_size
from console_app.tui.lineview.results.diff import stat_pieces
from console_app.tui.lineview.text.ansi import AnsiPainter

_SOURCE = 4000  # characters at either end that a line is made from
_LONGEST = 600  # characters of the line
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
            return [(f"{plural(body.page.count, 'line')} of {found.title}", ink)]
        case "json":
            return [(one_line(" ".join(found.text[:_SOURCE].split()), 400), ink)]
        case "markdown":
            line = _first_line(found.text)
            return [(one_line(re.sub(r"^#{1,6} ", "", line), 400), ink)] if line else []
        case "text":
            line = _first_line(found.text)
            return AnsiPainter(ink, palette).line(line[:_LONGEST]) if line else []


def says_all(body: ResultBody) -> bool:
    """Tell whether the line already says how much there is."""
    return body.found.kind in ("diff", "table", "source")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text[:_SOURCE].split("\n") if line.strip()), "")


def _command(text: str, fields: Mapping[str, Any] | None, palette: Palette, ink: Style) -> list[Piece]:
    """Sum up a command: its exit code, and the last line of output that says something."""
    code, output = verdicts.exit_code(text, fields), text
    if fields is not None:
        written = [value for name in _OUTPUTS if isinstance(value := fields.get(name), str) and value.strip()]
        output = written[0] if written else text if code is None else ""
    lines = [line.strip() for line in output[-_SOURCE:].split("\n")]
    if len(output) > _SOURCE:
        lines = lines[1:] or lines
    bare = (_RULED.sub("", line).strip() for line in reversed(lines) if not verdicts.exit_line(line))
    said = next(filter(None, bare), "")
    pieces: list[Piece] = []
    if code is not None:
        pieces.append((f"exit {code}", palette.muted if code == 0 else palette.warning))
    if said:
        pieces += [("  ", palette.base)] if pieces else []
        pieces += AnsiPainter(ink, palette).line(said[:_LONGEST])
    return pieces

"""A recording as an asciicast, version 2 (docs.asciinema.org): a header, then a line for each change of the screen."""

from __future__ import annotations

import json
from collections.abc import Iterator

from console_app.tui.recording.screens import Look, Recording, Row


def as_cast(recording: Recording) -> str:
    """JSON lines."""
    return "".join(json.dumps(line) + "\n" for line in _lines(recording))


def _lines(recording: Recording) -> Iterator[object]:
    yield {"version": 2, "width": recording.columns, "height": recording.lines, "env": {"TERM": "xterm-256color"}}
    before: tuple[Row, ...] = ()
    for screen in recording.screens:
        changed = [
            f"\x1b[{line};1H{_painted(row)}"
            for line, row in enumerate(screen.rows, 1)
            if line > len(before) or before[line - 1] != row
        ]
        start = "" if before else "\x1b[?25l\x1b[2J"
        yield [screen.at, "o", start + "".join(changed)]
        before = screen.rows
    yield [recording.seconds, "o", "\x1b[0m"]


def _painted(row: Row) -> str:
    return "".join(f"\x1b[{_codes(run.look)}m{run.text}" for run in row) + "\x1b[0m\x1b[K"


def _codes(look: Look) -> str:
    flags = ((look.bold, "1"), (look.italic, "3"), (look.underline, "4"), (look.strike, "9"))
    codes = ["0", *(code for on, code in flags if on)]
    for colour, kind in ((look.ink, "38"), (look.ground, "48")):
        if colour:
            codes.append(f"{kind};2;{';'.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))}")
    return ";".join(codes)

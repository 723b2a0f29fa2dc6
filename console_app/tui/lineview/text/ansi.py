"""Turn the ANSI colours that tools write into styled pieces: SGR sequences become styles, all else stays visible.

Only colours and plain emphasis are taken over. Blinking and concealed text is not: text that hides from its reader is
no style. Cursor movement, titles, clipboard writes and all other sequences show as the marks of `safe_text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rich.color import Color
from rich.style import Style

from console_app.domain import safe_text
from console_app.tui.lineview.lines import Line, Piece
from console_app.tui.lineview.palette import Palette

SGR = safe_text.SGR
_EMPHASIS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_ENDS = {21: ("bold",), 22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}


class AnsiPainter:
    """Turns lines of one text into pieces, carrying the style from line to line."""

    def __init__(self, base: Style, palette: Palette) -> None:
        self._base = base
        self._palette = palette
        self._set: dict[str, Any] = {}  # as Rich's styles take it
        self._style = base

    def line(self, text: str) -> list[Piece]:
        if "\x1b" not in text:
            return [(Line.clean(text), self._style)] if text else []
        pieces: list[Piece] = []
        at = 0
        for match in SGR.finditer(text):
            if match.start() > at:
                pieces.append((Line.clean(text[at : match.start()]), self._style))
            self._read(match.group(1))
            self._style = self._base + Style(**self._set)
            at = match.end()
        if at < len(text):
            pieces.append((Line.clean(text[at:]), self._style))
        return pieces

    def behind(self, text: str) -> AnsiPainter:
        """A painter in the style behind a text that is not shown. Of sequences that are alike only the last is read:
        none depends on those before."""
        other = AnsiPainter(self._base, self._palette)
        other._set = dict(self._set)
        found = SGR.findall(text, max(text.rfind("\x1b[0m"), text.rfind("\x1b[m"), 0))
        for parameters in reversed(dict.fromkeys(reversed(found))):
            other._read(parameters)
        other._style = self._base + Style(**other._set)
        return other

    def _read(self, parameters: str) -> None:
        codes = iter([int(part) if part.isdigit() and len(part) < 4 else 0 for part in re.split("[;:]", parameters)])
        for code in codes:
            self._code(code, codes)

    def _code(self, code: int, rest: Iterator[int]) -> None:
        what = "bgcolor" if 40 <= code <= 49 or code >= 100 else "color"
        if code == 0:
            self._set.clear()
        elif code in _EMPHASIS:
            self._set[_EMPHASIS[code]] = True
        elif code in _ENDS:
            for name in _ENDS[code]:
                self._set.pop(name, None)
        elif 30 <= code <= 37 or 40 <= code <= 47:
            self._set[what] = self._palette.ansi[code % 10]
        elif 90 <= code <= 97 or 100 <= code <= 107:
            self._set[what] = self._palette.ansi[code % 10 + 8]
        elif code in (38, 48):
            self._set[what] = self._extended(rest)
        elif code in (39, 49):
            self._set.pop(what, None)

    def _extended(self, rest: Iterator[int]) -> Color | None:
        kind = next(rest, 0)
        if kind == 5:
            number = min(next(rest, 0), 255)
            return self._palette.ansi[number] if number < 16 else Color.from_ansi(number)
        if kind == 2:
            red, green, blue = (min(next(rest, 0), 255) for _ in range(3))
            return Color.from_rgb(red, green, blue)
        return None

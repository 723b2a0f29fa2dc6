"""The last gate before the terminal: only what Fanout itself means to write gets through, whatever a widget let in.

Text is made visible where it comes in (`domain.safe_text`); this is the second line, so that one forgotten place can't
hand the terminal to a tool. It stands in two places. `EdgeFilter` sees text and styles apart, as Textual's line filter:
there any control character is foreign. `cleaned` sees the finished bytes of the driver: there only the sequences that
the console draws with are known, and any other loses the character that makes it one.
"""

from __future__ import annotations

import logging
import re
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from console_app.domain import safe_text
from console_app.tui.terminal.placeholders import CELLS, INK

log = logging.getLogger(__name__)

# Private modes: wrap, cursor, mouse, focus, alternate screen, bracketed paste, synchronized output, in-band resize.
MODES: Final = (7, 25, 1000, 1003, 1004, 1006, 1015, 1016, 1049, 2004, 2026, 2048)

_MODE = "|".join(map(str, MODES))
# Colours and cursor positions make up a frame; the rest opens, closes or queries, and keeps the window's title.
_KNOWN = rf"\[(?:[0-9;]*m|2[23];2t|[0-9]+;[0-9]+H|\?(?:{_MODE})[hl]|\?(?:2026|2048)\$p|>[0-9]+u|<u)"
_SEQUENCE = re.compile(rf"\x1b(?!{_KNOWN})")
_FOREIGN = re.compile(rf"\x1b(?!{_KNOWN})|(?!\x1b)[\t\n{safe_text.ALWAYS_UNSAFE}]")
# Written in one piece, never inside a frame: the bell, the clipboard (base64, as you copied it), the pointer's shape,
# the window's title, and notifications, inside tmux in its wrapping.
_TEXT = rf"[^\t\n;{safe_text.ALWAYS_UNSAFE}]*"
_NOTICE = rf"\](?:9;Fanout:|777;notify;Fanout;){_TEXT}\x07"
_ALONE = re.compile(
    r"\x07|\x1b\]52;c;[A-Za-z0-9+/]*={0,2}\x07|\x1b\]22;[a-z-]+\x07"
    rf"|\x1b\]2;fanout{_TEXT}\x07|\x1b{_NOTICE}|\x1bPtmux;\x1b\x1b{_NOTICE}\x1b\\"
)
# Most lines are made of these characters, none of which stands over the letter before it.
_UNMARKED = re.compile("[ -~\u00a1-\u00ac\u00ae-\u02ff\u0400-\u0482\u2010-\u2027\u2190-\u21ff\u2500-\u25ff]*")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def cleaned(data: str) -> str:
    """`data` as it may be written to the terminal: unknown sequences lose their control characters."""
    data = data.replace("\n\x1b[", "\x1b[")  # Textual ends a line, then says where the next one begins
    # The two quick looks take 0.7 ms for a full frame of 40,000 characters, the thorough one 3 ms.
    if data.replace("\x1b", "").isprintable() and _SEQUENCE.search(data) is None:
        return data
    if _FOREIGN.search(data) is None or _ALONE.fullmatch(data) is not None:
        return data
    log.warning("%d foreign control characters were kept from the terminal", len(_FOREIGN.findall(data)))
    return _FOREIGN.sub("", data)


class EdgeFilter(LineFilter):
    """Takes control characters, links and control segments out of painted lines, cell by cell, so that they keep their
    width and can be cut anywhere."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        text = "".join([segment[0] for segment in segments])
        more = any(one.control or (one.style is not None and one.style.link is not None) for one in segments)
        if _is_clean(text) and not more:
            return segments if _UNMARKED.fullmatch(text) else [_Marked(*segment) for segment in segments]
        return [
            _picture(segment)
            if safe_text.PLACEHOLDER in segment.text and CELLS.fullmatch(segment.text)
            else _Marked(_printable(segment.text), _unlinked(segment.style) if segment.style is not None else None)
            for segment in segments
            if not segment.control
        ]


class _Marked(Segment):
    """Cuts text behind the marks of a letter. Rich's may be cut before them: they would stand over the frame of a
    dialog, and a picture's cell would be none."""

    __slots__ = ()

    def split_cells(self, cut: int) -> tuple[Segment, Segment]:
        before, after = super().split_cells(cut)
        text, rest, style = before.text, after.text, self.style
        while rest and cell_len(text + rest[0]) == cut:
            text, rest = text + rest[0], rest[1:]
        return _Marked(text, style, self.control), _Marked(rest, style, self.control)


def _picture(cells: Segment) -> Segment:
    """Draw cells of a picture in the ink that names it, whatever changed that ink on the way."""
    return _Marked(cells.text, _unlinked(cells.style or Style()) + Style(color=INK))


EDGE: Final = EdgeFilter()


def _is_clean(text: str) -> bool:
    return (text.isascii() and text.isprintable()) or (
        safe_text.is_safe(text) and "\n" not in text and "\t" not in text
    )


def _printable(text: str) -> str:
    if _is_clean(text):
        return text
    printable = "".join(c if safe_text.is_safe(c) and c not in "\n\t" else _REPLACEMENT * cell_len(c) for c in text)
    return set_cell_size(printable, cell_len(text))  # joiners count for what they join


def _unlinked(style: Style) -> Style:
    """`style` without a link, which would be an OSC 8 sequence with the address as it came."""
    return style.update_link(None) if style.link else style

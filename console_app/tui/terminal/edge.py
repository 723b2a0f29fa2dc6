"""The last gate before the terminal: only what Fanout itself means to write gets through, whatever a widget let in.

Text is made visible where it comes in (`domain.safe_text`); this is the second line, so that one forgotten place can't
hand the terminal to a tool. It stands in two places. `EdgeFilter` sees text and styles apart, as Textual's line filter:
there any control character is foreign. `cleaned` sees the finished bytes of the driver: there only the sequences that
the console draws with are known, and any other loses the character that makes it one.

Cells of text in whose place a terminal draws a part of a picture are kitty's Unicode placeholders. A cell is a private
character with three marks over it: the row of the picture, the column, and the highest byte of the picture's number.
The lower bytes are the cell's ink. That is one ink for all pictures, as the gate gives it back to cells that were
tinted under a dialog, selected or dimmed.
"""

from __future__ import annotations

import logging
import re
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual import color
from textual.filter import LineFilter

from console_app.domain import safe_text

# The marks for 0, 1, 2 … as the protocol lists them, in order, first to last of each run.
_RUNS = """
305 30d-30e 310 312 33d-33f 346 34a-34c 350-352 357 35b 363-36f 483-487 592-595 597-599 59c-5a1 5a8-5a9 5ab-5ac 5af 5c4
610-617 657-65b 65d-65e 6d6-6dc 6df-6e2 6e4 6e7-6e8 6eb-6ec 730 732-733 735-736 73a 73d 73f-741 743 745 747 749-74a
7eb-7f1 7f3 816-819 81b-823 825-827 829-82d 951 953-954 f82-f83 f86-f87 135d-135f 17dd 193a 1a17 1a75-1a7c 1b6b
1b6d-1b73 1cd0-1cd2 1cda-1cdb 1ce0 1dc0-1dc1 1dc3-1dc9 1dcb-1dcc 1dd1-1de6 1dfe 20d0-20d1 20d4-20d7 20db-20dc 20e1 20e7
20e9 20f0 2cef-2cf1 2de0-2dff a66f a67c-a67d a6f0-a6f1 a8e0-a8f1 aab0 aab2-aab3 aab7-aab8 aabe-aabf aac1 fe20-fe26
10a0f 10a38 1d185-1d189 1d1aa-1d1ad 1d242-1d244
"""
MARKS: Final = "".join(
    chr(code) for run in _RUNS.split() for code in range(int(run.split("-")[0], 16), int(run.split("-")[-1], 16) + 1)
)
# Number 67 of the 256 colours in its very shade, so that a terminal without more gets that number.
INK: Final = Color.from_rgb(0x5F, 0x87, 0xAF)
LOW_BYTES: Final = {"truecolor": 0x5F87AF, "256": 67}  # of a picture's number, by the colours that are written
CELLS: Final = re.compile(f"(?:{safe_text.PLACEHOLDER}[{MARKS}]{{3}})+")


def cells(picture: int, row: int, columns: int) -> str:
    """The cells of one row of a picture, of which `picture` is the highest byte of its number."""
    return "".join(f"{safe_text.PLACEHOLDER}{MARKS[row]}{MARKS[column]}{MARKS[picture]}" for column in range(columns))


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

    def apply(self, segments: list[Segment], background: color.Color) -> list[Segment]:
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

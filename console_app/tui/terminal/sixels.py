"""Draw pictures as sixels, as DEC's VT330/VT340 Programmer Reference (volume 2, chapter 14) has them.

Such pixels stay on the screen until something is written there, and Textual writes only the changes of its lines. So a
picture is strips, each a row of cells high. The cells of `placeholders` stand for it in the lines of the screen, and
become their strip on the way out. Anything that covers a row has overwritten it, and anything that moves is drawn anew.
Rows that are seen in part are half blocks. So are all rows while the terminal reads slower than it is written to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.color import Color, ColorSystem

from console_app.tui.terminal.answers import ExpectedAnswer
from console_app.tui.terminal.placeholders import CELLS, MARKS

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

# How many colours at once, and how many pixels a cell has: asked only of who takes sixels, others might scroll.
DETAILS_QUESTION = "\x1b[?1;1;0S\x1b[16t"
USUAL_COLOURS = 256
MOST_SIXEL_PIXELS = 1_500_000  # of a picture that is made into strips: a second or two
MOST_STRIPS = 2_000_000  # characters of a picture's strips
_SIXELS = "4"  # among what a terminal says that it is
_SEEN = 128  # the least opacity of a pixel that is drawn
_OPEN = 255  # stands for a pixel that the ground is seen through
_BAND = 6  # lines of pixels that are written together
_LETTERS = bytes(range(63, 127)) + bytes(192)  # for each set of pixels in a column of a band
_RUN = re.compile(r"(.)\1{3,}")
_GROUND = "\0"
_PLACE_OR_CELLS = re.compile(rf"\x1b\[([0-9]+);([0-9]+)H|(\x1b\[[0-9;]*m)?({CELLS.pattern})")
_INK = re.compile(r"\x1b\[[0-9;]*m")
_MARK = {mark: at for at, mark in enumerate(MARKS)}


def takes_sixels(kind: str) -> bool:
    """Tell whether a terminal names sixels in its answer to DA1 (`?63;1;2;4;6`)."""
    return _SIXELS in kind.lstrip("?").split(";")[1:]


def colours_answer() -> ExpectedAnswer:
    """The first answer to `DETAILS_QUESTION`: its only group is the number, and missing where there is an error."""
    whole = re.compile(r"\x1b\[\?1;[0-9](?:;([0-9]{1,9}))?(?:;[0-9;]{0,32})?S")
    return ExpectedAnswer(whole, re.compile(r"\x1b(?:\[(?:\?[0-9;]{0,48})?)?\Z"))


def cell_answer() -> ExpectedAnswer:
    """The second answer to `DETAILS_QUESTION`: the groups are a cell's height and width in pixels."""
    whole = re.compile(r"\x1b\[6;([0-9]{1,4});([0-9]{1,4})t")
    return ExpectedAnswer(whole, re.compile(r"\x1b(?:\[(?:6(?:;[0-9;]{0,9})?)?)?\Z"))


@dataclass(frozen=True, slots=True)
class Strips:
    """A picture by rows of cells: each as sixels, and as half blocks by cells."""

    columns: int
    cell: tuple[int, int]  # the pixels of a cell that it was made for
    pixels: int
    sharp: list[str] = field(repr=False)
    coarse: list[list[str]] = field(repr=False)


def strips(picture: Pixels, small: Pixels, cell: tuple[int, int], colours: int, system: ColorSystem) -> Strips | None:
    """`picture` (RGBA) with a cell for each column of pixels of `small` and each two of its lines; None where that is
    too much to write."""
    from PIL.Image import Quantize  # 40 ms, and only for pictures

    sides = small.width * cell[0], -(-small.height * cell[1] // 2)
    if sides[0] * sides[1] > MOST_SIXEL_PIXELS:
        return None
    drawn = picture.resize(sides, reducing_gap=2.0)  # pyright: ignore[reportUnknownMemberType]
    opaque = drawn.convert("RGB")
    few = opaque.quantize(min(colours, _OPEN), Quantize.FASTOCTREE)  # which keeps even grounds, as charts have them
    palette = few.getpalette() or []
    exact = opaque.quantize(palette=few)  # mixes what the palette has not
    opacity = drawn.getchannel("A")
    exact.paste(_OPEN, mask=opacity.point([0 if value >= _SEEN else 255 for value in range(256)]))  # pyright: ignore[reportUnknownMemberType]
    data = exact.tobytes()
    names = [
        f"#{at};2;" + ";".join(str(round(shade / 2.55)) for shade in palette[3 * at : 3 * at + 3])
        for at in range(len(palette) // 3)
    ]
    sharp = [_strip(data, sides, top, cell[1], names) for top in range(0, sides[1], cell[1])]
    if sum(map(len, sharp)) > MOST_STRIPS:
        return None
    return Strips(small.width, cell, sides[0] * sides[1], sharp, _half_blocks(small, system))


def _strip(data: bytes, sides: tuple[int, int], top: int, height: int, names: Sequence[str]) -> str:
    """The lines of pixels from `top` on, of which a byte each is a colour, as one picture of sixels."""
    width, bottom = sides[0], min(top + height, sides[1])
    used = sorted(set(data[top * width : bottom * width]) - {_OPEN})
    bands = [
        _band([data[line * width : (line + 1) * width] for line in range(first, min(first + _BAND, bottom))])
        for first in range(top, bottom, _BAND)
    ]
    head = f'\x1bP0;1;0q"1;1;{width};{bottom - top}'  # pixels that are not written stay as they are
    return head + "".join(names[colour] for colour in used) + "-".join(bands) + "\x1b\\"


def _band(lines: list[bytes]) -> str:
    """Up to six lines of pixels: for each colour a letter a column, which says where in it the colour is."""
    written: list[str] = []
    for colour in sorted(set(b"".join(lines)) - {_OPEN}):
        found = 0
        for at, line in enumerate(lines):
            where = bytes(colour) + bytes([1 << at]) + bytes(_OPEN - colour)
            found |= int.from_bytes(line.translate(where))
        letters = found.to_bytes(len(lines[0])).translate(_LETTERS).decode().rstrip("?")
        written.append(f"#{colour}" + _RUN.sub(lambda run: f"!{len(run[0])}{run[1]}", letters))
    return "$".join(written)


def _half_blocks(small: Pixels, system: ColorSystem) -> list[list[str]]:
    data, width = small.tobytes() + bytes(4 * small.width), small.width
    pixels = [data[at : at + 4] for at in range(0, len(data), 4)]
    return [
        [_half_block(pixels[at], pixels[at + width], system) for at in range(top, top + width)]
        for top in range(0, width * small.height, 2 * width)
    ]


def _half_block(above: bytes, below: bytes, system: ColorSystem) -> str:
    """Two pixels in a cell, one above the other; what is open has the ground, for which `_GROUND` stands."""
    first, second = (
        Color.from_rgb(*pixel[:3]).downgrade(system) if pixel[3] >= _SEEN else None for pixel in (above, below)
    )
    if first is None:
        return f"{_GROUND} " if second is None else f"{_GROUND}\x1b[{_codes(second)}m▄"
    if second is None:
        return f"{_GROUND}\x1b[{_codes(first)}m▀"
    return f"\x1b[{_codes(first)};{_codes(second, ground=True)}m▀"


def _codes(colour: Color, ground: bool = False) -> str:
    return ";".join(colour.get_ansi_codes(foreground=not ground))


def drawn(
    frame: str, picture: Callable[[int], Strips | None], *, last_line: int, is_read: bool
) -> tuple[str, frozenset[str]]:
    """A frame as it is written, and the cells that are half blocks in it. Nothing is drawn on the last line: some
    terminals scroll behind it. The alternate screen has the saved cursor, so none is saved."""
    line, column, since, coarse = 0, 0, 0, set[str]()

    def written(found: re.Match[str]) -> str:
        nonlocal line, column, since
        if found[1]:
            line, column, since = int(found[1]), int(found[2]), found.end()
            return found[0]
        ground, cells = found[3] or "", found[4]
        row, first, number = (_MARK[mark] for mark in cells[1:4])
        count, shown = len(cells) // 4, picture(number)
        if shown is None or row >= len(shown.sharp):
            return ground + " " * count
        if is_read and count == shown.columns and 0 < line < last_line:
            at = column + cell_len(_INK.sub("", frame[since : found.start()]))
            return f"{ground}{' ' * count}\x1b[{line};{at}H{shown.sharp[row]}\x1b[{line};{at + count}H"
        coarse.add(cells)
        return ground + "".join(shown.coarse[row][first : first + count]).replace(_GROUND, ground)

    return _PLACE_OR_CELLS.sub(written, frame), frozenset(coarse)

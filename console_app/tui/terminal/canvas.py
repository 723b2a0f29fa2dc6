"""Draw pictures in a terminal that can: kitty and Ghostty by kitty's graphics protocol, others by sixels.

The terminal is asked for its name with the modes (XTVERSION). One that knows cells of text which stand for a picture
(`placeholders`) is asked whether it takes pictures now: others draw them and print such cells, or print the question. A
picture is sent once, in pieces that wait for every frame, and shown by its cells when the terminal has all of it. It is
deleted there when its last user has let go of it, and all are before the terminal is given back.

Sixels are as DEC's VT330/VT340 Programmer Reference (volume 2, chapter 14) has them. Such pixels stay on the screen
until something is written there, and Textual writes only the changes of its lines. So a picture is strips, each a row
of cells high. The cells of `placeholders` stand for it in the lines of the screen, and become their strip on the way
out. Anything that covers a row has overwritten it, and anything that moves is drawn anew. Rows that are seen in part
are half blocks. So are all rows while the terminal reads slower than it is written to.
"""

from __future__ import annotations

import base64
import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.color import Color, ColorSystem

from console_app.domain import safe_text
from console_app.records import dataclass, field
from console_app.tui.terminal.edge import CELLS, INK, LOW_BYTES, MARKS, cells

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

MOST_SIXEL_PIXELS = 1_500_000  # of a picture that is made into strips: a second or two
MOST_STRIPS = 2_000_000  # characters of a picture's strips
_SEEN = 128  # the least opacity of a pixel that is drawn
_OPEN = 255  # stands for a pixel that the ground is seen through
_BAND = 6  # lines of pixels that are written together
_LETTERS = bytes(range(63, 127)) + bytes(192)  # for each set of pixels in a column of a band
_RUN = re.compile(r"(.)\1{3,}")
_GROUND = "\0"
_PLACE_OR_CELLS = re.compile(rf"\x1b\[([0-9]+);([0-9]+)H|(\x1b\[[0-9;]*m)?({CELLS.pattern})")
_INK = re.compile(r"\x1b\[[0-9;]*m")
_MARK = {mark: at for at, mark in enumerate(MARKS)}


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
    from PIL import Image  # 40 ms, and only for pictures

    sides = small.width * cell[0], -(-small.height * cell[1] // 2)
    if sides[0] * sides[1] > MOST_SIXEL_PIXELS:
        return None
    drawn = picture.resize(sides, reducing_gap=2.0)  # pyright: ignore[reportUnknownMemberType]
    opaque = drawn.convert("RGB")
    few = opaque.quantize(
        min(colours, _OPEN), Image.Quantize.FASTOCTREE
    )  # which keeps even grounds, as charts have them
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


MOST_KEPT = 64_000_000  # bytes of pixels in the terminal; no screen shows as many at once
MOST_PICTURES = 200  # of the 256 that a mark tells apart
MOST_DUE = 8_000_000  # characters that wait to be sent
CHUNK = 4096  # of a picture in one sequence
PIECE = 4  # sequences between two looks at whether a frame waits
_END = "\x1b_Gm=0,q=2;\x1b\\"  # of a picture that is not sent to its end: what comes next would be taken for more of it


@dataclass(eq=False, slots=True)
class _Upload:
    number: int  # the highest byte of the number that it has in the terminal
    size: int  # in the terminal's memory
    pieces: deque[str] = field(repr=False)  # what is still to be sent
    waiting: int  # characters of them
    begun: bool = False
    gone: bool = False
    strips: Strips | None = None  # of one that goes with the frames


@dataclass(eq=False)
class Placed:
    """A picture in the terminal, for as long as this is kept."""

    columns: int
    rows: int
    _upload: _Upload
    ink = INK

    @property
    def is_shown(self) -> bool:
        """Tell whether the terminal has all of the picture, so that its cells show it."""
        return not self._upload.pieces and not self._upload.gone

    @property
    def is_gone(self) -> bool:
        """Tell whether the picture must be placed again: the terminal was given back since, or others took its room."""
        return self._upload.gone

    def cells(self, row: int) -> str:
        """The text that stands on the screen in place of one row of the picture."""
        return cells(self._upload.number, row, self.columns)


class Canvas:
    """The pictures of one terminal. The event loop, threads that read pictures and the one that writes use it."""

    def __init__(self, wake: Callable[[], None], cell: Callable[[], tuple[int, int]]) -> None:
        """`wake` has the writer ask for what is due; `cell` gives the pixels of a cell, side by side and in height."""
        self._wake = wake
        self.cell = cell
        self.is_open = False  # pictures can be placed
        self.sixels = 0  # colours of sixels, where these are what it takes
        self.system = ColorSystem.TRUECOLOR  # what half blocks are written in
        self._at_rest = False
        self._covered: frozenset[str] = frozenset()  # cells that are half blocks as long as nothing changes
        self._low = 0
        self._lock = threading.Lock()  # of all but the two queues' ends, which a picture that is let go of reaches
        self._kept: dict[int, _Upload] = {}  # by number, oldest first
        self._due: deque[_Upload] = deque()
        self._left: deque[_Upload] = deque()  # nobody shows them any more
        self._last = 0

    def open(self, colours: str | None, sixels: int = 0) -> None:
        """Take pictures, or sixels of so many colours; `colours` is the system that Rich writes in."""
        self._low, self.sixels = LOW_BYTES.get(colours or "", 0), sixels
        self.system = ColorSystem.TRUECOLOR if colours == "truecolor" else ColorSystem.EIGHT_BIT
        self.is_open = self._low > 0

    def place(self, png: bytes, pixels: int, columns: int, rows: int) -> Placed | None:
        """Have a picture of so many pixels sent, to stay while the result is held; None where that can't be now."""
        due = -(-len(png) // 3) * 4
        with self._lock:
            if sum(one.waiting for one in self._due) + due > MOST_DUE or (number := self._room(4 * pixels)) is None:
                return None
            upload = _Upload(number, 4 * pixels, deque(_pieces(png, self._number(number), columns, rows)), due)
            self._kept[number] = upload
            self._due.append(upload)
        self._wake()
        return self._placed(upload, columns, rows)

    def place_sixels(self, picture: Pixels, small: Pixels) -> Placed | None:
        made = strips(picture, small, self.cell(), self.sixels, self.system)
        return None if made is None else self.place_strips(made)

    def place_strips(self, strips: Strips) -> Placed | None:
        with self._lock:
            if (number := self._room(4 * strips.pixels)) is None:
                return None
            upload = self._kept[number] = _Upload(number, 4 * strips.pixels, deque(), 0, strips=strips)
        return self._placed(upload, strips.columns, len(strips.sharp))

    def _room(self, size: int) -> int | None:
        """The number of a new picture, for which others make room."""
        if not self.is_open or size > MOST_KEPT or len(self._kept) > MOST_PICTURES:
            return None
        kept = [one for one in self._kept.values() if not one.gone]
        while kept and (sum(one.size for one in kept) + size > MOST_KEPT or len(kept) >= MOST_PICTURES):
            self._let_go(kept.pop(0))
        self._last = next(one % 256 for one in range(self._last + 1, self._last + 257) if one % 256 not in self._kept)
        return self._last

    def _placed(self, upload: _Upload, columns: int, rows: int) -> Placed:
        placed = Placed(columns, rows, upload)
        weakref.finalize(placed, self._let_go, upload).atexit = False
        return placed

    def with_strips(self, frame: str, last_line: int, *, is_read: bool) -> tuple[str, bool]:
        """A frame as it is written, and whether all painted anew at rest would be finer. Half blocks stand for pictures
        while the terminal has not read what went before, or where one is cut off."""
        if not self.sixels or safe_text.PLACEHOLDER not in frame:
            return frame, False
        written, coarse = drawn(
            frame, lambda number: (one := self._kept.get(number)) and one.strips, last_line=last_line, is_read=is_read
        )
        if not is_read:
            return written, bool(coarse)
        if self._at_rest:
            self._at_rest, self._covered = False, coarse
        return written, not coarse <= self._covered

    def rest(self) -> None:
        self._at_rest = True

    def resized(self) -> None:
        """Pictures for cells of another size are gone: the letters were made larger, say."""
        cell = self.cell()
        with self._lock:
            for one in [*self._kept.values()]:
                if one.strips is not None and one.strips.cell != cell and not one.gone:
                    self._let_go(one)

    @property
    def pending(self) -> bool:
        """Tell whether something is to be written when nothing else is."""
        return bool(self._due or self._left)

    def take(self) -> str:
        """The next sequence to be written: a piece of a picture, or the end or the deletion of one."""
        with self._lock:
            if self._due and self._due[0].begun:
                return self._next_piece()
            if self._left:
                return self._delete(self._left.popleft())
            return self._next_piece() if self._due else ""

    def close(self) -> str:
        """Nothing is placed from now on; gives what deletes all that is there."""
        with self._lock:
            self.is_open = False
            end = _END if self._due and self._due[0].begun else ""
            self._due.clear()
            self._left.clear()
            return end + "".join([self._delete(one) for one in [*self._kept.values()]])

    def _let_go(self, upload: _Upload) -> None:
        """Without the lock: it is called wherever the last reference to a picture goes."""
        upload.gone = True
        self._left.append(upload)
        self._wake()

    def _next_piece(self) -> str:
        upload = self._due[0]
        if upload.gone and upload.begun:
            piece = _END
        elif upload.gone:
            piece = ""
        else:
            upload.begun = True
            piece = upload.pieces.popleft()
            upload.waiting = max(upload.waiting - len(piece), 0)
        if upload.gone or not upload.pieces:
            self._due.popleft()
        return piece

    def _delete(self, upload: _Upload) -> str:
        upload.gone = True
        if self._kept.get(upload.number) is not upload:
            return ""  # it was before, and the number may be another's
        del self._kept[upload.number]
        return f"\x1b_Ga=d,d=I,i={self._number(upload.number)},q=2;\x1b\\" if upload.begun else ""

    def _number(self, highest: int) -> int:
        return highest << 24 | self._low


def _pieces(png: bytes, number: int, columns: int, rows: int) -> list[str]:
    """The sequences that send a picture and give it a place among text, some to a piece."""
    data = base64.b64encode(png).decode()
    chunks = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
    heads = [f"a=T,U=1,f=100,t=d,q=2,i={number},c={columns},r={rows}", *["q=2"] * (len(chunks) - 1)]
    sequences = [
        f"\x1b_G{head},m={int(at < len(chunks) - 1)};{chunk}\x1b\\"
        for at, (head, chunk) in enumerate(zip(heads, chunks, strict=True))
    ]
    return ["".join(sequences[at : at + PIECE]) for at in range(0, len(sequences), PIECE)]

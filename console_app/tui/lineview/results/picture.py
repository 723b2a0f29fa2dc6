"""A picture of a result: drawn by the terminal itself, where that can, else with half blocks, each cell two pixels, one
above the other. Either takes the same cells.

A thread of its own reads it, once for a width, and the block that shows it looks meanwhile whether it is there. What is
kept is as small as what is seen. Half blocks stand until the terminal has the picture, which it has no longer once its
view is gone.
"""

from __future__ import annotations

import io
import os
import stat
import threading
import warnings
from typing import TYPE_CHECKING

from rich.color import Color
from rich.style import Style

from console_app.domain import Artifact, amounts
from console_app.records import dataclass
from console_app.tui.lineview.lines import Piece, Row
from console_app.tui.lineview.palette import Palette

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

    from console_app.tui.terminal.canvas import Canvas, Placed


MOST_ROWS = 20
MOST_COLUMNS = 297  # more of a picture no terminal draws in cells
MOST_DRAWN = 4  # pictures of a result; the others are named
LARGEST_FILE = 40_000_000  # bytes
MOST_PIXELS = 50_000_000  # of one that is decoded: 200 MB
MOST_SENT = 1_000_000  # pixels of one that the terminal gets
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_NO_FILES = {"p": "a named pipe", "s": "a socket", "d": "a folder"}  # by what `ls` calls them
_HALF = "▀"
_decoding = threading.Lock()  # one at a time: each may take 200 MB


@dataclass(frozen=True, slots=True)
class Drawing:
    """`columns` by `lines` pixels, as bytes of red, green, blue and opacity."""

    columns: int
    lines: int
    pixels: bytes
    placed: Placed | None = None  # what the terminal has of it


class PictureView:
    def __init__(self, picture: Artifact) -> None:
        self._picture = picture
        self._room = 0  # the cells that it was read for
        self._read: list[Drawing | str] = []  # what the thread found: pixels, or why there are none
        self._rows: tuple[object, list[Row]] | None = None  # by their palette
        self._shown = False  # these rows are cells that the terminal draws

    @property
    def is_awaited(self) -> bool:
        """Tell whether the picture was asked for and its outcome is not shown yet."""
        if self._room == 0 or self._rows is None:
            return self._room > 0
        return (placed := self._placed) is not None and (placed.is_gone or not self._shown)

    @property
    def version(self) -> object:
        """Changes when there is something else to show."""
        placed = self._placed
        return self._room, len(self._read), placed is not None and (placed.is_shown, placed.is_gone)

    def rows(self, width: int, palette: Palette, canvas: Canvas | None = None) -> list[Row]:
        """The picture in at most `width` cells and `MOST_ROWS` rows, not to be copied; empty until it was read."""
        placed = self._placed
        lost = placed is not None and placed.is_gone and canvas is not None and canvas.is_open
        if width != self._room or lost:
            self._room, self._read, self._rows = width, [], None
            threading.Thread(target=self._fill, args=(width, self._read, canvas), name="picture", daemon=True).start()
        if not self._read:
            lines = 1 if self._picture.sides is None else -(-_fitting(self._picture.sides, width)[1] // 2)
            return [_note("reading the picture…", palette), *(_note("", palette) for _ in range(lines - 1))]
        shown = (placed := self._placed) is not None and placed.is_shown
        if self._rows is None or self._rows[0] is not palette or self._shown != shown:
            found = self._read[0]
            if isinstance(found, str):
                drawn = [_note(found, palette)]
            else:
                drawn = _drawn(found, palette) if placed is None or not shown else _cells(placed, palette)
            self._rows, self._shown = (palette, drawn), shown
        return self._rows[1]

    @property
    def _placed(self) -> Placed | None:
        found = self._read[0] if self._read else None
        return found.placed if isinstance(found, Drawing) else None

    def _fill(self, width: int, read: list[Drawing | str], canvas: Canvas | None) -> None:
        with _decoding:
            if read is self._read:  # else there is another width since: a window that is pulled has a hundred
                read.append(_decoded(self._picture.path, width, canvas))


def _note(text: str, palette: Palette) -> Row:
    return Row([(text, palette.muted)], gutter=len(text))


def _fitting(sides: tuple[int, int], width: int) -> tuple[int, int]:
    share = min(min(width, MOST_COLUMNS) / max(sides[0], 1), 2 * MOST_ROWS / max(sides[1], 1), 1.0)
    return max(round(sides[0] * share), 1), max(round(sides[1] * share), 1)


def _decoded(path: str, width: int, canvas: Canvas | None) -> Drawing | str:
    from PIL import Image, ImageOps  # 40 ms, and only for pictures

    try:
        state = os.stat(path)
        if not stat.S_ISREG(state.st_mode):
            return f"can't be drawn: it is {_NO_FILES.get(stat.filemode(state.st_mode)[0], 'a device')}"
        if state.st_size > LARGEST_FILE:
            return f"too large to be drawn here: {amounts.size(state.st_size)}"
        # A pipe that took its place in between must not be waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        with open(descriptor, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large pictures, which are bounded here
            with Image.open(file, formats=_FORMATS) as picture:
                if picture.width * picture.height > MOST_PIXELS:
                    return f"too large to be drawn here: {picture.width}x{picture.height}"
                cell = (4, 8) if canvas is None or not canvas.is_open else canvas.cell()
                picture.draft("RGB", (cell[0] * width, cell[1] * MOST_ROWS))  # JPEG is decoded smaller at once
                return _scaled(ImageOps.exif_transpose(picture), width, canvas)
    except Image.DecompressionBombError:
        return "too large to be drawn here"
    except FileNotFoundError:
        return "can't be drawn: its file is gone"
    except Exception:  # Pillow raises what its decoders raise
        return "can't be drawn: damaged, or no picture"


def _scaled(picture: Pixels, width: int, canvas: Canvas | None) -> Drawing:
    if picture.mode.startswith("I"):  # 16 bits of grey, of which a plain conversion keeps the lowest
        grey = picture.convert("I").point(lambda value: value * (1 / 256))  # pyright: ignore[reportUnknownMemberType]
        picture = grey.convert("L")
    columns, lines = _fitting(picture.size, width)
    whole = picture.convert("RGBA")
    small = whole.resize((columns, lines), reducing_gap=2.0)  # pyright: ignore[reportUnknownMemberType]
    placed = None if canvas is None or not canvas.is_open else _placed(whole, small, canvas)
    return Drawing(columns, lines, small.tobytes(), placed)


def _placed(picture: Pixels, small: Pixels, canvas: Canvas) -> Placed | None:
    """The picture as the terminal is to have it: not finer than its cells show it, nor than it is."""
    if canvas.sixels:
        return canvas.place_sixels(picture, small)
    cell, (width, height), columns, rows = canvas.cell(), picture.size, small.width, -(-small.height // 2)
    share = min(columns * cell[0] / width, rows * cell[1] / height, (MOST_SENT / (width * height)) ** 0.5, 1.0)
    sides = max(int(width * share), 1), max(int(height * share), 1)
    sent = picture.resize(sides, reducing_gap=2.0) if share < 1 else picture  # pyright: ignore[reportUnknownMemberType]
    if sent.getchannel("A").getextrema() == (255, 255):
        sent = sent.convert("RGB")
    file = io.BytesIO()
    sent.save(file, "PNG")
    return canvas.place(file.getvalue(), sides[0] * sides[1], columns, rows)


def _cells(placed: Placed, palette: Palette) -> list[Row]:
    ink = Style(color=placed.ink, bgcolor=palette.base.bgcolor)
    return [Row([(line := placed.cells(row), ink)], gutter=len(line)) for row in range(placed.rows)]


def _drawn(drawing: Drawing, palette: Palette) -> list[Row]:
    """Draw two lines of pixels a row. The ground is seen where the picture is transparent."""
    ground = palette.base.bgcolor
    behind = (0, 0, 0) if ground is None or ground.triplet is None else tuple(ground.triplet)
    inks: dict[tuple[bytes, bytes], Style] = {}
    rows: list[Row] = []
    stride, nothing = 4 * drawing.columns, b"\0\0\0\0"
    for top in range(0, drawing.lines, 2):
        pieces: list[Piece] = []
        for at in range(top * stride, (top + 1) * stride, 4):
            pair = (drawing.pixels[at : at + 4], drawing.pixels[at + stride : at + stride + 4] or nothing)
            if (ink := inks.get(pair)) is None:
                ink = inks[pair] = Style(color=_color(pair[0], behind), bgcolor=_color(pair[1], behind))
            if pieces and pieces[-1][1] is ink:
                pieces[-1] = (pieces[-1][0] + _HALF, ink)
            else:
                pieces.append((_HALF, ink))
        rows.append(Row(pieces, gutter=drawing.columns))
    return rows


def _color(pixel: bytes, behind: tuple[int, ...]) -> Color:
    shown = pixel[3]
    red, green, blue = (
        (own * shown + ground * (255 - shown)) // 255 for own, ground in zip(pixel, behind, strict=False)
    )
    return Color.from_rgb(red, green, blue)

"""A picture of a result, drawn with half blocks: each cell is two pixels, one above the other.

A thread of its own reads it, once for a width, and the block that shows it looks meanwhile whether it is there. What is
kept is as small as what is seen.
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.color import Color
from rich.style import Style

from console_app.config.plain_files import NotPlain, opened
from console_app.domain.tools import Artifact
from console_app.tui.transcript_view.wording import size
from console_app.tui.widgets.lines import Piece, Row
from console_app.tui.widgets.palette import Palette

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

MOST_ROWS = 20
MOST_DRAWN = 4  # pictures of a result; the others are named
LARGEST_FILE = 40_000_000  # bytes
MOST_PIXELS = 50_000_000  # of one that is decoded: 200 MB
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_HALF = "▀"
_decoding = threading.Lock()  # one at a time: each may take 200 MB


@dataclass(frozen=True, slots=True)
class Drawing:
    """`columns` by `lines` pixels, as bytes of red, green, blue and opacity."""

    columns: int
    lines: int
    pixels: bytes


class PictureView:
    """One picture, as far as it was read."""

    def __init__(self, picture: Artifact) -> None:
        self._picture = picture
        self._room = 0  # the cells that it was read for
        self._read: list[Drawing | str] = []  # what the thread found: pixels, or why there are none
        self._rows: tuple[object, list[Row]] | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether it was asked for, and what came of it not shown yet."""
        return self._room > 0 and self._rows is None

    @property
    def version(self) -> object:
        """Changes when there is something else to show."""
        return self._room, len(self._read)

    def rows(self, width: int, palette: Palette) -> list[Row]:
        """The picture in at most `width` cells and `MOST_ROWS` rows; empty ones in its place until it was read. None
        of it is copied."""
        if width != self._room:
            self._room, self._read, self._rows = width, [], None
            threading.Thread(target=self._fill, args=(width, self._read), name="picture", daemon=True).start()
        if not self._read:
            lines = 1 if self._picture.sides is None else -(-_fitting(self._picture.sides, width)[1] // 2)
            return [_note("reading the picture…", palette), *(_note("", palette) for _ in range(lines - 1))]
        if self._rows is None or self._rows[0] is not palette:
            found = self._read[0]
            drawn = [_note(found, palette)] if isinstance(found, str) else _drawn(found, palette)
            self._rows = (palette, drawn)
        return self._rows[1]

    def _fill(self, width: int, read: list[Drawing | str]) -> None:
        with _decoding:
            if read is self._read:  # else there is another width since: a window that is pulled has a hundred
                read.append(_decoded(self._picture.path, width))


def _note(text: str, palette: Palette) -> Row:
    return Row([(text, palette.muted)], gutter=len(text))


def _fitting(sides: tuple[int, int], width: int) -> tuple[int, int]:
    """The pixels that a picture is drawn with: not more than it has."""
    share = min(width / max(sides[0], 1), 2 * MOST_ROWS / max(sides[1], 1), 1.0)
    return max(round(sides[0] * share), 1), max(round(sides[1] * share), 1)


def _decoded(path: str, width: int) -> Drawing | str:
    """The pixels of a file, or why it can't be drawn."""
    from PIL import Image, ImageOps  # 40 ms, and only for pictures

    try:
        with opened(Path(path)) as (file, state), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large pictures, which are bounded here
            if state.st_size > LARGEST_FILE:
                return f"too large to be drawn here: {size(state.st_size)}"
            with Image.open(file, formats=_FORMATS) as picture:
                if picture.width * picture.height > MOST_PIXELS:
                    return f"too large to be drawn here: {picture.width}x{picture.height}"
                picture.draft("RGB", (4 * width, 8 * MOST_ROWS))  # JPEG is decoded smaller at once
                return _scaled(ImageOps.exif_transpose(picture), width)
    except Image.DecompressionBombError:
        return "too large to be drawn here"
    except NotPlain as error:
        return f"can't be drawn: it is {error.strerror}"
    except FileNotFoundError:
        return "can't be drawn: its file is gone"
    except Exception:  # Pillow raises what its decoders raise
        return "can't be drawn: damaged, or no picture"


def _scaled(picture: Pixels, width: int) -> Drawing:
    if picture.mode.startswith("I"):  # 16 bits of grey, of which a plain conversion keeps the lowest
        grey = picture.convert("I").point(lambda value: value * (1 / 256))  # pyright: ignore[reportUnknownMemberType]
        picture = grey.convert("L")
    columns, lines = _fitting(picture.size, width)
    small = picture.convert("RGBA").resize((columns, lines), reducing_gap=2.0)  # pyright: ignore[reportUnknownMemberType]
    return Drawing(columns, lines, small.tobytes())


def _drawn(drawing: Drawing, palette: Palette) -> list[Row]:
    """Two lines of pixels a row; where the picture is open, the ground is seen."""
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

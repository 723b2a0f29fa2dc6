"""Draw pictures in a terminal that can: kitty and Ghostty by kitty's graphics protocol, others by sixels (`sixels`).

The terminal is asked for its name with the modes (XTVERSION). One that knows cells of text which stand for a picture
(`placeholders`) is asked whether it takes pictures now: others draw them and print such cells, or print the question. A
picture is sent once, in pieces that wait for every frame, and shown by its cells when the terminal has all of it. It is
deleted there when its last user has let go of it, and all are before the terminal is given back. For sixels the
terminal gets nothing before a frame shows them.
"""

from __future__ import annotations

import base64
import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.color import ColorSystem

from console_app.domain import safe_text
from console_app.tui.terminal.answers import ExpectedAnswer
from console_app.tui.terminal.placeholders import INK, LOW_BYTES, cells
from console_app.tui.terminal.sixels import Strips, drawn, strips

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

NAME_QUESTION = "\x1b[>q"
PICTURES_QUESTION = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
_FIRST_KITTY = (0, 28)  # with such cells
_KITTY = re.compile(r"kitty\((\d+)\.(\d+)")
MOST_KEPT = 64_000_000  # bytes of pixels in the terminal; no screen shows as many at once
MOST_PICTURES = 200  # of the 256 that a mark tells apart
MOST_DUE = 8_000_000  # characters that wait to be sent
CHUNK = 4096  # of a picture in one sequence
PIECE = 4  # sequences between two looks at whether a frame waits
_END = "\x1b_Gm=0,q=2;\x1b\\"  # of a picture that is not sent to its end: what comes next would be taken for more of it


def is_shared(environ: Mapping[str, str]) -> bool:
    """Tell whether a multiplexer has the terminal: it paints its own screen with nothing that it doesn't know."""
    return bool(environ.get("TMUX") or environ.get("STY"))


def may_be_asked(environ: Mapping[str, str]) -> bool:
    """Tell whether the terminal may be asked its name: those meant call themselves xterm-something, also over ssh."""
    return environ.get("TERM", "").startswith("xterm") and not is_shared(environ)


def draws_cells(name: str) -> bool:
    """Tell whether a terminal of that name and version can put pictures in place of cells."""
    if (kitty := _KITTY.match(name)) is not None:
        return (int(kitty[1]), int(kitty[2])) >= _FIRST_KITTY
    return name.startswith("ghostty ")


def name_answer() -> ExpectedAnswer:
    """The answer to `NAME_QUESTION`: its only group is the name."""
    whole = re.compile(r"\x1bP>\|([^\x00-\x1f]{0,200})\x1b\\")
    return ExpectedAnswer(whole, re.compile(r"\x1b(?:P(?:>(?:\|[^\x00-\x1f]{0,200}\x1b?)?)?)?\Z"))


def pictures_answer() -> ExpectedAnswer:
    """The answer to `PICTURES_QUESTION`: its only group is OK, or an error."""
    whole = re.compile(r"\x1b_G[^\x00-\x1f;]{0,64}(?:;([^\x00-\x1f]{0,200}))?\x1b\\")
    return ExpectedAnswer(whole, re.compile(r"\x1b(?:_(?:G[^\x00-\x1f]{0,265}\x1b?)?)?\Z"))


@dataclass(eq=False, slots=True)
class _Upload:
    """A picture on its way to the terminal, or there."""

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
        """Has a picture drawn with the frames, as `place` has one sent."""
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
        written, coarse = drawn(frame, self._strips, last_line=last_line, is_read=is_read)
        if not is_read:
            return written, bool(coarse)
        if self._at_rest:
            self._at_rest, self._covered = False, coarse
        return written, not coarse <= self._covered

    def rest(self) -> None:
        """Note that the next frame shows everything: half blocks in it stay."""
        self._at_rest = True

    def _strips(self, number: int) -> Strips | None:
        upload = self._kept.get(number)
        return None if upload is None else upload.strips

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

"""Pictures in a terminal that draws them itself: kitty and Ghostty, by kitty's graphics protocol.

Which terminal it is, is asked with the modes (XTVERSION). One that knows cells of text which stand for a picture
(`placeholders`) is asked whether it takes pictures now: others draw them and print such cells, or print the question.
A picture is sent once, in pieces that wait for every frame, and shown by its cells when the terminal has all of it. It
is deleted there when whoever had it placed has let go of it, and all are before the terminal is given back.
"""

from __future__ import annotations

import base64
import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from console_app.tui.terminal.answers import ExpectedAnswer
from console_app.tui.terminal.placeholders import LOW_BYTES, cells

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


def may_be_asked(environ: Mapping[str, str]) -> bool:
    """Whether the terminal is one that may be asked: those meant call themselves xterm-something, also over ssh. What
    runs inside a multiplexer is on its screen, which it paints with nothing that it doesn't know."""
    return environ.get("TERM", "").startswith("xterm") and not (environ.get("TMUX") or environ.get("STY"))


def draws_cells(name: str) -> bool:
    """Whether a terminal of that name and version puts pictures in the place of cells."""
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


@dataclass(eq=False)
class Placed:
    """A picture in the terminal, for as long as this is kept."""

    columns: int
    rows: int
    _upload: _Upload

    @property
    def is_shown(self) -> bool:
        """Whether the terminal has all of it: its cells show it then."""
        return not self._upload.pieces and not self._upload.gone

    @property
    def is_gone(self) -> bool:
        """Whether the terminal was given back since, or the picture made room for others: it has to be placed again."""
        return self._upload.gone

    def cells(self, row: int) -> str:
        """What stands in a row of the screen in place of a row of the picture."""
        return cells(self._upload.number, row, self.columns)


class Canvas:
    """The pictures of one terminal. The event loop, threads that read pictures and the one that writes use it."""

    def __init__(self, wake: Callable[[], None], cell: Callable[[], tuple[int, int]]) -> None:
        """`wake` has the writer ask for what is due; `cell` gives the pixels of a cell, side by side and in height."""
        self._wake = wake
        self.cell = cell
        self.is_open = False  # pictures can be placed
        self._low = 0
        self._lock = threading.Lock()  # of all but the two queues' ends, which a picture that is let go of reaches
        self._kept: dict[int, _Upload] = {}  # by number, oldest first
        self._due: deque[_Upload] = deque()
        self._left: deque[_Upload] = deque()  # nobody shows them any more
        self._last = 0

    def open(self, colours: str | None) -> None:
        """The terminal takes pictures; `colours` is what is written in, as Rich names it."""
        self._low = LOW_BYTES.get(colours or "", 0)
        self.is_open = self._low > 0

    def place(self, png: bytes, pixels: int, columns: int, rows: int) -> Placed | None:
        """Has a picture of so many pixels sent; None where that can't be now. Whoever keeps what it gives keeps it."""
        size, due = 4 * pixels, -(-len(png) // 3) * 4
        with self._lock:
            waiting = sum(one.waiting for one in self._due)
            if not self.is_open or size > MOST_KEPT or waiting + due > MOST_DUE or len(self._kept) > MOST_PICTURES:
                return None
            kept = [one for one in self._kept.values() if not one.gone]
            while kept and (sum(one.size for one in kept) + size > MOST_KEPT or len(kept) >= MOST_PICTURES):
                self._let_go(kept.pop(0))
            number = next(one % 256 for one in range(self._last + 1, self._last + 257) if one % 256 not in self._kept)
            self._last = number
            upload = _Upload(number, size, deque(_pieces(png, self._number(number), columns, rows)), due)
            self._kept[number] = upload
            self._due.append(upload)
        placed = Placed(columns, rows, upload)
        weakref.finalize(placed, self._let_go, upload).atexit = False
        self._wake()
        return placed

    @property
    def pending(self) -> bool:
        """Whether there is something to be written when nothing else is."""
        return bool(self._due or self._left)

    def take(self) -> str:
        """What is to be written next: a piece of a picture, or what ends or deletes one."""
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

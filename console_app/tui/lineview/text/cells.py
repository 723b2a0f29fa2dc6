"""Measure the cells that characters take, for megabytes at once: read off their bytes, a whole text an operation.

The table is Rich's (`rich.cells`), so that the count here is the same as the measure of a row later.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from rich.cells import get_character_cell_size

from console_app.domain import safe_text
from console_app.tui.lineview.text.rich_internals import cell_table

_JOINED = re.compile("\u200d(?<=[^\n]\u200d)[^\n]")  # a joiner and what it joins take no cells of their own
_SELECTOR = "\ufe0f"  # makes some signs before it wide
_MEETING = re.compile(b"\5(\0+)\4")  # such a sign (5) and, behind what takes no cell, the selector (4)
_LONG = 100_000  # characters of a text of which the cells are kept, until those of another are asked for
_ASCII = bytes(10 if code == 10 else 0 if code < 32 or code == 127 else 1 for code in range(256))
_SECOND = bytes(3 if code == 2 else 0 for code in range(256))  # what comes behind the first half of a wide character
_SETTLED = bytes.maketrans(b"\4\5", b"\0\1")


def widths(text: str) -> bytes:
    """The cells of each character: 0, 1 or 2; of a newline 10, which is itself."""
    plain = safe_text.ascii_length(text)
    if plain == len(text):
        return _plain_widths(text)
    plain = max(plain - 1, 0)  # what is behind a sign may make it another
    return _plain_widths(text[:plain]) + (_widths_of if len(text) < _LONG else _last_widths)(text[plain:])


def _plain_widths(text: str) -> bytes:
    return text.encode("ascii").translate(_ASCII)


def _widths_of(text: str) -> bytes:
    if "\u200d" in text:
        text = _JOINED.sub("\u0300\u0300", text)
    raw = text.encode("utf-16-le", "surrogatepass")
    if len(raw) == 2 * len(text):
        found = _in_plane(0, raw[::2], raw[1::2])
    else:
        raw = text.encode("utf-32-le", "surrogatepass")
        low, high, planes = raw[::4], raw[1::4], raw[2::4]
        found = 0
        for plane in range(17):
            if plane in planes:
                found |= _in_plane(plane, low, high) & _number(planes.translate(_only(plane)))
    cells = found.to_bytes(len(text), "little")
    if _SELECTOR in text:
        cells = cells.replace(b"\5\4", b"\2\0")
        cells = _MEETING.sub(lambda found: b"\2" + found[1] + b"\0", cells) if b"\0\4" in cells else cells
    return cells.translate(_SETTLED)


_last_widths = lru_cache(maxsize=1)(_widths_of)


def cells_of(text: str) -> list[bytes]:
    """The cells of each line: 1 for a character of one, 2 and 3 for the halves of one of two."""
    found = widths(text)
    halves = bytearray(2 * len(found))
    halves[::2], halves[1::2] = found, found.translate(_SECOND)
    return bytes(halves.translate(None, b"\0")).split(b"\n")


def rows_of(cells: bytes, width: int) -> int:
    """Count the rows of `width` cells that a line is cut into. No row ends within a character."""
    if width < 2:
        return max(len(cells) - cells.count(3), 1)
    rows, at = 1, width
    while at < len(cells):
        at += width - (cells[at] == 3)
        rows += 1
    return rows


def _in_plane(plane: int, low: bytes, high: bytes) -> int:
    """The cells of characters of a plane by the bytes of their codes, as one number."""
    whole, mixed = _pages()[plane]
    found = _number(high.translate(whole))
    for page in mixed:
        if page in high:
            found ^= _number(high.translate(_only(page))) & _number(low.translate(_differences(plane << 8 | page)))
    return found


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


@cache
def _pages() -> list[tuple[bytes, list[int]]]:
    """For each plane, return the cells of all characters of a page of 256, and the pages whose characters differ."""
    whole = [bytearray(b"\1" * 256) for _ in range(17)]
    mixed = [set[int]() for _ in whole]
    table = cell_table()
    for sign in ("\n", _SELECTOR, *table.narrow_to_wide):
        mixed[ord(sign) >> 16].add(ord(sign) >> 8 & 255)
    for start, end, cells in table.widths:
        for page in range(start >> 8, (end >> 8) + 1):
            if start <= page << 8 and end >= page << 8 | 255:
                whole[page >> 8][page & 255] = cells
            else:
                mixed[page >> 8].add(page & 255)
    return [(bytes(cells), sorted(pages)) for cells, pages in zip(whole, mixed, strict=True)]


@cache
def _differences(page: int) -> bytes:
    """Return a byte for each character of a page: its cells XOR one, so that 0 stands for the usual single cell."""
    known = {"\n": 10, _SELECTOR: 4, **dict.fromkeys(cell_table().narrow_to_wide, 5)}
    signs = [chr(page << 8 | low) for low in range(256)]
    return bytes(known.get(sign, get_character_cell_size(sign)) ^ 1 for sign in signs)


@cache
def _only(value: int) -> bytes:
    return bytes(255 if one == value else 0 for one in range(256))

"""Tell a picture by its first bytes, read its size from its header, and work out the size in which a model is shown
it."""

from __future__ import annotations

import struct

SENT = frozenset({"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"})  # types that APIs take
LARGEST_FILE = 40_000_000  # bytes that are read to be made smaller
MOST_PIXELS = 100_000_000  # of one that is decoded: 400 MB
WIDEST = 2_000  # pixels of the longest side: with many pictures Anthropic refuses more
_KINDS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))
_NO_SIZE = {0xC4, 0xC8, 0xCC}  # JPEG markers among the frame headers that are none
_ORIENTATION = 0x0112  # of Exif; from 5 on the picture lies on its side
_MOST_TAGS = 200


def picture_type(content: bytes) -> str:
    """Return the type of a picture that can be sent, by its first bytes; "" for anything else."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for begin, mime in _KINDS if content.startswith(begin)), "")


def picture_size(content: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF, JPEG or WebP, as it is looked at; None where the header doesn't say."""
    try:
        if content.startswith(b"\x89PNG"):
            return struct.unpack_from(">II", content, 16)
        if content.startswith(b"GIF8"):
            return struct.unpack_from("<HH", content, 6)
        return _jpeg(content) if content.startswith(b"\xff\xd8") else _webp(content)
    except (struct.error, IndexError):
        return None


def scaled(sides: tuple[int, int]) -> tuple[int, int]:
    longest = max(sides)
    if longest <= WIDEST:
        return sides
    width, height = (max(round(side * WIDEST / longest), 1) for side in sides)
    return width, height


def sides_sent(sides: tuple[int, int] | None) -> str:
    """`4000x3000 pixels, sent as 2000x1500` of a picture that is made smaller; "" of any other."""
    if sides is None or scaled(sides) == sides:
        return ""
    return "{}x{} pixels, sent as {}x{}".format(*sides, *scaled(sides))


def _jpeg(content: bytes) -> tuple[int, int] | None:
    at, turned = 2, False
    while at < len(content):
        if content[at] != 0xFF:
            return None
        marker = content[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in _NO_SIZE:
            height, width = struct.unpack_from(">HH", content, at + 5)
            return (height, width) if turned else (width, height)
        else:
            length = struct.unpack_from(">H", content, at + 2)[0]
            if marker == 0xE1 and content[at + 4 : at + 10] == b"Exif\0\0":
                turned = _is_turned(content[at + 10 : at + 2 + length])
            at += 2 + length
    return None


def _is_turned(exif: bytes) -> bool:
    try:
        order = "<" if exif.startswith(b"II") else ">"
        first = struct.unpack_from(f"{order}I", exif, 4)[0]
        for number in range(min(struct.unpack_from(f"{order}H", exif, first)[0], _MOST_TAGS)):
            tag, _, _, value = struct.unpack_from(f"{order}HHIH", exif, first + 2 + 12 * number)
            if tag == _ORIENTATION:
                return 5 <= value <= 8
    except struct.error:
        pass
    return False


def _webp(content: bytes) -> tuple[int, int] | None:
    match content[12:16]:
        case b"VP8X":
            return (int.from_bytes(content[24:27], "little") + 1, int.from_bytes(content[27:30], "little") + 1)
        case b"VP8L":
            bits = int.from_bytes(content[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", content, 26)
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return None

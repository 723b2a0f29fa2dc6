"""How large a picture is, by its header."""

from __future__ import annotations

import struct

_NO_SIZE = {0xC4, 0xC8, 0xCC}  # JPEG markers among the frame headers that are none


def picture_size(content: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF, JPEG or WebP; None where the header doesn't say."""
    try:
        if content.startswith(b"\x89PNG"):
            return struct.unpack_from(">II", content, 16)
        if content.startswith(b"GIF8"):
            return struct.unpack_from("<HH", content, 6)
        return _jpeg(content) if content.startswith(b"\xff\xd8") else _webp(content)
    except (struct.error, IndexError):
        return None


def _jpeg(content: bytes) -> tuple[int, int] | None:
    at = 2
    while at < len(content):
        if content[at] != 0xFF:
            return None
        marker = content[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in _NO_SIZE:
            height, width = struct.unpack_from(">HH", content, at + 5)
            return width, height
        else:
            at += 2 + struct.unpack_from(">H", content, at + 2)[0]
    return None


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

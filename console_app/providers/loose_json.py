"""Reads JSON that a foreign server wrote: any field may be missing, null or of another type, and none of it may raise.

A lone half of a surrogate pair, which some servers send when they cut an escaped emoji between two pieces, is kept
until its other half comes (`SurrogateMender`), so that no text leaves this floor that can't be stored or sent again.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

_HALF = re.compile("[\ud800-\udfff]")


def parse_mended(data: bytes) -> Any:
    """The JSON value in `data`, where a strict parser gave up: bytes that aren't UTF-8 become U+FFFD, and escaped
    halves of surrogate pairs are kept for `SurrogateMender`. Raises ValueError when it isn't JSON."""
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def obj(value: Any) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def arr(value: Any) -> list[Any]:
    """`value` if it is an array, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text(value: Any) -> str:
    """`value` if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """`value` if it is a number of tokens, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value < 0:
        return None
    return int(min(value, 2**53))


class SurrogateMender:
    """Joins surrogate halves over the pieces of one text; a half that stays alone becomes U+FFFD."""

    def __init__(self) -> None:
        self._high = ""

    def mend(self, piece: str) -> str:
        """`piece` with whole characters only; a high half at its end is held for the next piece."""
        if not self._high and (piece.isascii() or _HALF.search(piece) is None):
            return piece
        piece = self._high + piece
        self._high = ""
        if "\ud800" <= piece[-1:] <= "\udbff":
            piece, self._high = piece[:-1], piece[-1]
        return piece.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

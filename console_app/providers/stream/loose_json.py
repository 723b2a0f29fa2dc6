"""Reads JSON that a foreign server wrote: any field may be missing, null or of another type, and none of it may raise.

No text leaves here that can't be stored or sent again.
"""

from __future__ import annotations

import json
from typing import Any

from console_app.domain import safe_text

_NEVER_CUT = frozenset(("id", "item_id", "call_id", "name"))
_ARGUMENTS = frozenset(("args", "arguments", "input"))


def parse_mended(data: bytes, halves: HalfCharacters) -> Any:
    """Return the JSON value in `data`, where a strict parser gave up: bytes that aren't UTF-8 become U+FFFD, and halves
    of surrogate pairs are joined or replaced. Raises ValueError when it isn't JSON."""
    try:
        return halves.mend(json.loads(data.decode("utf-8", "replace")))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def obj(value: Any) -> dict[str, Any]:
    """Return `value` if it is an object, else an empty one."""
    return value if value.__class__ is dict else {}  # of every field of every event: `cast` would be one more call


def arr(value: Any) -> list[Any]:
    """Return `value` if it is an array, else an empty one."""
    return value if value.__class__ is list else []


def text(value: Any) -> str:
    """Return `value` if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """Return `value` if it is a number of tokens, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value < 0:
        return None
    return int(min(value, 2**53))


def may_hold_arguments(name: str, value: Any, *, objects: bool) -> bool:
    """Tell whether the field `name` may hold arguments of a call: in a text with a brace, or as an object under a name
    that tells of arguments; with `objects`, as any object."""
    left: list[tuple[str, Any]] = [(name, value)]
    while left:
        name, one = left.pop()
        if (isinstance(one, str) and "{" in one) or (obj(one) and (objects or name in _ARGUMENTS)):
            return True
        left += obj(one).items() or [(name, each) for each in arr(one)]
    return False


def object_problem(text: str) -> str:
    """Say why `text` is not the JSON of one object, as a sentence; "" when it is, or holds nothing."""
    if not text.strip():
        return ""
    try:
        value: Any = json.loads(text, parse_constant=safe_text.no_constant)
    except json.JSONDecodeError as error:
        return f"arguments are not valid JSON: {error.msg} at character {error.pos + 1:,}"
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        return f"arguments are not valid JSON: {reason}"
    if value is None or isinstance(value, dict):
        return ""
    kind = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}[type(value)]
    return f"arguments are {kind}, not an object"


class HalfCharacters:
    """Makes the text in the events of one answer valid, once, where it comes in.

    Some servers cut an escaped emoji between two events, half a surrogate pair in each. The first half is held until
    the same field of the same item goes on; a half that stays alone becomes U+FFFD.
    """

    def __init__(self) -> None:
        self.held: dict[tuple[Any, ...], str] = {}
        self.replaced = False  # a half stayed alone

    def mend(self, value: Any, at: tuple[Any, ...] = ()) -> Any:
        """Return `value` with valid text only. `at` is where in its event it stands."""
        if isinstance(value, str):
            value = self.held.pop(at, "") + value
            if "\ud800" <= value[-1:] <= "\udbff" and (not at or at[-1] not in _NEVER_CUT):
                self.held[at], value = value[-1], value[:-1]
            mended = safe_text.encodable(value)
            self.replaced = self.replaced or mended.count("\ufffd") > value.count("\ufffd")
            return mended
        if isinstance(value, list):
            return [self.mend(item, (*at, number)) for number, item in enumerate(arr(value))]
        if isinstance(value, dict):
            item = obj(value)
            place = (item.get("index"), item.get("output_index"), None if at else item.get("type"))
            at = (*at, *(label for label in place if isinstance(label, int | str)))
            return {safe_text.encodable(name): self.mend(field, (*at, name)) for name, field in item.items()}
        return value

"""JSON values as text for a terminal (ASCII without DEL, no NaN or infinity), and foreign ones read as objects."""

from __future__ import annotations

import json
import math
from typing import Any, cast


def json_line(value: Any) -> str:
    """`value` as one line of JSON. Every control, C1, bidi or lone surrogate character in it is escaped."""
    try:
        text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("\x7f", "\\u007f")


def as_object(value: Any) -> dict[str, Any]:
    """Return a JSON value that should be an object; an empty object where it is none."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in cast("list[Any]", value)]
    return value

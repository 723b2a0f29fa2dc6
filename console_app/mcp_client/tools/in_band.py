"""A failure that a server writes into a result which the protocol calls a success: what counts as one.

`is_error: true` at the top of the structured content, or `meta_data.is_error: true` there (as servers written for
Atlas say it); where there is no structured content, of a text that is one JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

LONGEST_TEXT: Final = 256 * 1024  # characters of a text that is read as JSON
_WORDS: Final = ("error", "error_message", "message", "detail", "reason")


def in_band_error(structured: Any, text: str) -> str | None:
    """The server's words for a failure, "" where it has none, or None where nothing says that it is one."""
    found = structured if structured is not None else _object(text)
    if not isinstance(found, dict):
        return None
    fields = cast("dict[str, Any]", found)
    if structured is not None and fields.keys() == {"result"} and isinstance(fields["result"], dict):
        fields = cast("dict[str, Any]", fields["result"])  # as the Python SDK wraps what isn't an object of its own
    about = _mapping(fields.get("meta_data"))
    if fields.get("is_error") is not True and about.get("is_error") is not True:
        return None
    results: Any = fields.get("results")
    places = (_mapping(results), fields, about)
    said = next((words for place in places if (words := _said(place))), "")
    return said or (results if isinstance(results, str) else "")


def _said(place: Mapping[str, Any]) -> str:
    for name in _WORDS:
        value: Any = place.get(name)
        if isinstance(value, dict):
            value = cast("dict[str, Any]", value).get("message")
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _object(text: str) -> Any:
    if not text.lstrip().startswith("{") or "is_error" not in text or len(text) > LONGEST_TEXT:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

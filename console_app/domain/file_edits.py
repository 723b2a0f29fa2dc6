"""What a call's arguments would change in a file, by the usual names: replacements, or a whole text for a path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

_PATHS = ("path", "file_path", "filepath", "file", "filename", "file_name")
_WHOLE = ("content", "contents", "text", "file_text")
_WRITES = re.compile(r"(?:^|[^a-z])(?:over)?(?:write|create|save|replace)", re.IGNORECASE)
_ADDS = re.compile(r"append|insert|prepend|patch", re.IGNORECASE)
_PAIRS = (
    ("old_text", "new_text"),
    ("oldText", "newText"),
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("old", "new"),
)


def path_of(arguments: Mapping[str, Any]) -> str:
    """The path that the arguments name; "" where they name none."""
    return next((arguments[name] for name in _PATHS if isinstance(arguments.get(name), str) and arguments[name]), "")


def whole_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """The name of the argument that holds what a file becomes; "" where the tool's name doesn't say that it writes."""
    writes = _WRITES.search(tool) is not None and _ADDS.search(tool) is None
    return next((one for one in _WHOLE if isinstance(arguments.get(one), str)), "") if writes else ""


def edits_of(arguments: Mapping[str, Any]) -> tuple[list[tuple[str, str]], frozenset[str]]:
    """The replacements that the arguments ask for, and the names of those that hold them."""
    if (pair := _pair(arguments)) is not None:
        return [(arguments[pair[0]], arguments[pair[1]])], frozenset(pair)
    listed = arguments.get("edits")
    if not isinstance(listed, list) or not listed:
        return [], frozenset()
    found: list[tuple[str, str]] = []
    for one in cast("list[object]", listed):
        edit = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        if (pair := _pair(edit)) is None or set(edit) - set(pair):
            return [], frozenset()  # something of it would not be shown
        found.append((edit[pair[0]], edit[pair[1]]))
    return found, frozenset({"edits"})


def _pair(edit: Mapping[str, Any]) -> tuple[str, str] | None:
    return next((pair for pair in _PAIRS if all(isinstance(edit.get(name), str) for name in pair)), None)

"""What a call's arguments would change in a file, by the usual names: replacements, or a whole text for a path."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from console_app.domain.amounts import size

LARGEST = 2 * 1024 * 1024  # bytes of a file, and characters of what it becomes, that are compared
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


class NotComparedError(Exception):
    """There is something of this name, and why it is not compared."""


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


def text_of(path: Path) -> str | None:
    """The text of a plain file of a size that is read at once; None where there is none of that name. Not for the loop.
    Raises NotComparedError for a file that is none of that kind, OSError or ValueError for what is no plain file."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError("it is no plain file")
        # A pipe that took its place in between must not be waited for.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            data, whole = file.read(LARGEST + 1), os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return None
    except PermissionError:
        raise NotComparedError("the file can't be read here") from None
    if len(data) > LARGEST:
        raise NotComparedError(f"the file has {size(whole)}")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise NotComparedError(f"the file is no text ({size(whole)})") from None


def _pair(edit: Mapping[str, Any]) -> tuple[str, str] | None:
    return next((pair for pair in _PAIRS if all(isinstance(edit.get(name), str) for name in pair)), None)

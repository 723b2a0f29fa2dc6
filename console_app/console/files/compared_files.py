"""Reads a file as it is compared with what a call would make of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from console_app.domain import amounts

LARGEST = 2 * 1024 * 1024  # bytes of a file, and characters of what it becomes, that are compared


class NotComparedError(Exception):
    """There is something of this name, and why it is not compared."""


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
        raise NotComparedError(f"the file has {amounts.size(whole)}")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise NotComparedError(f"the file is no text ({amounts.size(whole)})") from None

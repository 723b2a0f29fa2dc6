"""Recognize files that are dropped on the terminal, or copied in a file manager: their paths arrive as a paste.

Terminals write such a path plain, in quotes, with backslashes before signs that a shell would read, or as a file URL.
Several stand in one line with blanks between, or in a line each. A paste of nothing but paths that are there attaches
these files.
"""

from __future__ import annotations

import os
import shlex
from urllib.parse import unquote, urlsplit

from console_app.console import files

LONGEST = 8_000  # characters of a paste that may be paths
MOST = 20  # files
_BEGINS = ("/", "~/", "'/", '"/', "file://")


def looks_dropped(text: str) -> bool:
    """Tell whether a paste may be paths, so that a look at the disk is worth it."""
    return len(text) <= LONGEST and text.strip().startswith(_BEGINS)


def mentions_of(text: str) -> str:
    """Return mentions that attach the files of the paths; "" where the paste is anything else. This asks the disk."""
    text = text.strip()
    for paths in _readings(text):
        if 0 < len(paths) <= MOST and all(map(_is_there, paths)):
            return "".join(f"@{files.written_path(path)} " for path in paths)
    return ""


def _readings(text: str) -> list[list[str]]:
    readings = [[_plain(line) for line in text.splitlines() if line.strip()]]
    try:
        readings.append([_plain(word) for word in shlex.split(text)])
    except ValueError:
        pass  # a quote that nobody closes
    return readings


def _plain(written: str) -> str:
    written = written.strip()
    if written.startswith("file://"):
        return unquote(urlsplit(written).path)
    return os.path.expanduser(written)


def _is_there(path: str) -> bool:
    try:
        return os.path.isabs(path) and os.path.exists(path)
    except ValueError:
        return False

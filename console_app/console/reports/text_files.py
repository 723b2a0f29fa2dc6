"""Reads the end of a file that grows: a log of the program or of a server."""

from __future__ import annotations

from pathlib import Path

LOG_TAIL = 1_000_000  # bytes that are shown


def tail(path: Path) -> str:
    """Return the end of a file, from a whole line on."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - LOG_TAIL, 0))
            data = file.read()
    except OSError:
        return f"The log is empty; it will be {path}."
    text = data.decode("utf-8", errors="replace")
    return text if size <= LOG_TAIL else text.partition("\n")[2]

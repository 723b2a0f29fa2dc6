"""Files on their way to the browser: each under an address that nobody can guess and that works once, for a minute."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LASTS: Final = 60.0  # seconds
MOST: Final = 100  # waiting at a time; the oldest goes


@dataclass(frozen=True, slots=True)
class _Waiting:
    path: Path
    until: float


class Downloads:
    """What waits to be fetched. `now` is in seconds of a steady clock."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}

    def offer(self, path: Path, now: float) -> str:
        """The key under which a file can be fetched."""
        self._waiting = {key: one for key, one in self._waiting.items() if one.until > now}
        if len(self._waiting) >= MOST:
            del self._waiting[next(iter(self._waiting))]
        key = secrets.token_urlsafe(24)
        self._waiting[key] = _Waiting(path, now + LASTS)
        return key

    def take(self, key: str, now: float) -> Path | None:
        """The file, once; None for a key that is unknown, used or too old, and where the file is gone."""
        found = self._waiting.pop(key, None)
        return found.path if found is not None and found.until > now and found.path.is_file() else None

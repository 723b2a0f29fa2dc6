"""What was read of a file and what was made of it: a file that changed in between is refused, and a change can go back.

The bytes that a change replaces are kept by their hash, in a folder of this user alone, for a month.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from console_app.servers.parts.folders import FolderEntry
from console_app.servers.parts.server import ToolFailedError

LARGEST: Final = 10_000_000  # bytes of a file that is followed
_LARGEST_COMPARED: Final = 1_000_000
_MOST_DIFF: Final = 40  # lines
_DAYS: Final = 30


def hash_of(data: bytes) -> str:
    """Return the name of these bytes."""
    return hashlib.sha256(data).hexdigest()


def kept_folder() -> Path:
    """Return the folder of bytes that were replaced."""
    if home := os.environ.get("FANOUT_HOME"):
        return Path(home).expanduser().absolute() / "data" / "replaced"
    import platformdirs  # 10 ms

    return platformdirs.user_data_path("fanout", appauthor=False) / "replaced"


@dataclass(slots=True)
class FileJournal:
    """The files as they were last read or written here, by their real paths."""

    _seen: dict[Path, tuple[str, bytes]] = field(default_factory=dict[Path, tuple[str, bytes]])
    _swept: bool = False

    def read(self, place: FolderEntry) -> bytes | None:
        """Take note of a file as it is, and return its bytes; None where it is too large, or not there."""
        try:
            with place.file() as file:
                data = file.read(LARGEST + 1)
        except ToolFailedError:
            self._seen.pop(place.path, None)
            return None
        if len(data) > LARGEST:
            self._seen.pop(place.path, None)
            return None
        self.note(place.path, data)
        return data

    def note(self, path: Path, data: bytes | None) -> None:
        """Take note of what a file holds now; None where it is gone."""
        if data is None:
            self._seen.pop(path, None)
        else:
            self._seen[path] = (hash_of(data), data if len(data) <= _LARGEST_COMPARED else b"")

    def check(self, place: FolderEntry) -> bytes | None:
        """Return the bytes of a file before a change. Raises ToolFailedError where it is another than was read."""
        seen = self._seen.get(place.path)
        data = self.read(place)
        if seen is None or (data is not None and seen[0] == hash_of(data)):
            return data
        if data is None:
            raise ToolFailedError(f"{place.written} is gone since it was read.")
        old, new = (one.decode("utf-8", "replace").splitlines() for one in (seen[1], data))
        lines = list(difflib.unified_diff(old, new, "as it was read", "as it is now", n=1, lineterm=""))
        told = "\n".join(lines[:_MOST_DIFF]) if seen[1] else "[it is too large to be compared]"
        raise ToolFailedError(f"{place.written} was changed since it was read. Nothing was written.\n{told}")

    def changed(self, path: Path, before: bytes | None, after: bytes | None) -> Mapping[str, Any]:
        """Keep what a change replaced, and return the change as data: hashes of both, None for no file."""
        self.note(path, after)
        if before is not None:
            self._keep(before)
        names = {name: None if data is None else hash_of(data) for name, data in (("before", before), ("after", after))}
        return {"path": str(path), **names}

    def _keep(self, data: bytes) -> None:
        with suppress(OSError):  # a change that can't go back is still a change
            folder = kept_folder()
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self._swept:
                self._swept = True
                for old in folder.iterdir():
                    if old.stat().st_mtime < time.time() - _DAYS * 86_400:
                        old.unlink()
            target = folder / hash_of(data)
            descriptor = os.open(
                f"{target}.{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600
            )
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(f"{target}.{os.getpid()}", target)

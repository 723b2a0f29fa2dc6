"""Gives a session one writer: a file locked with flock, which the system lets go of however the console dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from console_app.config.files import disk


class SessionLock:
    """The lock of one session, a file in `folder`. It can be taken and let go of any number of times."""

    def __init__(self, folder: Path, session_id: str) -> None:
        self._path = folder / f"{session_id}.lock"
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Take the lock; False when another console holds it.

        Where no lock can be made (a read-only disk), nothing can be written either, and it counts as taken.
        """
        if self._descriptor is not None:
            return True
        try:
            disk.private_folder(self._path.parent)
            while True:
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, disk.PRIVATE_FILE)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    os.close(descriptor)
                    return False
                if self._is_ours(descriptor):
                    self._descriptor = descriptor
                    return True
                os.close(descriptor)  # its holder removed the file between our opening and locking it
        except OSError:
            return True

    def let_go(self, *, keep: bool = False) -> None:
        """Let go of the lock and remove the file, unless that is to stay for the next one who takes it."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        try:
            if not keep:  # while it is held, so that nobody can lock a file that is about to go
                self._path.unlink(missing_ok=True)
        except OSError:
            pass  # an empty file stays behind; it locks nothing
        os.close(descriptor)

    def _is_ours(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(descriptor))
        except FileNotFoundError:
            return False

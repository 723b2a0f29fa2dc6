"""Opens only what can be read without waiting: regular files. A pipe or a device could hold a thread up for ever.

A checkout can bring both, as links to `/dev/zero` or a terminal, under names that are read at the start.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a folder"),
)

MOST_BYTES = 2_000_000  # of a file of configuration


class NotPlain(OSError):
    """What is there is no regular file."""


def kind_of(mode: int) -> str:
    """What a mode that is no regular file's stands for."""
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), "no file")


@contextmanager
def opened(path: Path) -> Generator[tuple[BinaryIO, os.stat_result]]:
    """A regular file, for reading, with its state. Raises NotPlain and OSError."""
    if not stat.S_ISREG(mode := os.stat(path).st_mode):
        raise NotPlain(0, kind_of(mode))  # opening alone may do something to a device
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):  # another one since
            raise NotPlain(0, kind_of(found.st_mode))
        yield file, found


def contents(path: Path, *, most: int = MOST_BYTES, piped: bool = False) -> bytes:
    """All bytes of a regular file; `piped`: of a pipe too, as a shell makes one for what you name (`<(...)`).

    Raises NotPlain, and OSError, also for a file of more than `most` bytes.
    """
    if piped and not path.is_file():
        with open(path, "rb") as file:
            data = file.read(most + 1)
    else:
        with opened(path) as (file, _):
            data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    return data

"""Reads and writes files: reading waits for nothing, what is written is private, and a damaged record is set aside.

Only regular files are opened, since a pipe or a device could hold a thread up for ever. A checkout can bring both, as
links to `/dev/zero` or a terminal, under names that are read at the start.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from console_app.domain import ConfigError, safe_text

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
MOST_RECORD = 50_000_000  # bytes of a record, which Fanout itself wrote
MOST_TEXT = 2_000_000  # of a file of configuration
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a folder"),
)

log = logging.getLogger(__name__)


class NotPlain(OSError):
    """The path leads to a pipe, a device or a folder, and to no regular file."""


def _kind_of(mode: int) -> str:
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), "no file")


@contextmanager
def opened(path: Path) -> Generator[tuple[BinaryIO, os.stat_result]]:
    """Open a regular file for reading, and give it with its state. Raises NotPlain and OSError."""
    if not stat.S_ISREG(mode := os.stat(path).st_mode):
        raise NotPlain(0, _kind_of(mode))  # opening alone may do something to a device
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):  # another one since
            raise NotPlain(0, _kind_of(found.st_mode))
        yield file, found


def nothing_at(path: Path) -> bool:
    """Tell whether no file is there. What can't be looked at is there, and reading it says why."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def contents(path: Path, *, most: int = MOST_TEXT, piped: bool = False) -> bytes:
    """Return all bytes of a regular file; with `piped` of a pipe too, as a shell makes one for `<(...)`.

    Raises NotPlain and OSError, the latter also for a file of more than `most` bytes.
    """
    if piped and not path.is_file():
        with open(path, "rb") as file:
            data = file.read(most + 1)
    else:
        with opened(path) as (file, _):
            data = file.read(most + 1) or b""  # None of some of the kernel's own, which look like regular ones
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    return data


def private_folder(folder: Path) -> None:
    """Create `folder`, and every folder that is missing above it, for this user alone. Raises OSError."""
    if not folder.parent.exists():
        private_folder(folder.parent)  # mkdir's own `parents` would leave these to the umask
    folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)


def write_private(path: Path, text: str) -> None:
    """Replace the file at `path` in one step, readable by this user alone. Raises ConfigError."""
    try:
        private_folder(path.parent)
    except OSError as error:
        why = f"can't create the folder {path.parent}: {error.strerror or error}"
        raise ConfigError(why, "Set FANOUT_HOME to a folder you can write.") from None
    try:
        replace_private(path, text.encode())
    except OSError as error:
        raise ConfigError(f"can't write {path}: {error.strerror or error}") from None


def replace_private(path: Path, data: bytes) -> None:
    """Replace a file as `write_private` does, in a folder that is there. Raises OSError."""
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE), "wb") as file:
            file.write(data)
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def read_text(path: Path, *, most: int = MOST_TEXT, piped: bool = False) -> str:
    """Return the text of a file that `contents` can read. A ConfigError names the file, and the byte that isn't
    UTF-8."""
    try:
        return contents(path, most=most, piped=piped).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8", "Save the file as UTF-8.") from None
    except NotPlain as error:
        raise ConfigError(f"can't read {path}: it is {error.strerror} and no file") from None
    except OSError as error:
        raise ConfigError(f"can't read {path}: {error.strerror or error}") from None


def object_at(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, {} without one, which is worth less than the next that is written there."""
    try:
        return safe_text.object_in(read_text(path, most=MOST_RECORD))
    except ConfigError:
        return {}


def read_record(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, {} without one. A file that holds none is logged and moved to NAME.damaged."""
    if not path.exists():
        return {}
    try:
        found: Any = json.loads(read_text(path, most=MOST_RECORD))
        if not isinstance(found, dict):
            raise ValueError("it has to be one JSON object")
    except (ConfigError, ValueError, RecursionError) as error:
        log.warning("%s can't be read and is set aside: %s", path, error)
        try:
            path.replace(path.with_name(path.name + ".damaged"))
        except OSError as failure:
            log.warning("%s can't be set aside: %s", path, failure)
        return {}
    return cast("dict[str, Any]", found)


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record as `write_private` does, in ASCII, since a path in it may hold any bytes. Raises ConfigError."""
    write_private(path, json.dumps(record, indent=1) + "\n")


def keep_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record that can be done without: where it can't be written, a line in the log says so."""
    try:
        write_record(path, record)
    except ConfigError as error:
        log.warning("%s", error.line)


def texts(record: Mapping[str, Any]) -> dict[str, str]:
    return {key: value for key, value in record.items() if isinstance(value, str)}

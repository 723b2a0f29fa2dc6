"""Writes files in one step: a reader sees the old text or the new, and a failure leaves the old one."""

from __future__ import annotations

import difflib
import errno
import os
import secrets
import stat
from dataclasses import dataclass
from typing import Final

from console_app.servers.parts.file_reading import is_binary
from console_app.servers.parts.folders import FolderEntry
from console_app.servers.parts.server import ToolFailedError, counted

LARGEST_EDIT: Final = 10_000_000  # bytes of a file that can be edited
MOST_DIFF_LINES: Final = 60


class EditError(ValueError):
    """The reason why a replacement was not made: one sentence."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The marks by which a file is still the one that was read."""

    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """Return the stamp of a file with this status."""
        return cls(status.st_ino, status.st_size, status.st_mtime_ns)


def replaced(text: str, old: str, new: str, *, every: bool = False) -> tuple[str, int]:
    """Return `text` with `old` replaced by `new`, and how often. `old` must be there once, unless `every` is set."""
    if not old:
        raise EditError("`old_text` is empty: say which text to replace.")
    if old == new:
        raise EditError("`old_text` and `new_text` are the same.")
    first = text.find(old)
    if first < 0:
        raise EditError("`old_text` is not in the file; it must match exactly, spaces and line ends included.")
    # Overlapping places count: either could be the one that was meant.
    if not every and (second := text.find(old, first + 1)) >= 0:
        lines = (text.count("\n", 0, at) + 1 for at in (first, second))
        raise EditError(
            "`old_text` is there more than once (lines {} and {}, or more): add the text around it, "
            "or set replace_all.".format(*lines)
        )
    return (text.replace(old, new), text.count(old)) if every else (text.replace(old, new, 1), 1)


def write_text(place: FolderEntry, content: str) -> str:
    """Create or replace a file, folders included. Returns what was done."""
    data = _encoded(content)
    existed = save(place, data, None)
    lines = content.count("\n") + bool(content and not content.endswith("\n"))
    size = f"{counted(lines, 'line')}, {counted(len(data), 'byte')}"
    return f"{'Replaced' if existed else 'Created'} {place.written}: {size}."


def edit_text(place: FolderEntry, old: str, new: str, *, every: bool) -> str:
    """Replace text in a file; lines may end in CRLF there. Returns what was done, with the change as a diff."""
    with place.file() as file:
        stamp = Stamp.of(os.fstat(file.fileno()))
        data = file.read(LARGEST_EDIT + 1)
    if len(data) > LARGEST_EDIT:
        raise ToolFailedError(f"{place.written} is too large to edit: over {LARGEST_EDIT:,} bytes.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        kind = "a binary file" if is_binary(data[:8192]) else f"not UTF-8 text (byte {error.start})"
        raise ToolFailedError(f"{place.written} is {kind}: it can't be edited.") from error
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        # read_file shows such lines with a plain end, so that is how a model writes them.
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    try:
        changed, count = replaced(text, old, new, every=every)
    except EditError as error:
        raise ToolFailedError(f"{place.written}: {error}") from error
    save(place, _encoded(changed), stamp)
    return f"Changed {counted(count, 'place')} in {place.written}.\n{_diff(text, changed, place.written)}"


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolFailedError("The text holds half of a surrogate pair: it can't be written as UTF-8.") from error


def _diff(before: str, after: str, name: str) -> str:
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, n=2, lineterm=""))
    more = len(lines) - MOST_DIFF_LINES
    rest = [f"[{counted(more, 'more line')} of the change]"] if more > 0 else []
    return "\n".join((*lines[:MOST_DIFF_LINES], *rest))


def save(place: FolderEntry, data: bytes, expected: Stamp | None) -> bool:
    """Put `data` in place by renaming; with `expected`, only over that very file. Whether there was one before."""
    if not place.parts:
        raise ToolFailedError(f"{place.written} is a folder.")
    temporary = f".{secrets.token_hex(8)}.new"
    with place.folder(parent=True, make=expected is None) as folder:
        before = _status(place, folder)
        mode = stat.S_IMODE(before.st_mode) if before else 0o666
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                if before:
                    os.fchmod(descriptor, mode)
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            now = _status(place, folder)
            if expected is not None and (now is None or Stamp.of(now) != expected):
                raise ToolFailedError(f"{place.written} was changed by something else meanwhile: read it again.")
            os.rename(temporary, place.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise
        return before is not None


def _status(place: FolderEntry, folder: int) -> os.stat_result | None:
    try:
        status = os.stat(place.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "neither a file nor a folder"
        raise ToolFailedError(f"{place.written} is {kind}.")
    return status

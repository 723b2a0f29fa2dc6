"""Writes files in one step: a reader sees the old text or the new, and a failure leaves the old one."""

from __future__ import annotations

import codecs
import difflib
import errno
import os
import secrets
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from console_app.servers.parts.file_journal import FileJournal
from console_app.servers.parts.file_reading import is_binary
from console_app.servers.parts.folders import FolderEntry
from console_app.servers.parts.patches import FilePatch, PatchError, patched
from console_app.servers.parts.server import ToolFailedError, ToolOutput, counted

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


def write_text(place: FolderEntry, content: str, journal: FileJournal | None = None) -> ToolOutput:
    """Create or replace a file, folders included; encoding and line ends of one that is replaced are kept."""
    journal = journal or FileJournal()
    before = journal.check(place)
    data = _like(before, content) if before is not None else _encoded(content, "utf-8")
    existed = save(place, data, None)
    lines = content.count("\n") + bool(content and not content.endswith("\n"))
    size = f"{counted(lines, 'line')}, {counted(len(data), 'byte')}"
    done = f"{'Replaced' if existed else 'Created'} {place.written}: {size}."
    return ToolOutput(done, {"changes": [journal.changed(place.path, before, data)]})


def edit_text(place: FolderEntry, old: str, new: str, journal: FileJournal, *, every: bool) -> ToolOutput:
    """Replace text in a file; lines may end in CRLF there. Returns what was done, with the change as a diff."""
    text, codec, stamp, data = _text_of(place, journal)
    if _is_dos(text):
        # read_file shows such lines with a plain end, so that is how a model writes them.
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    try:
        changed, count = replaced(text, old, new, every=every)
    except EditError as error:
        raise ToolFailedError(f"{place.written}: {error}") from error
    after = _encoded(changed, codec)
    save(place, after, stamp)
    done = f"Changed {counted(count, 'place')} in {place.written}.\n{_diff(text, changed, place.written)}"
    return ToolOutput(done, {"changes": [journal.changed(place.path, data, after)]})


def apply_patch(places: Mapping[str, FolderEntry], files: Sequence[FilePatch], journal: FileJournal) -> ToolOutput:
    """Make all changes of a patch, once all of them fit."""
    ready: list[tuple[FilePatch, FolderEntry, bytes | None, bytes | None, Stamp | None, str]] = []
    for file in files:
        place = places[file.path]
        for new in (place if file.kind == "add" else None, places[file.move] if file.move else None):
            if new is not None and os.path.lexists(new.path):
                raise ToolFailedError(f"{new.written} is there already. Nothing was written.")
        if file.kind == "add":
            content = "".join(f"{line}\n" for line in file.text)
            ready.append((file, place, None, _encoded(content, "utf-8"), None, _diff("", content, place.written)))
            continue
        text, codec, stamp, data = _text_of(place, journal)
        try:
            changed = "" if file.kind == "delete" else patched(text, file.stretches, place.written)
        except PatchError as error:
            raise ToolFailedError(f"{error} Nothing was written.") from error
        after = None if file.kind == "delete" else _encoded(changed, codec)
        ready.append((file, place, data, after, stamp, _diff(text, changed, place.written)))
    changes: list[Mapping[str, Any]] = []
    for file, place, before, after, stamp, _ in ready:
        target = places[file.move] if file.move else place
        if after is not None:
            save(target, after, None if target is not place else stamp)
            changes.append(journal.changed(target.path, before if target is place else None, after))
        if after is None or target is not place:
            with place.folder(parent=True) as folder:
                os.unlink(place.name, dir_fd=folder)
            changes.append(journal.changed(place.path, before, None))
    done = f"Changed {counted(len(ready), 'file')}.\n" + "\n".join(diff for *_, diff in ready)
    return ToolOutput(done, {"changes": changes})


def _text_of(place: FolderEntry, journal: FileJournal) -> tuple[str, str, Stamp, bytes]:
    """Return the text of a file, its codec, its stamp and its bytes, as long as it is the one that was read."""
    with place.file() as file:
        stamp = Stamp.of(os.fstat(file.fileno()))
        if stamp.size > LARGEST_EDIT:
            raise ToolFailedError(f"{place.written} is too large to edit: over {LARGEST_EDIT:,} bytes.")
    data = journal.check(place) or b""
    codec = _codec(data)
    try:
        return data.decode(codec), codec, stamp, data
    except UnicodeDecodeError as error:
        kind = "a binary file" if is_binary(data[:8192]) else f"not UTF-8 text (byte {error.start})"
        raise ToolFailedError(f"{place.written} is {kind}: it can't be edited.") from error


def _codec(data: bytes) -> str:
    """Return the codec that gives text back as the bytes were: a mark at the beginning stays part of the text."""
    if data.startswith(codecs.BOM_UTF16_LE) and not data.startswith(codecs.BOM_UTF32_LE):
        return "utf-16-le"
    return "utf-16-be" if data.startswith(codecs.BOM_UTF16_BE) else "utf-8"


def _is_dos(text: str) -> bool:
    return "\r\n" in text and "\n" not in text.replace("\r\n", "")


def _like(before: bytes, content: str) -> bytes:
    """Return the bytes of a text in the encoding, and with the line ends, of what it replaces."""
    codec = _codec(before)
    try:
        text = before.decode(codec)
    except UnicodeDecodeError:
        return _encoded(content, "utf-8")
    if text.startswith("\ufeff") and not content.startswith("\ufeff"):
        content = f"\ufeff{content}"
    if _is_dos(text) and "\r" not in content:
        content = content.replace("\n", "\r\n")
    return _encoded(content, codec)


def _encoded(text: str, codec: str) -> bytes:
    try:
        return text.encode(codec)
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

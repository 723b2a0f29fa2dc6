"""Changes to files: a reader sees the old text or the new, and a file that changed since it was read is refused.

The bytes that a change replaces are kept by their hash, in a folder of this user alone, for a month.
"""

from __future__ import annotations

import codecs
import difflib
import errno
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from console_app.servers.parts.file_reading import is_binary
from console_app.servers.parts.folders import FolderEntry, data_folder
from console_app.servers.parts.server import ToolFailedError, ToolOutput, counted

LARGEST: Final = 10_000_000  # bytes of a file that is followed, or edited
_LARGEST_COMPARED: Final = 1_000_000
_MOST_DIFF: Final = 40  # lines
_DAYS: Final = 30


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


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
            data = None
        data = None if data is None or len(data) > LARGEST else data
        self.note(place.path, data)
        return data

    def note(self, path: Path, data: bytes | None) -> None:
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

    def changed(self, path: Path, before: bytes | None, after: bytes | None, folders: int = 0) -> Mapping[str, Any]:
        """Keep what a change replaced, and return the change as data: hashes of both, None for no file, and how many
        folders were made for it."""
        self.note(path, after)
        if before is not None:
            self._keep(before)
        names = {name: None if data is None else hash_of(data) for name, data in (("before", before), ("after", after))}
        return {"path": str(path), **names, **({"folders": folders} if folders else {})}

    def _keep(self, data: bytes) -> None:
        with suppress(OSError):  # a change that can't go back is still a change
            folder = data_folder() / "replaced"
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


MOST_DIFF_LINES: Final = 60


class EditError(ValueError):
    """The reason why a replacement was not made, or why a patch can't be read or doesn't fit: one sentence."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The marks by which a file is still the one that was read."""

    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
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
    made = _missing(place)
    existed = save(place, data, None)
    lines = content.count("\n") + bool(content and not content.endswith("\n"))
    size = f"{counted(lines, 'line')}, {counted(len(data), 'byte')}"
    done = f"{'Replaced' if existed else 'Created'} {place.written}: {size}."
    return ToolOutput(done, {"changes": [journal.changed(place.path, before, data, made)]})


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
        except EditError as error:
            raise ToolFailedError(f"{error} Nothing was written.") from error
        after = None if file.kind == "delete" else _encoded(changed, codec)
        ready.append((file, place, data, after, stamp, _diff(text, changed, place.written)))
    changes: list[Mapping[str, Any]] = []
    for file, place, before, after, stamp, _ in ready:
        target = places[file.move] if file.move else place
        if after is not None:
            made = _missing(target)
            save(target, after, None if target is not place else stamp)
            changes.append(journal.changed(target.path, before if target is place else None, after, made))
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
        if stamp.size > LARGEST:
            raise ToolFailedError(f"{place.written} is too large to edit: over {LARGEST:,} bytes.")
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


def _missing(place: FolderEntry) -> int:
    """Return how many of the folders that hold a file are not there."""
    return sum(not os.path.lexists(folder) for folder in place.path.parents)


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


_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_KINDS: dict[str, Literal["add", "delete", "update"]] = {
    "*** Add File: ": "add",
    "*** Delete File: ": "delete",
    "*** Update File: ": "update",
}


@dataclass(slots=True)
class Stretch:
    """Lines to be found (`old`) and what takes their place, behind the line `after`."""

    after: str = ""
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])
    at_end: bool = False


@dataclass(slots=True)
class FilePatch:
    """A change to a file. `text` is that of a new one, `move` its new path."""

    kind: Literal["add", "delete", "update"]
    path: str
    move: str = ""
    text: list[str] = field(default_factory=list[str])
    stretches: list[Stretch] = field(default_factory=list[Stretch])


def read_patch(text: str) -> list[FilePatch]:
    """Return what a patch does, file by file. Raises EditError."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    if lines[0].strip() != _BEGIN or lines[-1].strip() != _END:
        raise EditError(f"A patch begins with a line `{_BEGIN}` and ends with `{_END}`.")
    files: list[FilePatch] = []
    for number, line in enumerate(lines[1:-1], 2):
        if start := next((one for one in _KINDS if line.startswith(one)), None):
            files.append(FilePatch(_KINDS[start], line.removeprefix(start).strip()))
        elif not files:
            raise EditError(f"Line {number} belongs to no file: `*** Update File: PATH` comes first.")
        else:
            _take(files[-1], line, number)
    if not files:
        raise EditError("The patch names no file.")
    if len({one.path for one in files}) < len(files):
        raise EditError("The patch names a file twice: put its changes together.")
    return files


def _take(file: FilePatch, line: str, number: int) -> None:
    if file.kind == "update" and line.startswith("*** Move to: "):
        file.move = line.removeprefix("*** Move to: ").strip()
    elif file.kind == "add" and line.startswith("+"):
        file.text.append(line[1:])
    elif file.kind == "update" and line.startswith("@@"):
        file.stretches.append(Stretch(line[2:].strip().removesuffix("@@").strip()))
    elif file.kind == "update" and line == "*** End of File" and file.stretches:
        file.stretches[-1].at_end = True
    elif file.kind == "update" and line[:1] in ("", " ", "+", "-"):
        if not file.stretches:
            file.stretches.append(Stretch())
        stretch, rest = file.stretches[-1], line[1:]
        if line[:1] != "+":
            stretch.old.append(rest)
        if line[:1] != "-":
            stretch.new.append(rest)
    else:
        raise EditError(f"Line {number} can't be read: `{line[:60]}`.")


def patched(text: str, stretches: Sequence[Stretch], path: str) -> str:
    """Return a file's text with all stretches replaced. Raises EditError where one doesn't fit."""
    raw = text.split("\n")
    ended = raw[-1] == "" and len(raw) > 1
    raw = raw[:-1] if ended else [] if text == "" else raw
    lines = [line.removesuffix("\r") for line in raw]
    own = "\r" if 2 * sum(line.endswith("\r") for line in raw) > len(raw) else ""
    made: list[str] = []
    at = 0
    for number, stretch in enumerate(stretches, 1):
        start = at
        if stretch.after:
            named = [row for row in range(at, len(lines)) if lines[row].strip() == stretch.after.strip()]
            if not named:
                raise EditError(f"{path}: the line `{stretch.after[:60]}` of stretch {number} is not in the file.")
            start = named[0] + 1
        size = len(stretch.old)
        if size:
            found = [row for row in range(start, len(lines) - size + 1) if lines[row : row + size] == stretch.old]
            if stretch.after and not found and lines[start - 1 : start - 1 + size] == stretch.old:
                found = [start - 1]
            if stretch.at_end:
                found = [row for row in found if row + size == len(lines)]
            if not found:
                raise EditError(f"{path}: stretch {number} is not in the file as it is: `{stretch.old[0][:60]}` …")
            if len(found) > 1 and not stretch.after:
                raise EditError(
                    f"{path}: stretch {number} is there more than once (lines {found[0] + 1} and {found[1] + 1}): "
                    "add lines around it, or name one before it behind @@."
                )
            place = found[0]
        else:
            place = start if stretch.after else len(lines)
        kept = dict(zip(stretch.old, raw[place : place + size], strict=True))  # a line that stays, stays as it is
        made += [*raw[at:place], *(kept.get(line, line + own) for line in stretch.new)]
        at = place + size
    made += raw[at:]
    return "\n".join(made) + ("\n" if (ended or text == "") and made else "")

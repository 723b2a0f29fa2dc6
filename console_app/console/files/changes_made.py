"""What the calls of a conversation changed in files, and putting it back: told by the bundled server of files.

It names hashes, and keeps the bytes that it replaced under them. Nothing here is taken from a result but what these
bytes prove: a file goes back only to bytes that were kept, and only from the very bytes that the call left.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from console_app.domain import plural
from console_app.domain.transcript import CallView

SERVER: Final = "files"
_LARGEST: Final = 10_000_000  # bytes of a file
_MOST_LINES: Final = 5_000  # of a file's diff


@dataclass(frozen=True, slots=True)
class FileHistory:
    """A file over some calls: the hashes of what it was before the first, and is after the last; None for no file."""

    path: Path
    before: str | None
    after: str | None


def histories(calls: Iterable[CallView], folder: Path) -> list[FileHistory]:
    """Return the files below `folder` that these calls changed, in the order of their first change."""
    found: dict[Path, FileHistory] = {}
    for call in calls:
        for change in _changes(call):
            path, before, after = Path(str(change.get("path"))), change.get("before"), change.get("after")
            if not path.is_relative_to(folder.resolve()) or ".." in path.parts:
                continue
            first = found[path].before if path in found else _hash(before)
            found[path] = FileHistory(path, first, _hash(after))
    return [one for one in found.values() if one.before != one.after]


def _changes(call: CallView) -> Iterator[Mapping[str, Any]]:
    changes: Any = (call.structured or {}).get("changes") if call.server == SERVER else None
    for change in cast("list[Any]", changes) if isinstance(changes, list) else ():
        if isinstance(change, dict):
            yield cast("dict[str, Any]", change)


def _hash(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) == 64 and value.isalnum() else None


def diff_report(files: Iterable[FileHistory], kept: Path, folder: Path) -> str:
    """Return the diff of each file, from what it was before the conversation to what it is now."""
    parts: list[str] = []
    for one in files:
        name = os.path.relpath(one.path, folder.resolve())
        now = _read(one.path)
        before = b"" if one.before is None else _read(kept / one.before)
        if before is None:
            parts.append(f"{name}: what it was is not kept any more")
            continue
        head = "" if now is None or _sha(now) == one.after else "  (changed since by something else)\n"
        head = f"  (deleted)\n{head}" if now is None else head
        old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, now or b""))
        made = "/dev/null" if one.before is None else name
        lines = list(difflib.unified_diff(old, new, made, name, lineterm=""))
        more = [f"[{plural(len(lines) - _MOST_LINES, 'more line')}]"] if len(lines) > _MOST_LINES else []
        parts.append(f"{name}\n{head}" + "\n".join((*lines[:_MOST_LINES], *more)))
    return "\n\n".join(parts) or "No call of this conversation changed a file with the files server."


def put_back(files: Iterable[FileHistory], kept: Path, folder: Path) -> list[str]:
    """Put each file back to what it was, where nothing else touched it since. Return a line a file."""
    said: list[str] = []
    for one in files:
        name = os.path.relpath(one.path, folder.resolve())
        try:
            said.append(f"{name}: {_restored(one, kept)}")
        except OSError as error:
            said.append(f"{name}: left as it is, {(error.strerror or str(error)).lower()}")
    return said


def _restored(one: FileHistory, kept: Path) -> str:
    if one.path.parent.resolve() != one.path.parent or one.path.is_symlink():
        return "left as it is, a link leads there now"
    now = _read(one.path)
    if (None if now is None else _sha(now)) != one.after:
        return "left as it is, something else changed it since"
    if one.before is None:
        one.path.unlink()
        return "removed, it was new"
    before = _read(kept / one.before)
    if before is None or _sha(before) != one.before:
        return "left as it is, what it was is not kept any more"
    mode = one.path.stat().st_mode & 0o7777 if now is not None else 0o666
    one.path.parent.mkdir(parents=True, exist_ok=True)
    temporary = one.path.with_name(f".{secrets.token_hex(8)}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(before)
        if now is not None:
            temporary.chmod(mode)
        temporary.replace(one.path)
    finally:
        temporary.unlink(missing_ok=True)
    return "put back"


def _read(path: Path) -> bytes | None:
    with suppress(OSError), path.open("rb") as file:
        data = file.read(_LARGEST + 1)
        return data if len(data) <= _LARGEST else None
    return None


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

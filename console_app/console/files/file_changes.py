"""Work out the changes of a waiting call in a file, as a diff. Only arguments of the usual shapes count: a whole text
for a path, by a tool whose name says that it writes, or texts to be replaced.

The bundled server of files tells what calls changed, by hashes, and keeps the bytes that it replaced. A file goes back
only to bytes that were kept, and only from the very bytes that the call left."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from console_app.domain import amounts, displayed, plural, safe_text
from console_app.domain.transcript import CallView
from console_app.records import dataclass

LARGEST = 2 * 1024 * 1024  # bytes of a file, and characters of what it becomes, that are compared
LONGEST_LOOK = 2.0  # seconds for a file
LATE = "its file can't be read now: what it replaces is not shown"
T = TypeVar("T")
NEW = "(no such file here yet)"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A diff: line numbers are its names, and `hunks` is where stretches begin. `said` are arguments it shows;
    `warning` is on what it can't say."""

    lines: tuple[displayed.ArgumentLine, ...]
    said: frozenset[str]
    hunks: tuple[int, ...] = ()
    warning: str = ""


class FileChanges:
    """The file changes of waiting calls, as far as they were looked up. Relative paths are in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[str, FileChange | None] = {}

    def of(self, call: CallView) -> FileChange | None:
        return self._found.get(call.id)

    def keep(self, call_ids: Collection[str]) -> None:
        self._found = {call_id: change for call_id, change in self._found.items() if call_id in call_ids}

    async def look_up(self, call: CallView) -> bool:
        change = await change_in_time(call, self._folder)
        before, self._found[call.id] = self._found.get(call.id), change
        return change != before


async def change_in_time(call: CallView, folder: Path) -> FileChange | None:
    read = partial(change_of, call.tool or call.name, call.arguments or {}, Path(call.folder or folder))
    return await in_time(read, LONGEST_LOOK, FileChange((), frozenset(), warning=LATE))


async def in_time(read: Callable[[], T], seconds: float, late: T) -> T:
    """Return the result of `read`, or `late` after so many seconds. In its own thread, so that a hanging disk holds up
    no other work."""
    loop, found = asyncio.get_running_loop(), asyncio.Future[T]()

    def tell(change: T, error: Exception | None) -> None:
        if not found.done():
            found.set_result(change) if error is None else found.set_exception(error)

    def work() -> None:
        told: tuple[T, Exception | None] = late, None
        try:
            told = read(), None
        except Exception as error:
            told = late, error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, *told)

    threading.Thread(target=work, name="file", daemon=True).start()
    done, _ = await asyncio.wait({found}, timeout=seconds)
    return found.result() if done else late


def change_of(tool: str, arguments: Mapping[str, Any], folder: Path) -> FileChange | None:
    """Return the change to a file; None where the arguments name none. It reads the file: not for the event loop."""
    path = displayed.path_of(arguments)
    edits, said = displayed.edits_of(arguments)
    whole = displayed.whole_of(tool, arguments)
    if not path or not (edits or whole):
        return None
    try:
        before = text_of(folder / Path(path).expanduser())
    except NotComparedError as why:
        return FileChange((), frozenset(), warning=f"{why}: what it replaces is not shown")
    except (OSError, ValueError, RuntimeError):
        return None
    if edits:
        if before is None:
            return FileChange((), frozenset(), warning="there is no such file here to edit")
        after, missing = _edited(before, edits, every=arguments.get("replace_all") is True)
        if missing:
            return FileChange((), frozenset(), warning="the text to replace is not in the file as it is now")
    else:
        after, said = str(arguments[whole]), frozenset({whole})
    if len(after) > LARGEST:
        return None
    if before is None:
        added = displayed.diff_lines([], after.removesuffix("\n").split("\n"))[0] if after else []
        return FileChange((displayed.ArgumentLine(NEW), *added), said, (1,) if added else ())
    lines, hunks = displayed.diff_lines(before.split("\n"), after.split("\n"))
    return FileChange(tuple(lines), said, tuple(hunks))


def _edited(text: str, edits: list[tuple[str, str]], *, every: bool) -> tuple[str, bool]:
    for old, new in edits:
        if not old or old not in text:
            return text, True
        text = text.replace(old, new, -1 if every else 1)
    return text, False


class NotComparedError(Exception):
    """A file of this name is there but can't be compared; the message says why."""


def text_of(path: Path) -> str | None:
    """Return the text of a small plain file; None where no file has that name. Not for the event loop. Raises
    NotComparedError where it can't be compared, OSError or ValueError for no plain file."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError("it is no plain file")
        # A pipe that took its place in between must not be waited for.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            data, whole = file.read(LARGEST + 1), os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return None
    except PermissionError:
        raise NotComparedError("the file can't be read here") from None
    if len(data) > LARGEST:
        raise NotComparedError(f"the file has {amounts.size(whole)}")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise NotComparedError(f"the file is no text ({amounts.size(whole)})") from None


SERVER: Final = "files"
_LARGEST: Final = 10_000_000  # bytes of a file
_MOST_LINES: Final = 5_000  # of a file's diff


@dataclass(frozen=True, slots=True)
class FileHistory:
    """A file over some calls: the hashes of what it was before the first, and is after the last, None for no file; and
    how many folders were made for it."""

    path: Path
    before: str | None
    after: str | None
    folders: int = 0


def histories(calls: Iterable[CallView], folder: Path) -> list[FileHistory]:
    found: dict[Path, FileHistory] = {}
    for call in calls:
        for change in _changes(call):
            path, before, after = Path(str(change.get("path"))), change.get("before"), change.get("after")
            if not path.is_relative_to(folder.resolve()) or ".." in path.parts:
                continue
            first = found.get(path, FileHistory(path, _hash(before), None))
            made = change.get("folders")
            folders = max(first.folders, made if isinstance(made, int) else 0)
            found[path] = FileHistory(path, first.before, _hash(after), folders)
    return [one for one in found.values() if one.before != one.after]


def _changes(call: CallView) -> Iterator[Mapping[str, Any]]:
    changes: Any = (call.structured or {}).get("changes") if call.server == SERVER else None
    for change in safe_text.as_list(changes):
        if isinstance(change, dict):
            yield cast("dict[str, Any]", change)


def _hash(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) == 64 and value.isalnum() else None


def diff_report(files: Iterable[FileHistory], kept: Path, folder: Path) -> str:
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
    said: list[str] = []
    for one in reversed([*files]):  # a folder goes with the file that it was made for, once it is empty
        name = os.path.relpath(one.path, folder.resolve())
        try:
            said.append(f"{name}: {_restored(one, kept, folder.resolve())}")
        except OSError as error:
            said.append(f"{name}: left as it is, {(error.strerror or str(error)).lower()}")
    return said[::-1]


def _restored(one: FileHistory, kept: Path, folder: Path) -> str:
    if one.path.parent.resolve() != one.path.parent or one.path.is_symlink():
        return "left as it is, a link leads there now"
    now = _read(one.path)
    if (None if now is None else _sha(now)) != one.after:
        return "left as it is, something else changed it since"
    if one.before is None:
        one.path.unlink()
        with suppress(OSError):  # something else is in it
            for made in [above for above in one.path.parents if folder in above.parents][: one.folders]:
                made.rmdir()
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

"""Patches in the form that models write: `*** Begin Patch`, files to add, delete and update, lines after a mark.

A patch is read whole and fitted whole before anything is written. Its lines must be in the file as they are written,
in their order, each stretch once behind the line that its `@@` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_KINDS: dict[str, Literal["add", "delete", "update"]] = {
    "*** Add File: ": "add",
    "*** Delete File: ": "delete",
    "*** Update File: ": "update",
}


class PatchError(ValueError):
    """The reason why a patch can't be read, or doesn't fit: one sentence."""


@dataclass(slots=True)
class Stretch:
    """Lines to be found (`old`) and what takes their place, behind the line `after`."""

    after: str = ""
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])
    at_end: bool = False


@dataclass(slots=True)
class FilePatch:
    """What is done to one file. `text` is that of a new one, `move` its new path."""

    kind: Literal["add", "delete", "update"]
    path: str
    move: str = ""
    text: list[str] = field(default_factory=list[str])
    stretches: list[Stretch] = field(default_factory=list[Stretch])


def read_patch(text: str) -> list[FilePatch]:
    """Return what a patch does, file by file. Raises PatchError."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    if lines[0].strip() != _BEGIN or lines[-1].strip() != _END:
        raise PatchError(f"A patch begins with a line `{_BEGIN}` and ends with `{_END}`.")
    files: list[FilePatch] = []
    for number, line in enumerate(lines[1:-1], 2):
        if start := next((one for one in _KINDS if line.startswith(one)), None):
            files.append(FilePatch(_KINDS[start], line.removeprefix(start).strip()))
        elif not files:
            raise PatchError(f"Line {number} belongs to no file: `*** Update File: PATH` comes first.")
        else:
            _take(files[-1], line, number)
    if not files:
        raise PatchError("The patch names no file.")
    if len({one.path for one in files}) < len(files):
        raise PatchError("The patch names a file twice: put its changes together.")
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
        raise PatchError(f"Line {number} can't be read: `{line[:60]}`.")


def patched(text: str, stretches: Sequence[Stretch], path: str) -> str:
    """Return a file's text with all stretches replaced. Raises PatchError where one doesn't fit."""
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
                raise PatchError(f"{path}: the line `{stretch.after[:60]}` of stretch {number} is not in the file.")
            start = named[0] + 1
        size = len(stretch.old)
        if size:
            found = [row for row in range(start, len(lines) - size + 1) if lines[row : row + size] == stretch.old]
            if stretch.after and not found and lines[start - 1 : start - 1 + size] == stretch.old:
                found = [start - 1]
            if stretch.at_end:
                found = [row for row in found if row + size == len(lines)]
            if not found:
                raise PatchError(f"{path}: stretch {number} is not in the file as it is: `{stretch.old[0][:60]}` …")
            if len(found) > 1 and not stretch.after:
                raise PatchError(
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

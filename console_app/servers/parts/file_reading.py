"""Reads folders and files in pieces of a bounded size, whatever their length and whatever is in them."""

from __future__ import annotations

import codecs
import io
import mimetypes
import os
import stat
from typing import Final, TextIO

from console_app.servers.parts.folders import FolderEntry, quoted
from console_app.servers.parts.server import ToolFailedError, counted

MOST_ENTRIES: Final = 1000  # of a folder
MOST_LINES: Final = 2000  # of a file, in one answer
LONGEST_LINE: Final = 2000  # characters
MOST_TEXT: Final = 200_000  # characters in one answer
MOST_READ: Final = 100_000_000  # characters gone through for one answer, shown or not: half a second
_SNIFFED: Final = 8192  # bytes looked at to tell text from other data


def list_entries(place: FolderEntry) -> str:
    """Return the entries of a folder, folders first, one a line: `name/`, or `name` with its size."""
    folders: list[str] = []
    files: list[str] = []
    with place.folder() as descriptor, os.scandir(descriptor) as entries:
        for entry in entries:
            if len(folders) + len(files) == MOST_ENTRIES:
                files.append(f"[only {MOST_ENTRIES} of its entries are listed]")
                break
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # gone since
            if stat.S_ISDIR(status.st_mode):
                folders.append(quoted(f"{entry.name}/"))
            else:
                files.append(f"{quoted(entry.name)}  {_kind(status)}")
    return "\n".join((*sorted(folders), *sorted(files))) or "The folder is empty."


def _kind(status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return "(symbolic link)"
    return f"({status.st_size:,} bytes)" if stat.S_ISREG(status.st_mode) else "(neither a file nor a folder)"


def read_excerpt(place: FolderEntry, offset: int = 1, limit: int = MOST_LINES) -> str:
    """Return at most `limit` lines from line `offset` (1 is the first), and how to read on where more follow.

    Raises ToolFailedError for a file that isn't text.
    """
    if offset < 1 or limit < 1:
        raise ToolFailedError("`offset` and `limit` count lines: they are 1 or more.")
    with place.file() as file:
        head = file.read(_SNIFFED)
        file.seek(0)
        if is_binary(head):
            kind = mimetypes.guess_type(place.name)[0] or "of unknown type"
            size = os.fstat(file.fileno()).st_size
            raise ToolFailedError(f"{place.written} is a binary file ({kind}, {size:,} bytes), not text.")
        encoding = "utf-16" if _is_utf16(head) else "utf-8-sig"
        lines = _Lines(io.TextIOWrapper(file, encoding, errors="replace"), place)
        return _excerpt(lines, place, offset, min(limit, MOST_LINES))


def _excerpt(text: _Lines, place: FolderEntry, offset: int, limit: int) -> str:
    for number in range(1, offset):
        if not text.next() or text.given_up:
            text.check()
            raise ToolFailedError(f"{place.written} has only {counted(number - 1, 'line')}.")
    lines: list[str] = []
    size = 0
    while len(lines) < limit and size < MOST_TEXT:
        line = text.next()
        if not line:
            break
        lines.append(line)
        size += len(line)
    if not lines and offset > 1:
        raise ToolFailedError(f"{place.written} has only {counted(offset - 1, 'line')}.")
    found, last = "".join(lines), offset + len(lines) - 1
    if not text.has_more():
        return found or "[the file is empty]"
    end = "" if found.endswith("\n") or not found else "\n"
    return f"{found}{end}[lines {offset} to {last}; go on with offset={last + 1}]"


class _Lines:
    """The lines of a file, each up to LONGEST_LINE, as long as no more than MOST_READ was gone through."""

    def __init__(self, text: TextIO, place: FolderEntry) -> None:
        self._text = text
        self._place = place
        self._left = MOST_READ
        self._number = 0
        self.given_up = False

    def next(self) -> str:
        """Return the next line, "" at the end; what it has beyond LONGEST_LINE is left out, and that is said."""
        if self.given_up:
            return ""
        line = self._text.readline(LONGEST_LINE + 1)
        self._number += 1
        self._spend(len(line))
        if len(line) <= LONGEST_LINE or line.endswith("\n"):
            return line
        left_out = 1
        while (rest := self._text.readline(65_536)) and not rest.endswith("\n"):
            left_out += len(rest)
            if left_out > self._left:
                self.given_up = True
                return f"{line[:LONGEST_LINE]}[more than {left_out:,} more characters; what follows was not read]\n"
        left_out += len(rest.removesuffix("\n"))
        self._spend(left_out)
        return f"{line[:LONGEST_LINE]}[{left_out:,} more characters in this line]\n"

    def has_more(self) -> bool:
        return not self.given_up and bool(self._text.read(1))

    def _spend(self, characters: int) -> None:
        self._left -= characters
        self.check()

    def check(self) -> None:
        """Raise ToolFailedError when more was to be gone through than is."""
        if self.given_up or self._left < 0:
            raise ToolFailedError(
                f"Line {self._number:,} of {self._place.written} is more than {MOST_READ // 10**6} MB into the file, "
                "further than is read. Search for the part that is wanted."
            )


def is_binary(head: bytes) -> bool:
    """Return whether a file that begins so is something other than text."""
    return b"\0" in head and not _is_utf16(head)


def _is_utf16(head: bytes) -> bool:
    return head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not head.startswith(codecs.BOM_UTF32_LE)

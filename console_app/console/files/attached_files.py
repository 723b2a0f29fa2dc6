"""Reads a file or folder as it goes with a message, and lists the files below a folder as people mean it: without what
.gitignore leaves out, bounded in number and time. A file's bytes say what it is, not its name. All of it blocks, and
belongs into a thread."""

from __future__ import annotations

import codecs
import io
import math
import os
import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from console_app.config.files import disk
from console_app.console.files.mentions import LineRange
from console_app.domain import Attachment, amounts, errors, one_line, picture_size
from console_app.records import dataclass

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

LARGEST_TEXT = 100_000  # bytes of a file: about 25,000 tokens, an eighth of a common window; more is read by tools
MOST_SCANNED = 64_000_000  # bytes that are read to find lines: a tenth of a second
MOST_ENTRIES = 1_000  # of a folder: about 10,000 tokens
LONGEST_WALK = 2.0  # seconds
_SAMPLE = 8_192  # bytes that show whether a file is text
_PIECE = 1_000_000
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CONTROLS = bytes(set(range(32)) - {*b"\t\n\r\f\b\x1b"})
_READ_IT = "A tool that reads files can look into it."


@dataclass(frozen=True, slots=True)
class ReadFile:
    """An attachment as it was read. A picture comes with its bytes, which are saved once the message is sent."""

    attachment: Attachment
    picture: bytes = b""


def read(path: Path, name: str, lines: LineRange | None) -> ReadFile:
    shown = one_line(name, 200)
    try:
        if path.is_dir():
            if lines is not None:
                raise errors.AttachmentError(f"{shown} is a folder, and has no lines")
            return ReadFile(_folder(path, name))
        with disk.opened(path) as (file, found):
            head = file.read(_SAMPLE)
            if mime := picture_size.picture_type(head):
                return _picture(file, head, name, mime, found.st_size)
            if head.startswith(_UTF_16):
                content = head + file.read(4 * LARGEST_TEXT)
                if file.read(1):
                    raise errors.AttachmentError(
                        f"{shown} is text in UTF-16, and too large to be read as that", "Save it as UTF-8."
                    )
                text = content.decode("utf-16", "replace").encode("utf-8", "replace")
                head, file = text[:_SAMPLE], io.BytesIO(text)
            _check_text(head, shown)
            file.seek(0)
            return ReadFile(_text(file, name, found.st_size) if lines is None else _lines(file, name, lines))
    except disk.NotPlain as error:
        raise errors.AttachmentError(
            f"{shown} is {error.strerror}, and only files and folders can go with a message"
        ) from None
    except OSError as error:
        raise errors.AttachmentError(f"{shown} can't be read: {error.strerror or error}") from None


def of_text(text: str, name: str, lines: LineRange | None) -> ReadFile:
    content = text.encode()
    file = io.BytesIO(content)
    return ReadFile(_lines(file, name, lines) if lines is not None else _text(file, name, len(content)))


def of_bytes(content: bytes, name: str) -> ReadFile:
    if not (mime := picture_size.picture_type(content)):
        raise errors.AttachmentError(f"{one_line(name, 200)} is no PNG, JPEG, GIF or WebP picture")
    return _picture(io.BytesIO(), content, name, mime, len(content))


def _text(file: BinaryIO, name: str, length: int) -> Attachment:
    content = file.read(LARGEST_TEXT + 1)
    length = max(length, len(content))  # what is in /proc has no length
    if len(content) <= LARGEST_TEXT:
        return Attachment(name=name, size=length, text=_decoded(content, name))
    begin = content[:LARGEST_TEXT]
    begin = begin[: begin.rfind(b"\n", LARGEST_TEXT // 2) + 1 or len(begin)]
    part = f"the first {amounts.size(len(begin))} of {amounts.size(length)}"
    return Attachment(name=name, part=part, size=length, text=_noted(_decoded(begin, name), part))


def _lines(file: BinaryIO, name: str, lines: LineRange) -> Attachment:
    shown = one_line(name, 200)
    if lines.last is not None and lines.last < lines.first:
        raise errors.AttachmentError(f"{shown} has no lines {lines.first}-{lines.last}: the first comes after the last")
    wanted = bytearray()
    number = scanned = 0
    ended = True  # whether the last line is a whole one
    while scanned < MOST_SCANNED and (line := file.readline(_PIECE)):
        number += ended
        ended = line.endswith(b"\n")
        scanned += len(line)
        if lines.first <= number <= (lines.last or number) and len(wanted) <= LARGEST_TEXT:
            wanted += line
    whole = not file.read(1)
    if number < lines.first and whole:
        have = f"{number:,} {'line' if number == 1 else 'lines'}"
        raise errors.AttachmentError(f"{shown} has {have}, and {lines.first:,} is none of them")
    if number < lines.first:
        raise errors.AttachmentError(f"{shown}: line {lines.first:,} is too far in to be looked for", _READ_IT)
    last = number if lines.last is None else min(lines.last, number)
    span = f"line {last}" if last == lines.first else f"lines {lines.first}-{last}"
    part = f"{span} of {number:,}" if whole else f"{span} of more than {number:,}"
    cut = len(wanted) > LARGEST_TEXT
    if cut:
        part = f"the first {amounts.size(LARGEST_TEXT)} of {part}"
    text = _decoded(bytes(wanted[:LARGEST_TEXT]), name)
    return Attachment(name=name, part=part, size=len(wanted), text=_noted(text, part) if cut else text)


def _noted(text: str, part: str) -> str:
    return f"{text}\n[Fanout: only {part} stands here; the rest was left out because of its size.]"


def _check_text(content: bytes, shown: str) -> None:
    controls = len(content) - len(content.translate(None, _CONTROLS))
    if b"\0" in content or content.startswith(b"%PDF-") or controls > len(content) / 20:
        raise errors.AttachmentError(f"{shown} is neither text nor a PNG, JPEG, GIF or WebP picture", _READ_IT)


def _decoded(content: bytes, name: str) -> str:
    """Decode as UTF-8, or as Windows-1252, which most other text is. A character cut off at the end is left out."""
    _check_text(content, one_line(name, 200))
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(content)
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _picture(file: BinaryIO, head: bytes, name: str, mime: str, length: int) -> ReadFile:
    shown = one_line(name, 200)
    content = head + file.read(picture_size.LARGEST_FILE)
    if (length := max(length, len(content))) > picture_size.LARGEST_FILE:
        raise errors.AttachmentError(
            f"{shown} is a picture of {amounts.size(length)}, and models take {amounts.size(picture_size.LARGEST_FILE)}"
        )
    sides = picture_size.picture_size(content)
    if sides is not None and sides[0] * sides[1] > picture_size.MOST_PIXELS:
        raise errors.AttachmentError(f"{shown} is {sides[0]}x{sides[1]} pixels large, and can't be made smaller here")
    smaller = picture_size.sides_sent(sides)
    about = f"{mime.removeprefix('image/')} picture{', {}x{} pixels'.format(*sides) if sides else ''}"
    at = " at {}x{}".format(*picture_size.scaled(sides)) if sides is not None and smaller else ""
    text = f"[{about}: it goes with this message{at}, for models that see]"
    pixels = math.prod(picture_size.scaled(sides)) if sides is not None else 0
    return ReadFile(Attachment(name=name, part=smaller, mime=mime, size=length, pixels=pixels, text=text), content)


def _folder(path: Path, name: str) -> Attachment:
    os.scandir(path).close()  # a folder that may not be read is no empty one
    found = walk(path, MOST_ENTRIES, LONGEST_WALK)
    lines: list[str] = []
    room = LARGEST_TEXT
    for one in sorted(found.paths):
        line = one_line(one)
        if (room := room - len(line) - 1) < 0:
            break
        lines.append(line)
    count = f"{len(lines):,} {'entry' if len(lines) == 1 else 'entries'}"
    part = count if found.whole and len(lines) == len(found.paths) else f"{count}, not all"
    return Attachment(name=name.rstrip("/") + "/", part=part, text="\n".join(lines) or "(an empty folder)")


# Left out where no .gitignore says so either: nobody means them.
IGNORED = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache"})
_LARGEST_RULES = 1_000_000  # bytes of a .gitignore


@dataclass(frozen=True, slots=True)
class Walk:
    """Paths relative to the folder, nearest first, folders ending in `/`. `whole`: these are all. A link to a folder is
    a file here, as links may lead in circles."""

    paths: tuple[str, ...]
    whole: bool


def walk(
    folder: Path,
    most: int,
    longest: float,
    into: list[str] | None = None,
    going: Callable[[], bool] = lambda: True,
) -> Walk:
    """List at most `most` paths below `folder`, in at most `longest` seconds while `going`. Added to `into` as
    found."""
    found: list[str] = [] if into is None else into
    rules = _Rules(folder)
    deadline = time.monotonic() + longest
    waiting = deque([""])
    whole = True
    while waiting and len(found) < most and time.monotonic() < deadline and going():
        inside = waiting.popleft()
        try:
            with os.scandir(folder / inside) as entries:
                listed = sorted((one.name, one.is_dir(follow_symlinks=False)) for one in islice(entries, most + 1))
        except OSError:
            continue  # a folder that may not be read has nothing to offer
        whole = whole and len(listed) <= most
        rules.enter(inside)
        for name, is_folder in listed:
            path = inside + name + ("/" if is_folder else "")
            if name == ".git" or (is_folder and name in IGNORED) or rules.leave_out(path):
                continue
            found.append(path)
            if is_folder:
                waiting.append(path)
    return Walk(tuple(found[:most]), whole and not waiting and len(found) <= most)


class _Rules:
    """The .gitignore files below a folder and up to its repository's top. The innermost that says anything decides."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.path.abspath(folder)
        self._rules: dict[str, GitIgnoreSpec] = {}  # by absolute folder
        above = self._folder
        if any((one / ".git").exists() for one in (Path(above), *Path(above).parents)):
            while not os.path.exists(os.path.join(above, ".git")):
                above = os.path.dirname(above)
                self._read(above)
        if self.leave_out(""):  # named itself, so what is in it is wanted
            self._rules.clear()

    def enter(self, inside: str) -> None:
        self._read(os.path.join(self._folder, inside).rstrip("/") or "/")

    def leave_out(self, path: str) -> bool:
        if not self._rules:
            return False
        whole = os.path.join(self._folder, path)
        folder = whole.rstrip("/")
        while (above := os.path.dirname(folder)) != folder:
            folder = above
            if (rules := self._rules.get(folder)) is not None:
                included = rules.check_file(whole[len(folder) :].lstrip("/")).include
                if included is not None:
                    return included
        return False

    def _read(self, folder: str) -> None:
        try:
            with disk.opened(Path(folder, ".gitignore")) as (file, _):
                lines = file.read(_LARGEST_RULES).decode("utf-8", "replace").splitlines()
        except OSError:
            return
        from pathspec import GitIgnoreSpec  # 30 ms, and only where there are such files

        try:
            self._rules[folder] = GitIgnoreSpec.from_lines(lines)
        except ValueError:
            return  # git, too, goes on without a pattern that is none

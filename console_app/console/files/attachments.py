"""Turn a typed prompt into the message that is sent, with files and folders (`@`), resources of servers (`@server:uri`)
and a server's prompt. A path that isn't there is told, and what can't go along is an error: nothing is left out
unsaid."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console_app.config.files import disk
from console_app.config.machine import process_runs
from console_app.console.files import attached_files
from console_app.console.files.mentions import FileMention, LineRange, file_mentions, written_path
from console_app.domain import Attachment, FanoutError, UserMessage, amounts, errors, one_line, safe_text
from console_app.mcp_client import Composer
from console_app.mcp_client.offering import typed_names
from console_app.records import dataclass, field

if TYPE_CHECKING:
    from console_app.mcp_client import Hub

RESTING = 86_400.0  # seconds that a marked picture is left alone: another console may be about to send it
_EXTENSIONS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
_DIGITS = 16  # of the hash: a name that can be read in a prompt, and is no other picture's
_MARK = ".unsent"


def save_picture(folder: Path, content: bytes, attachment: Attachment, *, named: bool = True) -> Path:
    """Save a picture and return its file, one for equal pictures; `named`: a kept message names it. Raises
    AttachmentError."""
    path = folder / f"picture-{hashlib.sha256(content).hexdigest()[:_DIGITS]}{_EXTENSIONS[attachment.mime]}"
    mark = path.with_name(path.name + _MARK)
    try:
        disk.private_folder(folder)
        there = path.exists() and path.stat().st_size == len(content)
        if named:
            mark.unlink(missing_ok=True)
        elif not there or mark.exists():
            disk.replace_private(mark, str(os.getpid()).encode())
        if not there:
            disk.replace_private(path, content)
    except OSError as error:
        raise errors.AttachmentError(
            f"{attachment.name} can't be kept in {folder}: {error.strerror or error}"
        ) from None
    return path


def sweep(folder: Path, drafts: Path) -> None:
    """Remove marked pictures whose console has gone a while ago and that no draft names. Failures are logged. For a
    thread."""
    try:
        marks = [mark for mark in folder.glob(f"picture-*{_MARK}") if _is_left(mark)]
        written = [draft.read_bytes() for draft in drafts.glob("*.json")] if marks else []
        for mark in marks:
            path = mark.with_suffix("")
            if not any(path.name.encode() in draft for draft in written):
                path.unlink(missing_ok=True)
                mark.unlink(missing_ok=True)
    except OSError as error:
        log.warning("pictures that were never sent can't be taken away: %s", error)


def _is_left(mark: Path) -> bool:
    if time.time() - mark.stat().st_mtime < RESTING:
        return False
    try:
        return not process_runs(int(mark.read_bytes()))
    except ValueError:
        return True


MOST_FILES = 20  # of a message
MOST_PICTURES = 40_000_000  # bytes of a message, before they are made smaller for the request
_MISSING_SHOWN = 3
_MOST_CHIPS = 200
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Composed:
    message: UserMessage
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chip:
    """The meaning of a mention, in a few words; with `refused` it can't go with the message, and `about` says why."""

    name: str
    about: str
    refused: bool = False
    missing: bool = False  # there is no such file, yet perhaps: its name may be half typed


@dataclass(frozen=True, slots=True)
class _Named:
    path: Path
    name: str
    lines: LineRange | None
    key: tuple[object, ...]


@dataclass(eq=False)
class Attachments:
    """Read the files, pictures and resources that the prompts of one conversation name. Files are read in a thread."""

    _folder: Path  # where relative paths begin
    _saved: Path | None  # keeps pictures; None: none can go along
    _hub: Hub | None
    _no_pictures: Callable[[], str]  # why the model sees none
    named: bool = True  # messages are kept
    _chips: dict[tuple[object, ...], Chip] = field(default_factory=dict[tuple[object, ...], Chip])

    def may_name(self, text: str) -> bool:
        """Tell whether `compose` would have anything to ask or read, without a look at the disk."""
        return (self._hub is not None and Composer(self._hub).names_something(text)) or bool(self._mentions(text))

    async def compose(self, text: str, typed: str | None = None) -> Composed:
        """Return the message that `text` means. Only names in `typed` count, since pasted words may be anybody's.
        Raises AttachmentError, ServerError and UsageError."""
        typed = text if typed is None else typed
        message = UserMessage(content=text)
        if self._hub is not None:
            asked = await Composer(self._hub).compose(text if typed_names.command_of(typed) is not None else typed)
            message = asked if asked.source else message.model_copy(update={"attachments": asked.attachments})
        found = self._mentions(typed)
        if not found:
            return Composed(message)
        files, missing = await asyncio.to_thread(self._read, found)
        both = (*message.attachments, *files)
        if (total := sum(len(one.text) for one in both)) > (most := Composer.MOST_TEXT):
            raise errors.AttachmentError(
                f"what this names is too large together: {total:,} characters, and a message carries {most:,}",
                "Name parts, as @file:1-200.",
            )
        return Composed(message.model_copy(update={"attachments": both}), _missing_notice(missing))

    async def put_together(self, text: str, typed: str | None = None) -> Composed:
        try:
            return await self.compose(text, typed)
        except FanoutError:
            raise
        except Exception as error:
            log.exception("a message could not be put together")
            raise FanoutError(f"the message could not be put together: {error!r}. /log has the details.") from error

    async def chips(self, text: str) -> Sequence[Chip]:
        return await asyncio.to_thread(self._look, text) if "@" in text else ()

    async def keep_picture(self, content: bytes) -> str:
        """Keep a picture that is in no file, and return its name for a prompt. Raises AttachmentError."""
        read = attached_files.of_bytes(content, "what was copied")
        path = await asyncio.to_thread(lambda: Path(self._saved_picture(self._checked(read), sent=False).path))
        return f"@{written_path(_shown(path, self._folder))}"

    async def of_file(self, path: Path, lines: LineRange | None = None, edited: str | None = None) -> Attachment:
        name = _shown(path, self._folder)

        def read() -> attached_files.ReadFile:
            return (
                attached_files.read(path, name, lines)
                if edited is None
                else attached_files.of_text(edited, name, lines)
            )

        return await asyncio.to_thread(self._sent, read)

    async def of_picture(self, content: bytes, name: str) -> Attachment:
        return await asyncio.to_thread(self._sent, lambda: attached_files.of_bytes(content, name))

    # -- in a thread

    def _sent(self, read: Callable[[], attached_files.ReadFile]) -> Attachment:
        return self._saved_picture(self._checked(read()))

    def _read(self, found: Sequence[FileMention]) -> tuple[list[Attachment], list[FileMention]]:
        named, missing = self._named(found)
        if len(named) > MOST_FILES:
            raise errors.AttachmentError(f"a message can carry {MOST_FILES} files, and this names {len(named)}")
        read = [self._checked(attached_files.read(one.path, one.name, one.lines)) for one in named]
        if (total := sum(len(one.picture) for one in read)) > MOST_PICTURES:
            raise errors.AttachmentError(
                f"pictures of {amounts.size(total)} together, and a message carries {amounts.size(MOST_PICTURES)}"
            )
        return [self._saved_picture(one) for one in read], missing

    def _checked(self, read: attached_files.ReadFile) -> attached_files.ReadFile:
        if read.picture and (why := self._no_pictures() or ("" if self._saved else "nothing is saved here")):
            name = one_line(read.attachment.name, 200)
            raise errors.AttachmentError(
                f"{name} is a picture, and the model takes none: {why}", "Use a model that sees."
            )
        return read

    def _saved_picture(self, read: attached_files.ReadFile, *, sent: bool = True) -> Attachment:
        if not read.picture or self._saved is None:
            return read.attachment
        path = save_picture(self._saved, read.picture, read.attachment, named=sent and self.named)
        return read.attachment.model_copy(update={"path": safe_text.encodable(str(path))})

    def _look(self, text: str) -> list[Chip]:
        chips: dict[Chip, None] = {}
        for mention in self._mentions(text):
            try:
                named = self._resolved(mention)
                chip = self._chip(named) if named is not None else None
            except errors.AttachmentError as error:
                chip = Chip(mention.shown, error.detail, refused=True)
            if chip is None and mention.looks_like_path:
                chip = Chip(mention.shown, "no such file", refused=True, missing=True)
            if chip is not None:
                chips[chip] = None
        servers = self._hub.typed_servers() if self._hub is not None else {}
        return [*chips, *(Chip(one.uri, one.server) for one in typed_names.mentions(text, servers, ()))]

    def _chip(self, one: _Named) -> Chip:
        if (known := self._chips.get(one.key)) is not None:
            return known
        try:
            read = self._checked(attached_files.read(one.path, one.name, one.lines)).attachment
            real, within = one.path.resolve(), Path(os.path.normpath(one.path)).is_relative_to(self._folder)
            leads_out = within and not real.is_relative_to(self._folder.resolve())
            chip = Chip(read.name, read.costs + (f" · links to {_shown(real, self._folder)}" if leads_out else ""))
        except errors.AttachmentError as error:
            chip = Chip(one.name, error.detail.removeprefix(f"{one_line(one.name, 200)} "), refused=True)
        if len(self._chips) >= _MOST_CHIPS:
            self._chips.clear()
        self._chips[one.key] = chip
        return chip

    # -- names

    def _mentions(self, text: str) -> list[FileMention]:
        return file_mentions(text, self._hub.typed_servers() if self._hub is not None and "@" in text else ())

    def _named(self, found: Sequence[FileMention]) -> tuple[list[_Named], list[FileMention]]:
        there: dict[tuple[object, ...], _Named] = {}
        missing: list[FileMention] = []
        for mention in found:
            if (one := self._resolved(mention)) is not None:
                there.setdefault((one.key[:2], one.lines), one)
            elif mention.looks_like_path:
                missing.append(mention)
        return list(there.values()), missing

    def _resolved(self, mention: FileMention) -> _Named | None:
        for reading in mention.readings:
            path = self._folder / os.path.expanduser(reading.path)
            try:
                found = path.stat()
            except (FileNotFoundError, NotADirectoryError, ValueError):
                continue
            except OSError as error:
                if error.errno == errno.ENAMETOOLONG:
                    continue
                name = one_line(_shown(path, self._folder), 200)
                raise errors.AttachmentError(f"{name} can't be read: {error.strerror}") from None
            state = (found.st_mtime_ns, found.st_size, reading.lines, self._no_pictures(), str(path))
            key = (found.st_dev, found.st_ino, *state)
            return _Named(path, _shown(path, self._folder), reading.lines, key)
        return None


def _shown(path: Path, folder: Path) -> str:
    path = Path(os.path.normpath(path))
    if path.is_relative_to(folder):
        return str(path.relative_to(folder))
    home = Path(os.path.expanduser("~"))  # which stays "~" where nobody knows
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _missing_notice(missing: Sequence[FileMention]) -> tuple[str, ...]:
    if not missing:
        return ()
    names = ", ".join(one_line(f"@{one.shown}", 80) for one in missing[:_MISSING_SHOWN])
    more = f" and {len(missing) - _MISSING_SHOWN} more" if len(missing) > _MISSING_SHOWN else ""
    return (f"Not attached, since no such file is there: {names}{more}. It went as the words it is.",)

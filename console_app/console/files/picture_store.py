"""Keeps the pictures that went with messages: the session goes on with them as they were sent.

One that was pasted and not sent yet, or went with a message that nothing keeps, has a mark beside it; a later session
takes it away.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from pathlib import Path

from console_app.config.files import disk
from console_app.domain import Attachment, errors

RESTING = 86_400.0  # seconds that a marked picture is left alone: another console may be about to send it
_EXTENSIONS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
_DIGITS = 16  # of the hash: a name that can be read in a prompt, and is no other picture's
_MARK = ".unsent"

log = logging.getLogger(__name__)


def save_picture(folder: Path, content: bytes, attachment: Attachment, *, named: bool = True) -> Path:
    """The file that has `content`, the same for the same picture; `named` says that a kept message names it from now
    on. Raises AttachmentError."""
    path = folder / f"picture-{hashlib.sha256(content).hexdigest()[:_DIGITS]}{_EXTENSIONS[attachment.mime]}"
    mark = path.with_name(path.name + _MARK)
    try:
        there = path.exists() and path.stat().st_size == len(content)
        if named:
            mark.unlink(missing_ok=True)
        elif not there or mark.exists():
            _write(mark, str(os.getpid()).encode())
        if not there:
            _write(path, content)
    except OSError as error:
        raise errors.AttachmentError(
            f"{attachment.name} can't be kept in {folder}: {error.strerror or error}"
        ) from None
    return path


def _write(path: Path, content: bytes) -> None:
    disk.private_folder(path.parent)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, disk.PRIVATE_FILE)
    with open(descriptor, "wb") as file:
        file.write(content)
    new.replace(path)


def sweep(folder: Path, drafts: Path) -> None:
    """Takes away the marked pictures of `folder` whose console has gone a while ago, and that no file in `drafts`
    names. What can't be read or removed is logged and stays. For a thread."""
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
        pid = int(mark.read_bytes())
        if pid > 0:
            os.kill(pid, 0)
    except (ValueError, ProcessLookupError):
        return True
    except OSError:
        return False  # another user's
    return pid <= 0

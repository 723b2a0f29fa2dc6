"""Keeps the pictures that went with messages: the session goes on with them as they were sent."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from console_app.config.paths import PRIVATE_FILE, private_folder
from console_app.domain.errors import AttachmentError
from console_app.domain.messages import Attachment

_EXTENSIONS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
_DIGITS = 16  # of the hash: a name that can be read in a prompt, and is no other picture's


def save_picture(folder: Path, content: bytes, attachment: Attachment) -> Path:
    """The file that has `content`, the same for the same picture. Raises AttachmentError."""
    path = folder / f"picture-{hashlib.sha256(content).hexdigest()[:_DIGITS]}{_EXTENSIONS[attachment.mime]}"
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        if path.exists() and path.stat().st_size == len(content):
            return path
        private_folder(folder)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
        with open(descriptor, "wb") as file:
            file.write(content)
        new.replace(path)
    except OSError as error:
        raise AttachmentError(f"{attachment.name} can't be kept in {folder}: {error.strerror or error}") from None
    return path

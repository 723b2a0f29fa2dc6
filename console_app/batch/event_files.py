"""The whole conversation of an item, as one file of events: `fanout sessions import` takes it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from console_app.config.files import PRIVATE_FILE, private_folder
from console_app.config.secrets import Redactor
from console_app.domain.errors import ConfigError
from console_app.domain.events import Event
from console_app.sessions import as_json_lines

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=#-]{0,99}")


class EventFiles:
    """Files in `folder`, which is made. Raises ConfigError where that can't be written."""

    def __init__(self, folder: Path, redactor: Redactor) -> None:
        self._folder = folder
        self._redactor = redactor
        try:
            private_folder(folder)
        except OSError as error:
            raise ConfigError(f"--events {folder}: {error.strerror or error}") from None

    async def write(self, item_id: str, events: Sequence[Event]) -> None:
        """Puts an item's events into its file, in place of those of an earlier run. Raises ConfigError."""
        await asyncio.to_thread(self._write, self.path(item_id), events)

    def path(self, item_id: str) -> Path:
        """The file of an item; an id that can't be a file's name is hashed."""
        plain = _PLAIN.fullmatch(item_id) is not None
        name = item_id if plain else hashlib.sha256(item_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return self._folder / f"{name}.jsonl"

    def _write(self, path: Path, events: Sequence[Event]) -> None:
        new = path.with_suffix(".new")
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
            with open(descriptor, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(as_json_lines(events, self._redactor))
            new.replace(path)
        except OSError as error:
            raise ConfigError(f"can't write {path}: {error.strerror or error}") from None

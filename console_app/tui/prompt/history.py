"""The prompts you sent, kept in a file between sessions: one JSON string a line, so that any text fits a line.

Reading tolerates a line it can't read (another console may be writing, or a disk filled up).
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

from console_app.config.files import disk
from console_app.config.secrets import has_key
from console_app.domain import visible

MOST_PROMPTS = 1000  # prompts, the newest
LONGEST = 64_000  # characters of a prompt that goes to the file; a longer one is remembered in this session only

log = logging.getLogger(__name__)


class PromptHistory:
    """Prompts, oldest first, with a place in them that Up and Down move."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: list[str] | None = None  # read when first needed, so that starting costs nothing
        self._place: int | None = None  # None: below the newest, on what is being written
        self._draft = ""

    @property
    def entries(self) -> list[str]:
        """All prompts, oldest first."""
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def add(self, text: str, stored: str | None = None) -> None:
        """`text` was sent; `stored` is what the file keeps of it where that differs (a paste written out)."""
        self._place, self._draft = None, ""
        if not text.strip() or (self.entries and self.entries[-1] == text):
            return
        self.entries.append(text)
        stored = text if stored is None else stored
        if stored.startswith("/") and has_key(stored):
            return  # a command that was given a key is remembered in this session only
        self._append(stored if len(stored) <= LONGEST else text[:LONGEST])

    def older(self, current: str) -> str | None:
        """The prompt before the place, or None at the oldest; `current` is kept to come back to."""
        if self._place is None:
            self._draft, self._place = current, len(self.entries)
        if self._place == 0:
            return None
        self._place -= 1
        return self.entries[self._place]

    def newer(self) -> str | None:
        """Return the prompt after the place, then the text that was being written; None when there already."""
        if self._place is None:
            return None
        self._place += 1
        if self._place < len(self.entries):
            return self.entries[self._place]
        self._place = None
        return self._draft

    def leave(self) -> None:
        """Something was typed: the place is below the newest again."""
        self._place = None

    def _read(self) -> list[str]:
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        entries: list[str] = []
        for line in lines[-MOST_PROMPTS:]:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, str) and entry.strip():
                entries.append(visible(entry))
        return entries

    def _append(self, text: str) -> None:
        try:
            disk.private_folder(self._path.parent)
            fresh = [*self.entries[-MOST_PROMPTS:-1], text] if self._too_long() else [text]
            flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if len(fresh) > 1 else os.O_APPEND)
            with os.fdopen(os.open(self._path, flags, disk.PRIVATE_FILE), "w", encoding="utf-8") as file:
                file.writelines(json.dumps(entry) + "\n" for entry in fresh)
        except OSError as error:
            log.warning("prompt history %s can't be written: %s", self._path, error)

    def _too_long(self) -> bool:
        return len(self.entries) > 2 * MOST_PROMPTS

"""What worked with which model: the dialect that it was last seen to write its calls in, kept in one small file."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

log = logging.getLogger(__name__)


class ProtocolMemory:
    """Dialects by `provider/model`. With no path it remembers as long as the program runs; a broken file is as none."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, str] | None = None if path else {}

    def recall(self, model: str) -> str | None:
        """The dialect that `model` writes, or None while its own tools work or nothing is known."""
        return self._all().get(model)

    def remember(self, model: str, dialect: str) -> None:
        """Notes that `model` writes `dialect`."""
        known = self._all()
        if known.get(model) == dialect:
            return
        known[model] = dialect
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = self._path.with_suffix(".new")
            with open(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                json.dump(known, file, indent=1)
            part.replace(self._path)
        except OSError as error:
            log.warning("the protocol of %s can't be kept: %s", model, error)

    def _all(self) -> dict[str, str]:
        if self._known is None:
            self._known = {}
            try:
                assert self._path is not None
                read: object = json.loads(self._path.read_text("utf-8"))
            except (OSError, ValueError):
                return self._known
            if isinstance(read, dict):
                self._known = {str(key): value for key, value in read.items() if isinstance(value, str)}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return self._known

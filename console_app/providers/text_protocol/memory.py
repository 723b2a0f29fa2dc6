"""What worked with which model: the dialect that it was last seen to write its calls in, kept in one small file."""

from __future__ import annotations

import logging
from pathlib import Path

from console_app.config.records import read_record, texts, write_record
from console_app.domain.errors import ConfigError

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
            write_record(self._path, known)
        except ConfigError as error:
            log.warning("the protocol of %s can't be kept: %s", model, error.line)

    def _all(self) -> dict[str, str]:
        if self._known is None:
            self._known = texts(read_record(self._path)) if self._path else {}
        return self._known

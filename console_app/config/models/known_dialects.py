"""Which dialect a model at an endpoint writes its calls in: kept once you approved such a call, until it is dropped."""

from __future__ import annotations

import logging
from pathlib import Path

from console_app.config.machine.records import read_record, texts, write_record
from console_app.domain.errors import ConfigError

log = logging.getLogger(__name__)


class KnownDialects:
    """Reads and writes the file at `path`: "PROVIDER/MODEL at URL" to the name of a dialect."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, key: str) -> str | None:
        """The dialect of a model, or None."""
        return texts(read_record(self._path)).get(key)

    def keep(self, key: str, dialect: str) -> None:
        """From now on the model is known to write `dialect`."""
        self._write({**texts(read_record(self._path)), key: dialect})

    def drop(self, key: str) -> None:
        """Nothing is known of the model any more."""
        record = texts(read_record(self._path))
        if record.pop(key, None) is not None:
            self._write(record)

    def _write(self, record: dict[str, str]) -> None:
        try:
            write_record(self._path, record)
        except ConfigError as error:
            log.warning("Which dialect a model writes can't be kept: %s", error.line)

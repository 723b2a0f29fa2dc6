"""Where secrets that are got at run time (tokens of servers) are kept: the system's keyring where there is one that
answers, else one file that only this user can read."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from console_app.config.machine.records import read_record, texts, write_record
from console_app.config.secrets.redaction import Redactor
from console_app.config.secrets.secret_sources import secrets_of_kept
from console_app.domain.errors import ConfigError

_SERVICE = "fanout"
log = logging.getLogger(__name__)


class Credentials(Protocol):
    """Texts by key. May take a moment: not for the event loop. Failing to write raises ConfigError."""

    @property
    def place(self) -> str:
        """Where they are kept, for people."""
        ...

    def read(self, key: str) -> str | None:
        """What was written last, or None."""
        ...

    def write(self, key: str, text: str) -> None:
        """Keeps `text` in place of what was there."""
        ...

    def delete(self, key: str) -> None:
        """Forgets it; nothing to forget is fine."""
        ...


class FileCredentials:
    """One JSON file of mode 0600, replaced in one step. A file that can't be read holds nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def place(self) -> str:
        return str(self._path)

    def read(self, key: str) -> str | None:
        return self._all().get(key)

    def write(self, key: str, text: str) -> None:
        self._save(self._all() | {key: text})

    def delete(self, key: str) -> None:
        records = self._all()
        if records.pop(key, None) is not None:
            self._save(records)

    def _save(self, records: dict[str, str]) -> None:
        write_record(self._path, records)

    def _all(self) -> dict[str, str]:
        return texts(read_record(self._path))


class KeyringCredentials:
    """The system's keyring, through the package `keyring` where the user installed it."""

    def __init__(self, keyring: Any) -> None:
        self._keyring = keyring

    @property
    def place(self) -> str:
        """The keyring's name."""
        return f"the keyring ({self._keyring.get_keyring().name})"

    def read(self, key: str) -> str | None:
        """What was written last, or None; a keyring that stays locked has nothing."""
        try:
            return self._keyring.get_password(_SERVICE, key)
        except Exception as error:
            log.warning("the keyring doesn't answer: %s", error)
            return None

    def write(self, key: str, text: str) -> None:
        try:
            self._keyring.set_password(_SERVICE, key, text)
        except Exception as error:
            raise ConfigError(f"the keyring refused to keep a secret: {error}") from error

    def delete(self, key: str) -> None:
        try:
            self._keyring.delete_password(_SERVICE, key)
        except Exception as error:
            log.debug("nothing deleted from the keyring: %s", error)


class UserCredentials:
    """The keyring, where one is installed and answers, else the file at `path`; looked for at the first use, since
    keyrings are slow to import. The file has the names of what the keyring keeps: no keyring says what it has."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = FileCredentials(path)
        self._found: Credentials | None = None

    def all(self) -> Iterator[str]:
        """Every text that is kept; no keyring is woken where there is none."""
        for key in texts(read_record(self._path)):
            yield self.read(key) or ""

    @property
    def place(self) -> str:
        return self._store.place

    def read(self, key: str) -> str | None:
        return self._store.read(key)

    def write(self, key: str, text: str) -> None:
        if self._store is not self._file:
            self._file.write(key, "")
        self._store.write(key, text)

    def delete(self, key: str) -> None:
        self._store.delete(key)
        self._file.delete(key)

    @property
    def _store(self) -> Credentials:
        if self._found is None:
            self._found = _keyring() or self._file
        return self._found


class WatchedCredentials:
    """Other credentials, whose secrets the redactor learns as they are read or kept: tokens live in no settings."""

    def __init__(self, inner: Credentials, redactor: Redactor) -> None:
        self._inner = inner
        self._redactor = redactor

    @property
    def place(self) -> str:
        return self._inner.place

    def read(self, key: str) -> str | None:
        text = self._inner.read(key)
        self._redactor.add(*secrets_of_kept(text or ""))
        return text

    def write(self, key: str, text: str) -> None:
        self._redactor.add(*secrets_of_kept(text))
        self._inner.write(key, text)

    def delete(self, key: str) -> None:
        self._inner.delete(key)


def _keyring() -> Credentials | None:
    try:
        keyring: Any = importlib.import_module("keyring")
        # Backends of no use have a priority under 1: one that fails at every call, one in plain text.
        if keyring.get_keyring().priority >= 1:
            return KeyringCredentials(keyring)
    except Exception as error:  # not installed, or a backend that can't even say what it is
        log.debug("no keyring: %s", error)
    return None

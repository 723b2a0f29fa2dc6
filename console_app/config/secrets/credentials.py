"""Keeps secrets that are got at run time: tokens of servers, and the keys of `fanout auth set` and `/connect`.

They are in the keyring of the system where there is one that answers, else in a file that only this user can read. A
list of the names of keys is kept beside them, so that a start without stored keys never wakes the keyring. A key that
was given for one address has it behind its name there, and is sent nowhere else.
"""

from __future__ import annotations

import importlib
import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from console_app.config.files import Paths, disk
from console_app.config.secrets.redaction import Redactor
from console_app.config.secrets.secret_sources import secrets_of_kept
from console_app.domain import ConfigError, safe_text

_SERVICE = "fanout"
_KIND = "key:"
log = logging.getLogger(__name__)


class Credentials(Protocol):
    """Texts by key, kept at a `place` in words. A method may take a moment, so it is for a thread; one that fails to
    write raises ConfigError."""

    @property
    def place(self) -> str: ...

    def read(self, key: str) -> str | None: ...

    def write(self, key: str, text: str) -> None: ...

    def delete(self, key: str) -> None: ...  # it may be missing already


class FileCredentials:
    """A JSON file of mode 0600, replaced in one step. A file that can't be read holds nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def place(self) -> str:
        return str(self._path)

    def read(self, key: str) -> str | None:
        return disk.texts(disk.read_record(self._path)).get(key)

    def write(self, key: str, text: str) -> None:
        disk.write_record(self._path, disk.texts(disk.read_record(self._path)) | {key: text})

    def delete(self, key: str) -> None:
        records = disk.texts(disk.read_record(self._path))
        if records.pop(key, None) is not None:
            disk.write_record(self._path, records)


class _KeyringCredentials:
    """The system's keyring, through the package `keyring` where the user installed it."""

    def __init__(self, keyring: Any) -> None:
        self._keyring = keyring

    @property
    def place(self) -> str:
        return f"the keyring ({self._keyring.get_keyring().name})"

    def read(self, key: str) -> str | None:
        try:
            return self._keyring.get_password(_SERVICE, key)
        except Exception as error:  # it may stay locked
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
    keyrings are slow to import. The file has the names of what the keyring keeps: no keyring says what it has.

    The `redactor` learns every secret as it is read or kept, since tokens live in no settings.
    """

    def __init__(self, path: Path, redactor: Redactor | None = None) -> None:
        self._path = path
        self._file = FileCredentials(path)
        self._redactor = redactor or Redactor()
        self._found: Credentials | None = None

    def all(self) -> Iterator[str]:
        """Yield every text that is kept; no keyring is woken where there is none."""
        for key in disk.texts(disk.read_record(self._path)):
            yield self.read(key) or ""

    @property
    def place(self) -> str:
        return self._store.place

    def read(self, key: str) -> str | None:
        text = self._store.read(key)
        self._redactor.add(*secrets_of_kept(text or ""))
        return text

    def write(self, key: str, text: str) -> None:
        self._redactor.add(*secrets_of_kept(text))
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


def _keyring() -> Credentials | None:
    try:
        keyring: Any = importlib.import_module("keyring")
        # Backends of no use have a priority under 1: one that fails at every call, one in plain text.
        if keyring.get_keyring().priority >= 1:
            return _KeyringCredentials(keyring)
    except Exception as error:  # not installed, or a backend that can't even say what it is
        log.debug("no keyring: %s", error)
    return None


class StoredKeys:
    """Keys by the name of the variable they stand for."""

    def __init__(self, paths: Paths) -> None:
        self._index = paths.data / "stored_keys.json"
        self._file = paths.data / "keys.json"

    def addresses(self) -> dict[str, str]:
        """Return the variables that have a stored key, each with the base URL it was given for; "" for its
        provider's."""
        if not self._index.exists():
            return {}
        try:
            entries = safe_text.as_list(json.loads(disk.read_text(self._index)))
        except (ConfigError, ValueError):
            return {}
        parted = (entry.partition(" ") for entry in entries if isinstance(entry, str))
        return {name: address for name, _, address in parted}

    def over(self, environ: Mapping[str, str], redactor: Redactor) -> Mapping[str, str]:
        """Return `environ` with the keys for variables that it lacks, and have `redactor` learn every key.

        The keyring is asked only when there are some.
        """
        addresses = self.addresses()
        credentials = UserCredentials(self._file)
        found = {name: key for name in addresses if (key := credentials.read(_KIND + name))}
        redactor.add(*found.values())
        used = {name: addresses[name] for name in found if name not in environ}
        return _WithStoredKeys({**found, **environ}, used) if found else environ

    def set(self, variable: str, key: str, address: str = "") -> str:
        """Keep `key`, for the host of `address` alone where one is given, and return its place in words. Raises
        ConfigError."""
        credentials = UserCredentials(self._file)
        # First the list: a key that is there under an address which is not yet noted could go elsewhere.
        self._remember({**self.addresses(), variable: address})
        credentials.write(_KIND + variable, key)
        return credentials.place

    def remove(self, variable: str) -> bool:
        """Forget a key; False when there was none."""
        addresses = self.addresses()
        if addresses.pop(variable, None) is None:
            return False
        UserCredentials(self._file).delete(_KIND + variable)
        self._remember(addresses)
        return True

    def _remember(self, addresses: Mapping[str, str]) -> None:
        entries = sorted(f"{name} {address}".rstrip() for name, address in addresses.items())
        disk.write_private(self._index, json.dumps(entries) + "\n")


class _WithStoredKeys(dict[str, str]):
    """An environment with stored keys; `stored` are the variables whose key is one, with the base URL it is for."""

    def __init__(self, environ: Mapping[str, str], stored: Mapping[str, str]) -> None:
        super().__init__(environ)
        self.stored = stored


def with_key(environ: Mapping[str, str], variable: str, key: str, address: str) -> Mapping[str, str]:
    """Return `environ` with `key` for the base URL `address`, in place of what `variable` had."""
    stored = environ.stored if isinstance(environ, _WithStoredKeys) else dict[str, str]()
    return _WithStoredKeys({**environ, variable: key}, {**stored, variable: address})


def is_stored(environ: Mapping[str, str], variable: str) -> bool:
    return isinstance(environ, _WithStoredKeys) and variable in environ.stored


def address_of(environ: Mapping[str, str], variable: str) -> str:
    """Return the base URL whose host alone gets the key of `variable`; "" where it was given for none in particular."""
    return environ.stored.get(variable, "") if isinstance(environ, _WithStoredKeys) else ""

"""Keys kept for you by `fanout auth set` and `/connect`: in the keyring or a private file, used where the environment
has none.

A list of their names is kept beside them, so that a start without stored keys never wakes the keyring. A key that was
given for one address has it behind its name there, and is sent nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from console_app.config.machine.paths import Paths, read_text, write_private
from console_app.config.secrets.credentials import UserCredentials
from console_app.domain.errors import ConfigError

_KIND = "key:"


class StoredKeys:
    """Keys by the name of the variable they stand for."""

    def __init__(self, paths: Paths) -> None:
        self._index = paths.data / "stored_keys.json"
        self._file = paths.data / "keys.json"

    def names(self) -> Sequence[str]:
        """The variables that have a stored key."""
        return list(self.addresses())

    def addresses(self) -> dict[str, str]:
        """Those variables, each with the base URL that its key was given for, "" for the one that its provider has."""
        if not self._index.exists():
            return {}
        try:
            found: Any = json.loads(read_text(self._index))
        except (ConfigError, ValueError):
            return {}
        entries = cast("list[Any]", found) if isinstance(found, list) else []
        parted = (entry.partition(" ") for entry in entries if isinstance(entry, str))
        return {name: address for name, _, address in parted}

    def all(self) -> dict[str, str]:
        """The keys themselves. Asks the keyring only when there are some."""
        names = self.names()
        if not names:
            return {}
        credentials = UserCredentials(self._file)
        found = {name: credentials.read(_KIND + name) for name in names}
        return {name: key for name, key in found.items() if key}

    def set(self, variable: str, key: str, address: str = "") -> str:
        """Keeps `key`, for the host of the base URL `address` alone where one is given; says where. Raises ConfigError
        when it can't be kept."""
        credentials = UserCredentials(self._file)
        # First the list: a key that is there under an address which is not yet noted could go elsewhere.
        self._remember({**self.addresses(), variable: address})
        credentials.write(_KIND + variable, key)
        return credentials.place

    def remove(self, variable: str) -> bool:
        """Forgets a key; False when there was none."""
        addresses = self.addresses()
        if addresses.pop(variable, None) is None:
            return False
        UserCredentials(self._file).delete(_KIND + variable)
        self._remember(addresses)
        return True

    def _remember(self, addresses: Mapping[str, str]) -> None:
        entries = sorted(f"{name} {address}".rstrip() for name, address in addresses.items())
        write_private(self._index, json.dumps(entries) + "\n")


class WithStoredKeys(dict[str, str]):
    """An environment with stored keys; `stored` are the variables whose key is one, with the base URL it is for."""

    def __init__(
        self, environ: Mapping[str, str], stored: Mapping[str, str], addresses: Mapping[str, str] | None = None
    ) -> None:
        super().__init__({**stored, **environ})
        known = addresses or {}
        self.stored = {name: known.get(name, "") for name in stored.keys() - environ.keys()}

    def with_key(self, variable: str, key: str, address: str) -> WithStoredKeys:
        """The same with one more, in place of what `variable` had."""
        more = WithStoredKeys({**self, variable: key}, {})
        more.stored = {**self.stored, variable: address}
        return more


def is_stored(environ: Mapping[str, str], variable: str) -> bool:
    """Whether the key of `variable` is one that was stored."""
    return isinstance(environ, WithStoredKeys) and variable in environ.stored


def address_of(environ: Mapping[str, str], variable: str) -> str:
    """The base URL whose host alone gets the key of `variable`; "" where it was given for none in particular."""
    return environ.stored.get(variable, "") if isinstance(environ, WithStoredKeys) else ""

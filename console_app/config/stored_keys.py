"""Keys kept for you by `fanout auth set`: in the keyring or a private file, used where the environment has none.

A list of their names is kept beside them, so that a start without stored keys never wakes the keyring.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from console_app.config.credentials import UserCredentials
from console_app.config.paths import Paths, read_text, write_private
from console_app.domain.errors import ConfigError

_KIND = "key:"


class StoredKeys:
    """Keys by the name of the variable they stand for."""

    def __init__(self, paths: Paths) -> None:
        self._index = paths.data / "stored_keys.json"
        self._file = paths.data / "keys.json"

    def names(self) -> Sequence[str]:
        """The variables that have a stored key."""
        if not self._index.exists():
            return ()
        try:
            found: Any = json.loads(read_text(self._index))
        except (ConfigError, ValueError):
            return ()
        return [name for name in cast("list[Any]", found) if isinstance(name, str)] if isinstance(found, list) else ()

    def all(self) -> dict[str, str]:
        """The keys themselves. Asks the keyring only when there are some."""
        names = self.names()
        if not names:
            return {}
        credentials = UserCredentials(self._file)
        found = {name: credentials.read(_KIND + name) for name in names}
        return {name: key for name, key in found.items() if key}

    def set(self, variable: str, key: str) -> str:
        """Keeps `key`; says where. Raises ConfigError when it can't be kept."""
        credentials = UserCredentials(self._file)
        credentials.write(_KIND + variable, key)
        self._remember({*self.names(), variable})
        return credentials.place

    def remove(self, variable: str) -> bool:
        """Forgets a key; False when there was none."""
        names = set(self.names())
        if variable not in names:
            return False
        UserCredentials(self._file).delete(_KIND + variable)
        self._remember(names - {variable})
        return True

    def _remember(self, names: set[str]) -> None:
        write_private(self._index, json.dumps(sorted(names)) + "\n")


class WithStoredKeys(dict[str, str]):
    """An environment with stored keys; `stored` are the variables whose key is one."""

    def __init__(self, environ: Mapping[str, str], stored: Mapping[str, str]) -> None:
        super().__init__({**stored, **environ})
        self.stored = frozenset(stored.keys() - environ.keys())


def is_stored(environ: Mapping[str, str], variable: str) -> bool:
    """Whether the key of `variable` is one that was stored."""
    return isinstance(environ, WithStoredKeys) and variable in environ.stored

"""The record of what the allow rules of files are bound to: rule, name of the server, and the program or address.

It stands beside the rules, not in them, so that a file of rules stays as it was written and can be shared.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from console_app.config.machine.records import read_record, write_record
from console_app.domain.errors import ConfigError
from console_app.domain.tools import ServerIdentity

Bound = tuple[str, str, str, tuple[ServerIdentity, ...]]  # source, rule, server, what it is bound to
log = logging.getLogger(__name__)


class RuleServers:
    """One file. Reads and writes it: for a thread. A record that can't be read binds nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def read(self) -> Iterator[Bound]:
        """Every binding."""
        for key, found in read_record(self._path).items():
            try:
                source, rule, server = map(str, json.loads(key))
                identities = tuple(ServerIdentity.model_validate(one) for one in cast("list[Any]", found))
            except (TypeError, ValueError):
                log.warning("%s: what it says of %.200s can't be read", self._path, key)
                continue
            yield source, rule, server, identities

    def add(self, source: str, rule: str, server: str, identity: ServerIdentity) -> None:
        """Keeps one more. Rules of no file (a flag, this session) end with the console."""
        if not Path(source).is_absolute():
            return
        key = json.dumps([source, rule, server], ensure_ascii=False)
        with self._lock:
            try:
                record = read_record(self._path)
                known = cast("list[Any]", record.get(key)) if isinstance(record.get(key), list) else []
                if identity.model_dump() not in known:
                    write_record(self._path, record | {key: [*known, identity.model_dump()]})
            except ConfigError as error:
                log.warning("%s", error.line)

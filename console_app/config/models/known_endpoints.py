"""Keeps the fingerprint of each endpoint that was tested: what it was seen to do. Nothing secret stands in it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from console_app.config.files import disk

MOST = 100  # the newest


class KnownEndpoints:
    """The fingerprints by `API HOST MODEL` in the file at `path`, each with the `version` of Fanout that made it."""

    def __init__(self, path: Path, version: str = "") -> None:
        self._path = path
        self._version = version

    def keep(self, key: str, findings: Mapping[str, Sequence[str]]) -> None:
        """Write down what an endpoint was seen to do, and what breaks because of it, by what was looked at."""
        record = disk.read_record(self._path)
        record.pop(key, None)
        day = time.strftime("%Y-%m-%d")
        record[key] = {"version": self._version, "day": day, "findings": {one: [*two] for one, two in findings.items()}}
        disk.keep_record(self._path, dict(list(record.items())[-MOST:]))

    def of(self, key: str) -> dict[str, list[str]]:
        """Return what an endpoint was seen to do the last time, and what broke; {} where it was not tested."""
        record: Any = disk.read_record(self._path).get(key)
        found: Any = cast("dict[str, Any]", record).get("findings") if isinstance(record, dict) else None
        read = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        lists = {name: cast("list[Any]", one) for name, one in read.items() if isinstance(one, list) and one}
        return {name: [str(word) for word in words] for name, words in lists.items()}

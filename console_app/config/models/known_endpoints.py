"""Keeps the fingerprint of each endpoint that was tested: what it was seen to do. Nothing secret stands in it."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from console_app.config.files import disk
from console_app.domain import safe_text

log = logging.getLogger(__name__)

MOST = 100  # the newest


class KnownEndpoints:
    """The fingerprints by `API HOST MODEL` in the file at `path`, each with the `version` of Fanout that made it."""

    def __init__(self, path: Path, version: str = "") -> None:
        self._path = path
        self._version = version

    def keep(self, key: str, findings: Mapping[str, Sequence[str]], refused: Mapping[str, Any]) -> None:
        """Write down what an endpoint was seen to do, and what breaks because of it, by what was looked at; and what
        it `refused`, or does in its own way."""
        record = disk.read_record(self._path)
        record.pop(key, None)
        day = time.strftime("%Y-%m-%d")
        listed = {one: [*two] for one, two in findings.items()}
        record[key] = {"version": self._version, "day": day, "findings": listed, "refused": dict(refused)}
        disk.keep_record(self._path, dict(list(record.items())[-MOST:]))

    def of(self, key: str) -> dict[str, list[str]]:
        """Return what an endpoint was seen to do the last time, and what broke; {} where it was not tested."""
        found = safe_text.as_object(self._of(key).get("findings"))
        lists = {name: cast("list[Any]", one) for name, one in found.items() if isinstance(one, list) and one}
        return {name: [str(word) for word in words] for name, words in lists.items()}

    def refused(self, key: str) -> dict[str, Any]:
        """Return what a tested endpoint refused; {} where it was not tested by this version, which a line in the log
        says."""
        record = self._of(key)
        if record and record.get("version") != self._version:
            log.warning("the fingerprint of %s is another version's and not used: test it again", key)
            return {}
        return safe_text.as_object(record.get("refused"))

    def _of(self, key: str) -> dict[str, Any]:
        return safe_text.as_object(disk.read_record(self._path).get(key))

"""The calls that were made by hand, by tool, newest first: a small private file in the state folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from console_app.config.files import disk
from console_app.domain import ConfigError

MOST_CALLS = 20  # of a tool
MOST_TOOLS = 200
LARGEST = 20_000  # characters of the arguments of one call; larger ones are not kept


class EarlierCalls:
    """Reads the file when it is asked; failing to write it costs only the history."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def of(self, label: str) -> list[dict[str, Any]]:
        """The arguments that a tool was called with."""
        listed = self._read().get(label)
        found = cast("list[Any]", listed) if isinstance(listed, list) else []
        return [cast("dict[str, Any]", one) for one in found if isinstance(one, dict)]

    def add(self, label: str, arguments: Mapping[str, Any]) -> None:
        """Keeps a call as the newest of its tool, which becomes the newest tool."""
        if self._path is None or len(json.dumps(dict(arguments))) > LARGEST:
            return
        before = [one for one in self.of(label) if one != dict(arguments)]
        record = {key: value for key, value in self._read().items() if key != label}
        record[label] = [dict(arguments), *before][:MOST_CALLS]
        try:
            disk.write_private(
                self._path, json.dumps(dict(list(record.items())[-MOST_TOOLS:]), ensure_ascii=False) + "\n"
            )
        except ConfigError:
            return

    def labels(self) -> list[str]:
        """The tools that were called, the newest first."""
        return list(reversed(self._read()))

    def _read(self) -> dict[str, Any]:
        if self._path is None or not self._path.exists():
            return {}
        try:
            record: Any = json.loads(disk.read_text(self._path, most=disk.MOST_RECORD))
        except (ValueError, RecursionError, ConfigError):
            return {}
        return cast("dict[str, Any]", record) if isinstance(record, dict) else {}

"""Small JSON objects that Fanout keeps for itself: what is trusted, what worked. One that is damaged is set aside."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from console_app.config.machine.paths import read_text, write_private
from console_app.domain.errors import ConfigError

MOST_BYTES = 50_000_000  # of one: what Fanout itself wrote
log = logging.getLogger(__name__)


def read_record(path: Path) -> dict[str, Any]:
    """The object in the file at `path`; {} without one. What is no JSON object is logged and moved to NAME.damaged."""
    if not path.exists():
        return {}
    try:
        found: Any = json.loads(read_text(path, most=MOST_BYTES))
        if not isinstance(found, dict):
            raise ValueError("it has to be one JSON object")
    except (ConfigError, ValueError, RecursionError) as error:
        log.warning("%s can't be read and is set aside: %s", path, error)
        _set_aside(path)
        return {}
    return cast("dict[str, Any]", found)


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Replaces the file in one step, readable by this user alone; a ConfigError says what stands in the way. In ASCII,
    since a path may hold any bytes."""
    write_private(path, json.dumps(record, indent=1) + "\n")


def texts(record: Mapping[str, Any]) -> dict[str, str]:
    """The values of a record that are texts, as all of it should be."""
    return {key: value for key, value in record.items() if isinstance(value, str)}


def _set_aside(path: Path) -> None:
    try:
        path.replace(path.with_name(path.name + ".damaged"))
    except OSError as error:
        log.warning("%s can't be set aside: %s", path, error)

"""Which tools each server had when it was last connected, for the shell to complete: no server is started by a Tab."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from console_app.config.files.disk import read_record, write_record
from console_app.domain.errors import ConfigError
from console_app.domain.tools import ToolSpec

log = logging.getLogger(__name__)


def keep(path: Path, tools: Iterable[ToolSpec]) -> None:
    """Adds what servers offer now to the file at `path`: server to the names of its tools. Blocks."""
    listed: dict[str, list[str]] = {}
    for spec in tools:
        if spec.server:
            listed.setdefault(spec.server, []).append(spec.tool)
    record = read_record(path)
    if record == (newer := {**record, **listed}):
        return
    try:
        write_record(path, newer)
    except ConfigError as error:
        log.warning("The names of tools can't be kept: %s", error.line)

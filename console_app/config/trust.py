"""Which project files the user trusts: a project's mcp.json starts programs, so it is used only after a yes.

Trust is by place and content: a file that changed since, or the same file in another folder, is asked for again.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, cast

from console_app.config.paths import Paths, read_text, write_private
from console_app.domain.errors import ConfigError


def is_trusted(paths: Paths, file: Path) -> bool:
    """Whether the user trusted `file` as it is now. An unreadable record trusts nothing."""
    try:
        return _record(paths).get(str(file.resolve())) == _fingerprint(file)
    except ConfigError:
        return False


def trust(paths: Paths, file: Path) -> None:
    """Remembers `file` as it is now."""
    try:
        record = _record(paths)
    except ConfigError:
        record = {}  # a broken record trusts nothing, so nothing is lost by starting over
    record[str(file.resolve())] = _fingerprint(file)
    write_private(paths.trust, json.dumps(record, indent=2) + "\n")


def _fingerprint(file: Path) -> str:
    return hashlib.sha256(read_text(file).encode()).hexdigest()


def _record(paths: Paths) -> dict[str, str]:
    if not paths.trust.exists():
        return {}
    try:
        record: Any = json.loads(read_text(paths.trust))
    except ValueError as error:
        raise ConfigError(f"{paths.trust}: {error}") from None
    if not isinstance(record, dict):
        raise ConfigError(f"{paths.trust}: has to be one JSON object")
    return {key: value for key, value in cast("dict[str, Any]", record).items() if isinstance(value, str)}

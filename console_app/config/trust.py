"""Which project files the user trusts: a project's mcp.json starts programs, so it is used only after a yes.

Trust is by place and content: a file that changed since, or the same file in another folder, is asked for again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from console_app.config.paths import Paths, read_text
from console_app.config.records import read_record, write_record
from console_app.domain.errors import ConfigError


def is_trusted(paths: Paths, file: Path) -> bool:
    """Whether the user trusted `file` as it is now. A damaged record, or a file that can't be read, is no yes."""
    try:
        return read_record(paths.trust).get(str(file.resolve())) == _fingerprint(file)
    except ConfigError:
        return False


def trust(paths: Paths, file: Path) -> None:
    """Remembers `file` as it is now."""
    write_record(paths.trust, read_record(paths.trust) | {str(file.resolve()): _fingerprint(file)})


def _fingerprint(file: Path) -> str:
    return hashlib.sha256(read_text(file).encode()).hexdigest()

"""Names the folders in which Fanout looks for the programs that it starts of itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def search_path(environ: Mapping[str, str], *folders: Path) -> str:
    """Return $PATH without relative folders, and without those below `folders` and the current one, unless it is /.

    A command or a checkout may have put a program of the same name there.
    """
    with suppress(OSError):
        folders = (*folders, Path.cwd())
    closed = [os.path.realpath(one) for one in folders if one.parent != one]
    kept = [name for name in environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(name)]
    return os.pathsep.join(
        name for name in kept if not any(Path(os.path.realpath(name)).is_relative_to(one) for one in closed)
    )

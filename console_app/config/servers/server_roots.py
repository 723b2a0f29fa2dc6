"""Which folders a server is told that it may work in (MCP roots): the working folder, none, or those of mcp.json.

Servers that take roots take them in place of the folders that their own arguments name. So a server whose arguments
name some is told of none, unless mcp.json says otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

Roots = Literal["cwd", "none"] | tuple[str, ...]

# What follows these is where a launcher finds the server's program.
_LAUNCHERS: Final = frozenset({"--directory", "--project", "--from", "--with-editable", "--prefix", "--env-file", "-C"})


def names_folders(args: Sequence[str], cwd: str) -> bool:
    """Whether arguments name a folder that is there: as a path, with or without an option before `=`."""
    base = os.path.abspath(os.path.expanduser(cwd))
    for before, argument in zip(("", *args), args, strict=False):
        path = argument.partition("=")[2] if argument.startswith("-") else argument
        is_path = path.startswith(("~", ".")) or os.sep in path
        if before not in _LAUNCHERS and is_path and os.path.isdir(os.path.join(base, os.path.expanduser(path))):
            return True
    return False


def folders(roots: Roots, working: Sequence[Path]) -> tuple[Path, ...]:
    """The folders themselves; `working` are those of the session."""
    if isinstance(roots, str):
        return tuple(working) if roots == "cwd" else ()
    return tuple(Path(os.path.abspath(os.path.expanduser(root))) for root in roots)


def roots_in_words(roots: Roots, working: Sequence[Path]) -> str:
    """The same in words."""
    return f"roots {', '.join(map(str, folders(roots, working))) or 'none'}"

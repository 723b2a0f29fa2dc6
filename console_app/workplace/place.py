"""Says in about a hundred tokens where a conversation works: folder, date, system, shell, git, and what is there."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path

from console_app.domain import one_line
from console_app.workplace import git

_LONGEST = 300  # characters of what is listed
_LONGEST_NAME = 40  # characters of one name, which a checkout may have been given to talk to the model
_MOST_READ = 5_000  # entries of a folder


def first_level(folder: Path) -> str:
    """List what is in the folder, folders first, as far as there is room, and say how much more there is."""
    try:
        with os.scandir(folder) as entries:
            found = [(not one.is_dir(), one.name) for one in islice(entries, _MOST_READ) if one.name != ".git"]
    except OSError:
        return "it can't be read"
    names = [one_line(name, _LONGEST_NAME) + ("" if is_file else "/") for is_file, name in sorted(found)]
    shown: list[str] = []
    for name in names:
        if sum(map(len, shown)) + 2 * len(shown) + len(name) > _LONGEST:
            break
        shown.append(name)
    more = f"{', and' if shown else ''} {len(names) - len(shown):,} more" if len(shown) < len(names) else ""
    return f"{', '.join(shown)}{more}" or "nothing"


def in_words(folder: Path, listed: str, environ: Mapping[str, str], *, asking: bool = True) -> str:
    """Return the place as the model is told it. Asks git where it may, so it is for a thread."""
    root = git.root_of(folder)
    state = git.state(root, asking=asking) if root is not None else ""
    top = f" of {one_line(str(root), 200)}" if root not in (None, folder) else ""
    checkout = "in no git checkout" if root is None else f"a git checkout{top}, {state or 'its state is not known'}"
    shell = Path(environ.get("SHELL") or "sh").name
    return "\n".join(
        (
            f"You work in the folder {one_line(str(folder), 200)} ({checkout}).",
            f"It holds: {listed}.",
            f"Today is {datetime.now().astimezone():%A, %d %B %Y}. The system is {platform.system()} "
            f"{platform.machine()}, the user's shell {one_line(shell, 30)}.",
        )
    )

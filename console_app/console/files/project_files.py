"""The files below a folder, as people mean it: without what .gitignore leaves out, bounded in number and time.

A walk may take long on a network disk or in a home folder: it belongs into a thread.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from console_app.config.files import disk

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# Left out where no .gitignore says so either: nobody means them.
IGNORED = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache"})
_LARGEST_RULES = 1_000_000  # bytes of a .gitignore


@dataclass(frozen=True, slots=True)
class Walk:
    """Paths relative to the folder, nearest first, with `/` between their parts and at the end of folders. `whole`
    says that these are all. A link to a folder is a file here: links may lead in circles."""

    paths: tuple[str, ...]
    whole: bool


def walk(
    folder: Path,
    most: int,
    longest: float,
    into: list[str] | None = None,
    going: Callable[[], bool] = lambda: True,
) -> Walk:
    """Return at most `most` paths below `folder`, in at most `longest` seconds and as long as it is `going`. They are
    added to `into` as they are found, for who looks meanwhile."""
    found: list[str] = [] if into is None else into
    rules = _Rules(folder)
    deadline = time.monotonic() + longest
    waiting = deque([""])
    whole = True
    while waiting and len(found) < most and time.monotonic() < deadline and going():
        inside = waiting.popleft()
        try:
            with os.scandir(folder / inside) as entries:
                listed = sorted((one.name, one.is_dir(follow_symlinks=False)) for one in islice(entries, most + 1))
        except OSError:
            continue  # a folder that may not be read has nothing to offer
        whole = whole and len(listed) <= most
        rules.enter(inside)
        for name, is_folder in listed:
            path = inside + name + ("/" if is_folder else "")
            if name == ".git" or (is_folder and name in IGNORED) or rules.leave_out(path):
                continue
            found.append(path)
            if is_folder:
                waiting.append(path)
    return Walk(tuple(found[:most]), whole and not waiting and len(found) <= most)


class _Rules:
    """The .gitignore files that hold below a folder: its own, those further in, and those up to its repository's top.

    The innermost that says anything about a path decides.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = os.path.abspath(folder)
        self._rules: dict[str, GitIgnoreSpec] = {}  # by absolute folder
        above = self._folder
        if any((one / ".git").exists() for one in (Path(above), *Path(above).parents)):
            while not os.path.exists(os.path.join(above, ".git")):
                above = os.path.dirname(above)
                self._read(above)
        if self.leave_out(""):  # named itself, so what is in it is wanted
            self._rules.clear()

    def enter(self, inside: str) -> None:
        """Takes the rules of a folder."""
        self._read(os.path.join(self._folder, inside).rstrip("/") or "/")

    def leave_out(self, path: str) -> bool:
        """Tell whether the rules read so far leave out `path`, whose folders were entered."""
        if not self._rules:
            return False
        whole = os.path.join(self._folder, path)
        folder = whole.rstrip("/")
        while (above := os.path.dirname(folder)) != folder:
            folder = above
            if (rules := self._rules.get(folder)) is not None:
                included = rules.check_file(whole[len(folder) :].lstrip("/")).include
                if included is not None:
                    return included
        return False

    def _read(self, folder: str) -> None:
        try:
            with disk.opened(Path(folder, ".gitignore")) as (file, _):
                lines = file.read(_LARGEST_RULES).decode("utf-8", "replace").splitlines()
        except OSError:
            return
        from pathspec import GitIgnoreSpec  # 30 ms, and only where there are such files

        try:
            self._rules[folder] = GitIgnoreSpec.from_lines(lines)
        except ValueError:
            return  # git, too, goes on without a pattern that is none

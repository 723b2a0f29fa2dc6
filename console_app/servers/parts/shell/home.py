"""The part of the home that a command can read: the working folder, and what the tools on the search path are made of.

Keys, sessions and papers lie in a home under any name. So all of it is hidden but for what is named here.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from console_app.servers.parts.folders import FolderEntry
from console_app.servers.parts.server import ToolFailedError

READS_VARIABLE: Final = "FANOUT_SHELL_READS"  # more that is read, with the separator of paths between
# Settings of git, and stores that package managers keep what they have fetched in.
_OF_TOOLS: Final = (
    *(".gitconfig", ".config/git/config", ".config/git/ignore", ".rustup", ".cargo/registry", ".cargo/git", "go/pkg"),
    *(".m2/repository", ".npm/_cacache", ".cache/pip", ".cache/uv", ".cache/go-build", ".local/lib"),
)
_MOST_LINKS: Final = 2000  # of programs on the search path that are followed


@dataclass(frozen=True, slots=True)
class HiddenHome:
    """Paths that are hidden, and those below them that are shown all the same. Neither holds a path twice."""

    hidden: Sequence[Path] = ()
    shown: Sequence[Path] = ()

    @classmethod
    def around(cls, roots: Sequence[Path]) -> HiddenHome:
        """Look for both. Where the home itself is a working folder, its names that begin with a dot are hidden."""
        homes = _outermost(_homes())
        hidden: list[Path] = []
        for home in homes:
            if home in roots:
                with os.scandir(home) as entries:
                    dots = [one.path for one in entries if one.name.startswith(".") and not one.is_symlink()]
                hidden += [Path(path) for path in dots if not path.endswith("/.git")]
            else:
                hidden.append(home)
        below = [path for path in _of_tools(homes, roots) if any(path.is_relative_to(one) for one in hidden)]
        inside = [root for root in roots if root not in homes]
        shown = [path for path in below if path not in homes and not any(path.is_relative_to(one) for one in inside)]
        return cls(hidden, _outermost([path for path in shown if path.exists()]))

    def readable(self) -> list[Path]:
        """Return paths that together hold all but what is hidden."""
        return [*self._beside(Path("/")), *self.shown]

    def _beside(self, folder: Path) -> Iterator[Path]:
        with suppress(OSError), os.scandir(folder) as entries:
            # A link leads to what stands here under its own name, or is hidden.
            for path in (Path(entry.path) for entry in entries if not entry.is_symlink()):
                if path in self.hidden:
                    continue
                if any(one.is_relative_to(path) for one in self.hidden):
                    yield from self._beside(path)
                else:
                    yield path


def _homes() -> Iterator[Path]:
    """Yield the home by the environment and by the users' database, and the folder that all of Fanout's is in."""
    named = [os.environ.get("HOME"), os.environ.get("FANOUT_HOME")]
    with suppress(KeyError):
        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    for name in named:
        home = Path(os.path.realpath(name or "/"))
        if home.is_dir() and home.parent != home:
            yield home


def _outermost(paths: Iterator[Path] | Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in sorted(set(paths), key=lambda one: len(one.parts)):
        if not any(path.is_relative_to(one) for one in found):
            found.append(path)
    return found


def _of_tools(homes: Sequence[Path], roots: Sequence[Path]) -> Iterator[Path]:
    own = [Path(os.path.expanduser(name)) for name in os.environ.get(READS_VARIABLE, "").split(os.pathsep) if name]
    yield from (path for one in own for path in (one, Path(os.path.realpath(one))))
    yield from (home / name for home in homes for name in _OF_TOOLS)
    folders = [Path(name) for name in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(name)]
    for root in roots:
        yield from _repository_of(root)
        folders += _interpreters(root)
    yield from _programs(tuple(folders), tuple(homes))


@lru_cache(maxsize=32)
def _programs(folders: Sequence[Path], homes: Sequence[Path]) -> Sequence[Path]:
    """Return the installations in the homes that these folders of programs, and the links in them, are part of."""
    found: list[Path] = []
    left = _MOST_LINKS
    for folder in folders:
        real = Path(os.path.realpath(folder))
        if not any(one.is_relative_to(home) for one in (folder, real) for home in homes):
            continue
        found += [_installation(folder, homes), _installation(real, homes)]
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink() and left:
                    left -= 1
                    found.append(_installation(Path(os.path.realpath(entry.path)).parent, homes))
    return tuple(dict.fromkeys(found))


def _installation(folder: Path, homes: Sequence[Path]) -> Path:
    """Return all that belongs to a folder of programs, which may stand beside its libraries."""
    whole = folder.parent
    if whole in homes or (whole.name == ".local" and whole.parent in homes):
        return folder
    return whole if (whole / "lib").is_dir() or (whole / "libexec").is_dir() else folder


def _interpreters(root: Path) -> Iterator[Path]:
    """Yield where the virtual environments of a folder have their Python from; a folder without one is not believed."""
    for path in root.glob("*/pyvenv.cfg"):
        for line in beginning(root, path).splitlines():
            name, _, value = line.partition("=")
            folder = Path(value.strip())
            if name.strip() == "home" and folder.is_absolute() and os.access(folder / "python3", os.X_OK):
                yield folder


def _repository_of(root: Path) -> Iterator[Path]:
    """Yield the repository of a git worktree, if it knows of this one: a file in the folder could name any place."""
    with suppress(OSError, ValueError):
        name = beginning(root, root / ".git").removeprefix("gitdir:").strip()
        folder = Path(os.path.realpath(root / name))
        if name and folder.joinpath("gitdir").read_text("utf-8").strip() == str(root / ".git"):
            yield folder.parent.parent


def beginning(root: Path, path: Path) -> str:
    """Return how a file of a folder begins; nothing where it is no regular file, or there is a link on the way."""
    with suppress(OSError, ToolFailedError), FolderEntry(root, path.relative_to(root).parts, str(path)).file() as file:
        return file.read(20_000).decode("utf-8", "replace")
    return ""

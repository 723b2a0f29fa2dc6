"""The files of a project's tree: found by name, bounded, and never through a link that leads out of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from console_app.config.files import disk
from console_app.domain import ConfigError, one_line

MOST_TEXT = 100_000  # bytes of a text that goes to a model
MOST_FILES = 500  # of one kind, and of the files beside a skill
_MOST_BESIDE = 2_000_000  # bytes of one of those
_DEEPEST = 8  # folders below each other


class Tree:
    """The project that `folder` is in: from its `top`, the root of the checkout, down to the folder. Links of the
    user's `own` files may lead anywhere."""

    def __init__(self, folder: Path, *, own: bool = False) -> None:
        self.folder = folder
        self._own = own
        self.top = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)
        self._real = self.top.resolve()

    @property
    def places(self) -> tuple[Path, ...]:
        """The folders that may bring something for a whole project: the working folder, then the top."""
        return (self.folder,) if self.folder == self.top else (self.folder, self.top)

    @property
    def down(self) -> Iterator[Path]:
        inside = self.folder.relative_to(self.top).parts
        return (self.top.joinpath(*inside[:depth]) for depth in range(len(inside) + 1))

    def holds(self, path: Path) -> bool:
        """Tell whether the path is in the tree once all its links are followed."""
        try:
            return self._own or path.resolve().is_relative_to(self._real)
        except (OSError, RuntimeError):  # links that go round in a circle
            return False

    def check(self, path: Path) -> None:
        """Raise ConfigError for a link that leads out."""
        if not self.holds(path):
            raise ConfigError(f"{one_line(str(path), 200)}: a link leads out of the project, and is not followed")

    def text(self, path: Path) -> str:
        """Return the text of a file of the tree. Raises ConfigError for a link that leads out, or one too large."""
        self.check(path)
        text = disk.read_text(path, most=MOST_TEXT)
        if "\0" in text:
            raise ConfigError(f"{one_line(str(path), 200)}: it is no text")
        return text

    def beside(self, file: Path) -> Mapping[str, str]:
        """Return the hash of each other file in the folder of `file`, by its path there. Raises ConfigError."""
        found: dict[str, str] = {}
        for path in islice(files_below(file.parent, ""), MOST_FILES + 2):
            if path == file:
                continue
            self.check(path)
            if len(found) == MOST_FILES:
                raise ConfigError(f"{one_line(str(file.parent), 200)}: more than {MOST_FILES} files lie beside it")
            found[str(path.relative_to(file.parent))] = digest(path)
        return found


def digest(path: Path) -> str:
    """Return the hash of a file. Raises ConfigError for one that can't be read, or is too large."""
    try:
        return hashlib.sha256(disk.contents(path, most=_MOST_BESIDE)).hexdigest()
    except OSError as error:
        raise ConfigError(f"can't read {one_line(str(path), 200)}: {error.strerror or error}") from None


def named_below(folder: Path, name: str) -> list[Path]:
    try:
        return sorted(folder.glob(f"*/{name}"))[:MOST_FILES]
    except OSError:
        return []


def files_below(folder: Path, ending: str) -> Iterator[Path]:
    """Yield the files under a folder by name, not those of hidden folders; no folder that is a link is entered."""
    waiting = [(folder, 0)]
    seen = 0
    while waiting and seen < 4 * MOST_FILES:
        here, depth = waiting.pop()
        try:
            with os.scandir(here) as entries:
                listed = sorted(islice(entries, 4 * MOST_FILES), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed:
            seen += 1
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < _DEEPEST:
                    waiting.insert(0, (Path(entry.path), depth + 1))
            elif entry.name.endswith(ending) and not entry.is_dir():
                yield Path(entry.path)

"""Other programs harm a file of results while a run writes to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path


def remove(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    """As an editor, `mv` or `git stash` does."""
    other = path.with_name("other")
    other.touch()
    other.replace(path)


def truncate(path: Path) -> None:
    os.truncate(path, 0)


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_link(path: Path) -> None:
    path.unlink()
    path.with_name("elsewhere").touch()
    path.symlink_to("elsewhere")


def remove_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write("a line of another\n")


def replace_both(path: Path) -> None:
    """The notes beside the results too, as a tool that keeps a folder like another does."""
    replace(path.with_name(f"{path.name}.changes"))
    replace(path)


HARMS: dict[str, Callable[[Path], None]] = {
    "removed": remove,
    "replaced": replace,
    "truncated": truncate,
    "replaced by a folder": make_folder,
    "made a link": make_link,
    "folder removed": remove_folder,
    "appended": append,
    "both replaced": replace_both,
}

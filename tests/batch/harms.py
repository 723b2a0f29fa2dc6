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


def write_over(path: Path) -> None:
    """Other content of the same length in the same file, as `rsync --inplace` or `sort -o` leaves it."""
    with path.open("r+b") as file:
        file.write(b" " * (path.stat().st_size - 1) + b"\n")


def change_a_letter(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(path.read_bytes().replace(b"earlier", b"EARLIER"))


def truncate_and_fill(path: Path) -> None:
    """The length is what it was, and zeros stand there."""
    size = path.stat().st_size
    os.truncate(path, 0)
    os.truncate(path, size)


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
    "written over": write_over,
    "changed by a letter": change_a_letter,
    "truncated and filled": truncate_and_fill,
    "replaced by a folder": make_folder,
    "made a link": make_link,
    "folder removed": remove_folder,
    "appended": append,
    "both replaced": replace_both,
}

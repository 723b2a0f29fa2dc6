"""A real disk of a megabyte or two, where this machine lets us mount one, and what happens to it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A tmpfs mounted at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read_only(self, on: bool) -> None:
        """Mounts it again, to be read only or to be written."""
        subprocess.run(["mount", "-o", f"remount,{'ro' if on else 'rw'}", str(self.path)], check=True)

    @contextmanager
    def full(self) -> Iterator[None]:
        """Not a byte of it is free meanwhile."""
        filler = self.path / "filler"
        try:
            with filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        except OSError:
            pass  # no space left: what is wanted
        try:
            yield
        finally:
            filler.unlink()


@contextmanager
def small_disk(path: Path, size: str = "3m") -> Iterator[SmallDisk]:
    """Mounts one at `path`; the test is skipped where only root may, or nobody."""
    path.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)

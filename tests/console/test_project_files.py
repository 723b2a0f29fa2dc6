"""Folders as people mean them: without what .gitignore leaves out, bounded, and with no circles."""

from __future__ import annotations

import os
from pathlib import Path

from console_app.console.files import Walk, walk


def write(folder: Path, *names: str, **texts: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def paths(folder: Path) -> set[str]:
    found = walk(folder, 1000, 60)
    assert found.whole
    return set(found.paths)


def test_nested_rules_hold_and_the_inner_ones_decide(tmp_path: Path) -> None:
    write(tmp_path, "a.log", "src/a.log", "src/keep.log", "src/a.py", "build/x/y", "node_modules/z", ".git/config")
    (tmp_path / ".gitignore").write_text("*.log\n/build/\n")
    (tmp_path / "src" / ".gitignore").write_text("!keep.log\n")
    assert paths(tmp_path) == {".gitignore", "src/", "src/.gitignore", "src/keep.log", "src/a.py"}


def test_rules_of_the_repository_hold_in_its_folders(tmp_path: Path) -> None:
    write(tmp_path, ".git/config", "src/a.log", "src/a.py", "build/out/a.js")
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    (tmp_path.parent / ".gitignore").write_text("*.py\n")  # not the repository's
    assert paths(tmp_path / "src") == {"a.py"}
    assert paths(tmp_path / "build") == {"out/", "out/a.js"}  # left out, but it was named itself


def test_what_is_large_is_walked_only_so_far_nearest_first(tmp_path: Path) -> None:
    write(tmp_path, *(f"d{n // 10}/f{n}" for n in range(100)))
    found = walk(tmp_path, 30, 60)
    assert (len(found.paths), found.whole) == (30, False)
    assert found.paths[:10] == tuple(f"d{n}/" for n in range(10))
    assert walk(tmp_path, 110, 60).whole
    assert walk(tmp_path / "gone", 10, 60) == Walk((), True)


def test_links_are_not_followed_and_rules_in_a_pipe_are_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, "a/b")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    os.mkfifo(tmp_path / ".gitignore")
    assert paths(tmp_path) == {".gitignore", "a/", "a/b", "a/up"}

"""A git worktree of an agent's own: a branch and a diff where it changed anything, nothing where it didn't."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from console_app.domain import errors
from console_app.workplace import Worktree
from tests.each import each
from tests.workplace.test_place import checkout, git

__all__ = ["checkout"]


def said(folder: Path, *words: str) -> str:
    return subprocess.run(("git", *words), cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def words(tree: Worktree) -> str:
    back = tree.close()
    assert back is not None
    return back.words


def test_what_was_changed_is_on_its_branch_alone(checkout: Path, tmp_path: Path) -> None:
    (checkout / "README.md").write_text("Not committed.\n")
    tree = Worktree.open(checkout / "src", tmp_path / "kept", "scout/deep-1")
    assert tree.folder.name == "src"
    assert (tree.path / "README.md").read_text() == "A shop.\n"
    (tree.folder / "app.py").write_text("done\n")
    (tree.folder / "new.txt").write_text("new\n")
    told = words(tree)
    assert "branch fanout/scout+deep-1, from commit" in told
    assert "-pass\n+done" in told
    assert "+new" in told
    assert not tree.path.exists()
    assert said(checkout, "worktree", "list").count("\n") == 0
    assert said(checkout, "show", "fanout/scout+deep-1:src/new.txt") == "new"
    assert (checkout / "README.md").read_text() == "Not committed.\n"
    assert (checkout / "src" / "app.py").read_text() == "pass\n"


def test_where_nothing_was_changed_nothing_is_left(checkout: Path, tmp_path: Path) -> None:
    tree = Worktree.open(checkout, tmp_path / "kept", "one")
    assert tree.close() is None
    assert said(checkout, "branch", "--list", "fanout/*") == ""
    assert not tree.path.exists()


def test_one_that_was_cut_goes_on_where_it_was(checkout: Path, tmp_path: Path) -> None:
    (Worktree.open(checkout, tmp_path / "kept", "one").folder / "half.txt").write_text("half\n")
    again = Worktree.open(checkout, tmp_path / "kept", "one")
    assert (again.folder / "half.txt").read_text() == "half\n"
    assert "+half" in words(again)
    third = Worktree.open(checkout, tmp_path / "kept", "one")
    assert (third.folder / "half.txt").read_text() == "half\n", "its branch is there"
    assert "+half" in words(third)


def test_no_program_of_the_checkout_runs(checkout: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for name in ("post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        hook = checkout / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >> {ran}\n")
        hook.chmod(0o755)
    program = f"sh -c 'echo filter >> {ran}; cat'"
    for key, value in {
        "core.fsmonitor": f"sh -c 'echo fsmonitor >> {ran}'",
        "filter.evil.smudge": program,
        "filter.evil.clean": program,
        "filter.evil.required": "true",
        "diff.evil.textconv": program,
        "diff.external": program,
        "commit.gpgSign": "true",
        "gpg.program": program,
    }.items():
        git(checkout, "config", key, value)
    (checkout / ".git" / "info").mkdir(exist_ok=True)
    (checkout / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")
    tree = Worktree.open(checkout, tmp_path / "kept", "one")
    (tree.folder / "src" / "app.py").write_text("done\n")
    assert "+done" in words(tree)
    assert not ran.exists(), ran.read_text()


def test_the_changes_are_taken_all_or_none(checkout: Path, tmp_path: Path) -> None:
    tree = Worktree.open(checkout, tmp_path / "kept", "one")
    (tree.folder / "README.md").write_text("A better shop.\n")
    (tree.folder / "picture.bin").write_bytes(bytes(range(256)))
    back = tree.close()
    assert back is not None
    (checkout / "README.md").write_text("Mine.\n")
    with pytest.raises(errors.ToolError, match="README"):
        Worktree.apply(checkout, back.base, back.branch)
    assert not (checkout / "picture.bin").exists()
    (checkout / "README.md").write_text("A shop.\n")
    Worktree.apply(checkout / "src", back.base, back.branch)
    assert (checkout / "README.md").read_text() == "A better shop.\n"
    assert (checkout / "picture.bin").read_bytes() == bytes(range(256))
    for base, branch in ((back.base, "--output=x"), ("HEAD", back.branch), (back.base, "fanout/none")):
        with pytest.raises(errors.ToolError):
            Worktree.apply(checkout, base, branch)


def no_repository(folder: Path) -> Path:
    (folder / "plain").mkdir()
    return folder / "plain"


def no_commit(folder: Path) -> Path:
    (folder / "empty").mkdir()
    git(folder / "empty", "init")
    return folder / "empty"


@each(("where", "says"), [(no_repository, "is in no git repository"), (no_commit, "the repository has no commit yet")])
def test_without_a_commit_to_begin_at_it_says_so(tmp_path: Path, where: Callable[[Path], Path], says: str) -> None:
    with pytest.raises(errors.ToolError, match=says):
        Worktree.open(where(tmp_path), tmp_path / "kept", "one")

"""A git worktree of an agent's own: it begins at the newest commit, and its changes become a branch and a diff.

A checkout's configuration may name programs: hooks, filters of files, fsmonitor. None of those runs here; filters that
the user's own configuration names do.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from console_app.config.files import disk
from console_app.domain import errors, one_line, ports
from console_app.workplace import git

LIMIT = 120.0  # seconds for one command: a checkout may be large
MOST_DIFF = 20_000  # characters of a diff that is handed back
_NEEDED = "the agent works in a git worktree of its own"
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_DOTS = re.compile(r"\.{2,}")
_QUIET = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false"),
    *("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false", "-c", "core.quotePath=false"),
)


@dataclass(frozen=True, slots=True)
class Worktree:
    """The worktree of an agent. `folder` is where it works, `base` the commit at which `branch` began."""

    root: Path  # of the checkout that it belongs to
    path: Path
    folder: Path
    branch: str
    base: str
    _options: tuple[str, ...]

    @classmethod
    def open(cls, folder: Path, kept: Path, name: str) -> Worktree:
        """Make the worktree called `name` for the checkout of `folder`, or go on with the one there is. May take a
        while. Raises ToolError where there is no repository, no commit, or git can't."""
        if (root := git.root_of(folder)) is None:
            raise errors.ToolError(
                f"{_NEEDED}, and {one_line(str(folder), 200)} is in no git repository", "Run git init and commit there."
            )
        options = (*_QUIET, *_without_filters(root))
        name = _DOTS.sub(".", name.replace("/", "+"))
        path = kept / hashlib.sha256(os.fsencode(root)).hexdigest()[:12] / name
        branch = f"fanout/{name}"
        head = _git(root, options, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", may_fail=True).strip()
        if not head:
            raise errors.ToolError(f"{_NEEDED}, and the repository has no commit yet")
        _git(root, options, "worktree", "prune")
        there = _git(root, options, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", may_fail=True).strip()
        if not (path / ".git").exists():
            disk.private_folder(path.parent)
            words = (str(path), branch) if there else ("-b", branch, str(path), head)
            _git(root, options, "worktree", "add", "--quiet", *words)
        base, place = _git(root, options, "merge-base", head, branch).strip(), path / folder.relative_to(root)
        place.mkdir(parents=True, exist_ok=True)  # a folder that is in no commit yet
        return cls(root, path, place, branch, base, options)

    def close(self) -> ports.HandedBack | None:
        """Commit what was changed and take the worktree away, its branch too where nothing was. Return the branch and
        the diff, None where there is none. Raises ToolError where git can't; then all stays as it is."""
        self._here("add", "--all")
        if self._here("diff", "--cached", "--name-only").strip():
            self._here("commit", "--quiet", "--no-verify", "--message", f"Changes of the agent {self.path.name}")
        changed = self._here("rev-parse", "HEAD").strip() != self.base
        told = ports.HandedBack(self._told(), self.branch, self.base) if changed else None
        _git(self.root, self._options, "worktree", "remove", "--force", str(self.path))
        if not changed:
            _git(self.root, self._options, "branch", "--quiet", "-D", self.branch)
        with suppress(OSError):
            self.path.parent.rmdir()
        return told

    @staticmethod
    def apply(folder: Path, base: str, branch: str) -> None:
        """Make the changes of a branch in the files of a checkout, all or none. Raises ToolError where they don't
        fit, or there is no such branch."""
        if (root := git.root_of(folder)) is None or not _COMMIT.fullmatch(base) or not branch.startswith("fanout/"):
            raise errors.ToolError(f"there is no branch {one_line(branch, 60)} here")
        options, plain = (*_QUIET, *_without_filters(root)), ("--no-color", "--no-ext-diff", "--no-textconv")
        diff = _git(root, options, "diff", "--binary", *plain, f"{base}..{branch}")
        _git(root, options, "apply", "--whitespace=nowarn", "-", given=diff)

    def _told(self) -> str:
        plain = ("diff", "--no-color", "--no-ext-diff", "--no-textconv")
        files = self._here(*plain, "--stat", f"{self.base}..HEAD").rstrip()
        diff = self._here(*plain, f"{self.base}..HEAD")
        more = f"[…] git diff {self.base[:8]}..{self.branch} shows the rest.\n" if len(diff) > MOST_DIFF else ""
        return (
            f"It worked in a git worktree of its own. Its changes are on the branch {self.branch}, from commit "
            f"{self.base[:8]} on, and nowhere else:\n{files}\n```diff\n{diff[:MOST_DIFF]}```\n{more}"
        )

    def _here(self, *words: str) -> str:
        return _git(self.path, self._options, *words)


def _without_filters(root: Path) -> list[str]:
    """Return the options that switch off the filters which the checkout's own configuration names."""
    said = _git(
        root, _QUIET, "config", "--includes", "--show-scope", "--name-only", "--get-regexp", r"^filter\.", may_fail=True
    )
    names = {
        key for scope, _, key in (line.partition("\t") for line in said.splitlines()) if scope in ("local", "worktree")
    }
    values = {key: "false" if key.endswith(".required") else "" for key in names}
    return [word for key, value in sorted(values.items()) for word in ("-c", f"{key}={value}")]


def _environ() -> Mapping[str, str]:
    own = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    who = {f"GIT_{role}_{what}": word for role in ("AUTHOR", "COMMITTER") for what, word in _WHO.items()}
    return (
        own
        | who
        | {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "LC_ALL": "C.UTF-8"}
    )


_WHO = {"NAME": "Fanout", "EMAIL": "agent@fanout.invalid"}


def _git(folder: Path, options: tuple[str, ...], *words: str, given: str = "", may_fail: bool = False) -> str:
    try:
        done = subprocess.run(
            ("git", "--no-pager", *options, *words),
            cwd=folder,
            env=_environ(),
            input=given.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=LIMIT,
            start_new_session=True,
            check=False,
        )
    except FileNotFoundError:
        raise errors.ToolError(f"{_NEEDED}, and git is not installed") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise errors.ToolError(f"git {words[0]}: {one_line(str(error), 300)}") from None
    if done.returncode and not may_fail:
        raise errors.ToolError(f"git {words[0]}: {one_line(done.stderr.decode('utf-8', 'replace'), 300)}")
    return done.stdout.decode("utf-8", "surrogateescape")

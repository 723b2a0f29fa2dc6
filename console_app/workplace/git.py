"""Git tells a conversation the branch of its checkout and whether that is clean, and gives an agent a worktree of its
own, which begins at the newest commit and whose changes become a branch and a diff.

A `.git/config` may name programs: for fsmonitor, for hooks, for filters of files. None of those runs here; filters that
the user's own configuration names do. For the state git is asked with a folder of its own in place of `.git`, which has
the checkout's commit, index and objects and none of its configuration.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from console_app.config.files import disk
from console_app.domain import ConfigError, errors, one_line, ports
from console_app.records import dataclass
from console_app.search_path import search_path

LIMIT = 1.5  # seconds
_LARGEST = 64_000  # bytes of a file in `.git` that is read
_LARGEST_REFS = 4_000_000
_LONGEST_BRANCH = 60  # characters
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"ref: (refs/[^\s\0]+)")


def root_of(folder: Path) -> Path | None:
    """Return the top of the checkout that `folder` is in; None where it is in none."""
    return next((one for one in (folder, *folder.parents) if os.path.exists(one / ".git")), None)


def state(root: Path, *, asking: bool = True) -> str:
    """Return the branch and, where git is to be asked, whether all is committed, as `branch main, clean`; "" for what
    can't be told. Waits for at most `LIMIT` seconds, and is for a thread."""
    try:
        own = _git_folder(root)
        head = disk.read_text(own / "HEAD", most=_LARGEST).strip()
        common = own / disk.read_text(own / "commondir", most=_LARGEST).strip() if (own / "commondir").exists() else own
        branch, commit = _head(own, common, head)
    except (ConfigError, OSError, ValueError):
        return ""
    with suppress(OSError, ValueError, ConfigError):
        if not asking:
            return branch
        clean = _is_clean(root, own, common, commit)
        return branch if clean is None else f"{branch}, {'clean' if clean else 'not clean'}"
    return branch


def _git_folder(root: Path) -> Path:
    """Return the folder of the checkout's state; `.git` is a file with its path in worktrees and submodules."""
    git = root / ".git"
    if git.is_dir():
        return git
    kind, _, path = disk.read_text(git, most=_LARGEST).strip().partition(": ")
    if kind != "gitdir":
        raise ValueError
    return root / path


def _head(own: Path, common: Path, head: str) -> tuple[str, str]:
    """Return the branch in words and the commit, "" before the first one."""
    if (named := _REF.fullmatch(head)) is None:
        if not _COMMIT.fullmatch(head):
            raise ValueError
        return f"no branch, at commit {head[:8]}", head
    ref = named[1]
    if ".." in ref.split("/") or ref.endswith("/.invalid"):
        raise ValueError
    branch = f"branch {one_line(ref.removeprefix('refs/heads/'), _LONGEST_BRANCH)}"
    for folder in (own, common):
        if (folder / ref).is_file():
            commit = disk.read_text(folder / ref, most=_LARGEST).strip()
            return branch, commit if _COMMIT.fullmatch(commit) else ""
    if (packed := common / "packed-refs").is_file():
        for line in disk.read_text(packed, most=_LARGEST_REFS).splitlines():
            commit, _, name = line.partition(" ")
            if name == ref and _COMMIT.fullmatch(commit):
                return branch, commit
    return branch, ""


def _is_clean(root: Path, own: Path, common: Path, commit: str) -> bool | None:
    """Tell whether the index is that of the commit and the files those of the index; None where git can't say."""
    with tempfile.TemporaryDirectory(prefix="fanout-git-") as name:
        stand_in = Path(name)
        (stand_in / "refs").mkdir()
        (stand_in / "HEAD").write_text(f"{commit or 'ref: refs/heads/none'}\n", encoding="utf-8")
        format_ = "1" if len(commit) > 40 else "0"
        more = "[extensions]\nobjectFormat = sha256\n" if len(commit) > 40 else ""
        (stand_in / "config").write_text(f"[core]\nrepositoryFormatVersion = {format_}\n{more}", encoding="utf-8")
        if (common / "info" / "exclude").is_file():
            (stand_in / "info").mkdir()
            text = disk.read_text(common / "info" / "exclude", most=_LARGEST)
            (stand_in / "info" / "exclude").write_text(text, encoding="utf-8")
        environ = {
            **_environ(root),
            "GIT_DIR": name,
            "GIT_WORK_TREE": str(root),
            "GIT_INDEX_FILE": str(own / "index"),
            "GIT_OBJECT_DIRECTORY": str(common / "objects"),
            "GIT_OPTIONAL_LOCKS": "0",
        }
        options = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
        asks = ("status", "--porcelain", "--ignore-submodules=all", "--untracked-files=normal")
        code, said = _run(["git", *options, *asks], root, environ)
        return None if code != 0 else not said


def _run(words: list[str], folder: Path, environ: Mapping[str, str]) -> tuple[int, bytes]:
    """Run a program for at most `LIMIT` seconds; return its exit code and the beginning of what it said."""
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=LIMIT)
        return process.returncode, said[:_LARGEST]
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return -1, b""


LONGEST = 120.0  # seconds for one command: a checkout may be large
MOST_DIFF = 20_000  # characters of a diff that is handed back
_NEEDED = "the agent works in a git worktree of its own"
_BASE = re.compile(r"[0-9a-f]{40,64}")
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
        if (root := root_of(folder)) is None:
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
        if (root := root_of(folder)) is None or not _BASE.fullmatch(base) or not branch.startswith("fanout/"):
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
        return _git(self.root, ("-C", str(self.path), *self._options), *words)


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


def _environ(folder: Path) -> Mapping[str, str]:
    own = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    who = {"NAME": "Fanout", "EMAIL": "agent@fanout.invalid"}
    return (
        own
        | {f"GIT_{role}_{what}": word for role in ("AUTHOR", "COMMITTER") for what, word in who.items()}
        | {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "LC_ALL": "C.UTF-8"}
        | {"PATH": search_path(os.environ, folder)}
    )


def _git(folder: Path, options: tuple[str, ...], *words: str, given: str = "", may_fail: bool = False) -> str:
    try:
        done = subprocess.run(
            ("git", "--no-pager", *options, *words),
            cwd=folder,
            env=_environ(folder),
            input=given.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=LONGEST,
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

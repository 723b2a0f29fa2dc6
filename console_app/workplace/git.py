"""Tells the branch of a checkout and whether it is clean, and runs nothing that the checkout's own configuration names.

A `.git/config` may name programs: for fsmonitor, for hooks, for filters of files. So git is asked with a folder of its
own in place of `.git`, which has the checkout's commit, index and objects and none of its configuration.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from console_app.config.files import disk
from console_app.domain import ConfigError, one_line

LIMIT = 1.5  # seconds
_LARGEST = 64_000  # bytes of a file in `.git` that is read
_LARGEST_REFS = 4_000_000
_LONGEST_BRANCH = 60  # characters
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"ref: (refs/[^\s\0]+)")


def root_of(folder: Path) -> Path | None:
    """Return the top of the checkout that `folder` is in; None where it is in none."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


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
    if (program := shutil.which("git")) is None:
        return None
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
        environ = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | {
            "GIT_DIR": name,
            "GIT_WORK_TREE": str(root),
            "GIT_INDEX_FILE": str(own / "index"),
            "GIT_OBJECT_DIRECTORY": str(common / "objects"),
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }
        options = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
        asks = ("status", "--porcelain", "--ignore-submodules=all", "--untracked-files=normal")
        code, said = _run([program, *options, *asks], root, environ)
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

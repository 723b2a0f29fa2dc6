"""Names in the working folder that give a command power over later ones, kept as they were before it.

Those are git's hooks and configuration, profiles of shells, and settings of Fanout, of editors and of other agents. A
sandbox makes those read-only that are there. What comes under such a name while a command runs is renamed within
a moment. All of it is done by descriptors of folders, since a command may put a link in any path's way.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from console_app.servers.parts.folders import FolderEntry
from console_app.servers.parts.server import ToolFailedError
from console_app.servers.parts.shell.home import beginning

UNTRUSTED: Final = ".untrusted"  # is added to the name of what a command has put there
OF_GIT: Final = ("hooks", "config", "config.worktree", "commondir", "modules", "info/attributes")
OF_FOLDER: Final = (
    *(".fanout", "mcp.json", ".mcp.json", ".vscode", ".idea", ".claude", ".codex", ".cursor", ".gemini", ".agents"),
    *(".opencode", "opencode.json", "opencode.jsonc", ".qwen", ".kiro", ".windsurf", ".zed", ".github/hooks", ".vibe"),
    *(".gitmodules", ".gitconfig", ".husky", ".envrc", ".config/git", ".config/fish", ".config/fanout", ".ssh"),
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile"),
    *(".zlogin", ".local/share/fanout", ".local/state/fanout", "Library/LaunchAgents", ".config/autostart"),
)
_OF_WORKTREE: Final = ("config.worktree", "commondir")
_FIRST: Final = frozenset(name.partition("/")[0] for name in OF_FOLDER)
_BARE: Final = frozenset({"HEAD", "objects", "refs"})  # git takes a folder of these for a repository
_LOOKED_FOR: Final = _FIRST | _BARE | {".git"}
_MOST_LOOKED_AT: Final = 1000  # folders of a root in which such names are looked for
_DEEP: Final = 3
_LARGEST_KEPT: Final = 1 << 20  # bytes of a file that can be put back
# Lines of a repository's configuration that run nothing, as `git init`, `git clone` and `git branch` write them.
_HARMLESS_LINE: Final = re.compile(
    r'\s*(?:[#;].*|\[(?:core|user|init|pull|push|(?:remote|branch) "[\w./-]+")\]|'
    r"(?:repositoryformatversion|filemode|bare|ignorecase|logallrefupdates|precomposeunicode|symlinks|name|email|fetch|"
    r"merge|remote|rebase|autocrlf|eol|safecrlf|quotepath|longpaths|defaultbranch|default|autosetupremote|ff)"
    r"\s*=[^\\]*|"
    r"url\s*=(?!.*::)[^\\]*)?",
    re.IGNORECASE,
)
_TICK: Final = 50_000_000  # nanoseconds in which a folder may change twice at the same time of the clock
_known: dict[str, tuple[int, frozenset[str], Sequence[str]]] = {}  # when it last changed, and what was in it
_HOOKS: Final = re.compile(r'^\s*hookspath\s*=\s*"?([^"\n#;]+)', re.IGNORECASE | re.MULTILINE)
_OF_BRANCHES: Final = re.compile(r'\s*\[(?:user|(?:remote|branch) "[\w./-]+")\]\s*')
Identity = tuple[int, int, int, str]


@dataclass(slots=True)
class ProtectedNames:
    """The names below the roots as they are before a command runs. `repositories` are the folders of git's own."""

    roots: Sequence[Path] = ()
    there: list[Path] = field(default_factory=list[Path])
    repositories: list[Path] = field(default_factory=list[Path])
    _whole: bool = False
    _crowded: bool = True  # more folders than are looked at were there before; else of new ones ten times as many are
    _left_out: bool = False
    _before: dict[Path, Identity | None] = field(default_factory=dict[Path, Identity | None])
    _above: dict[Path, Identity] = field(default_factory=dict[Path, Identity])
    _were: dict[Path, tuple[int, bytes | None]] = field(default_factory=dict[Path, tuple[int, bytes | None]])

    @classmethod
    def of(cls, roots: Sequence[Path], *, remember: bool) -> ProtectedNames:
        """Look at the names, and keep the files. `remember` keeps those in folders too, that a sandbox can't hold.

        A sandbox that mounts a file no longer holds it once another process renames a new one over it.
        """
        guard = cls(roots, _whole=remember)
        for root, path, is_repository in guard._names():
            if is_repository:
                guard.repositories.append(path)
            # A link is its target's name, which is held if it is in a root, and can't be written else.
            elif Path(real := os.path.realpath(path)).is_relative_to(root):
                guard.there.append(Path(real))
            replaceable = path.is_symlink() or path.is_dir()  # else it is put back
            guard._before[path] = _identity(path) if replaceable and not is_repository else None
            guard._above |= {one: _identity(one) for one in path.parents if one != root and one.is_relative_to(root)}
        guard._crowded = guard._left_out
        for root, file in guard._held():
            try:
                with _entry(root, file).file() as opened:
                    status = os.fstat(opened.fileno())
                    kept = opened.read() if status.st_size <= _LARGEST_KEPT else None
                    guard._were[file] = (status.st_mode & 0o7777, kept)
            except (OSError, ToolFailedError):  # a link, or not to be read
                guard._before[file] = _identity(file)
        return guard

    def put_back(self) -> list[str]:
        """Rename what has come under these names, and restore what was changed. Return what was put right."""
        said: list[str] = []
        for root, path, is_repository in list(self._names()):
            moved = any(one in self._above and _identity(one) != self._above[one] for one in path.parents)
            same = path in self._before and self._before[path] in (None, _identity(path)) and not moved
            if not is_repository and not self._is_harmless(root, path) and (not same or path in self.repositories):
                said += _renamed(root, path)
        for root, file in list(self._held()):
            known = file in self._were or self._before.get(file) == _identity(file)
            if not known and file.suffix.rstrip("0123456789") != UNTRUSTED:
                said += _renamed(root, file)
        for file, (mode, content) in self._were.items():
            if content is None:
                continue
            root = next(one for one in self.roots if file.is_relative_to(one))
            now = _content(root, file)
            if now is not None and file.name == "config" and _runs_nothing_new(content, now):
                self._were[file] = mode, now  # as a branch that you make or push meanwhile changes it
            elif now != content:
                said += _restored(root, file, mode, content)
        return said

    def _held(self) -> Iterator[tuple[Path, Path]]:
        """Yield the files at and below the names, with their root."""
        for path in self.there:
            root = next(one for one in self.roots if path.is_relative_to(one))
            if not path.is_dir() or path.is_symlink():
                yield from [(root, path)] if os.path.lexists(path) else []
                continue
            for folder, folders, names in os.walk(path) if self._whole else ():
                links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
                yield from ((root, Path(folder, name)) for name in (*names, *links))

    def _names(self) -> Iterator[tuple[Path, Path, bool]]:
        """Yield the names that are there, each with its root and whether it is a repository.

        Repositories are found in every folder, other names three deep.
        """
        self._left_out = False
        for root in self.roots:
            left, level, deep = _MOST_LOOKED_AT * (1 if self._crowded else 10), [str(root)], 0
            while level:
                below: list[str] = []
                for folder in level:
                    names, folders = _looked_at(folder)
                    below += folders[:left]
                    self._left_out |= len(folders) > left
                    left -= min(left, len(folders))
                    for name in OF_FOLDER if deep < _DEEP and not _FIRST.isdisjoint(names) else ():
                        if os.path.lexists(path := Path(folder, name)):
                            yield root, path, False
                    if ".git" in names or names >= _BARE:
                        yield from (
                            (root, *one) for one in _of_git(root, Path(folder, ".git" if ".git" in names else ""))
                        )
                level, deep = below, deep + 1

    def _is_harmless(self, root: Path, path: Path) -> bool:
        """Tell whether git has made this itself, for a new repository or worktree, so that it runs nothing."""
        if path.name in ("hooks", "modules"):
            is_folder = path.is_dir() and not path.is_symlink()
            return is_folder and all(name.endswith(".sample") for _, _, names in os.walk(path) for name in names)
        text = beginning(root, path)
        if path.name == "config":
            return 0 < len(text) < 10_000 and all(map(_HARMLESS_LINE.fullmatch, text.splitlines()))
        if path.name == ".git":
            real = Path(os.path.realpath(path.parent / text.removeprefix("gitdir:").strip()))
            return any(real.parent == repository / "worktrees" for repository in self.repositories)
        return path.name == "commondir" and path.parent.parent.name == "worktrees" and text.strip() == "../.."


def _looked_at(folder: str) -> tuple[frozenset[str], Sequence[str]]:
    """Return which of the first names are in a folder, and the folders in it; known ones are not read again."""
    try:
        changed = os.stat(folder).st_ctime_ns
        if (known := _known.get(folder)) is not None and known[0] == changed:
            return known[1:]
        with os.scandir(folder) as scanned:
            entries = list(scanned)
    except OSError:
        return frozenset(), ()
    names = frozenset(entry.name for entry in entries) & _LOOKED_FOR
    folders = [one.path for one in entries if one.name != ".git" and one.is_dir(follow_symlinks=False)]
    if len(_known) > 20 * _MOST_LOOKED_AT:
        _known.clear()
    if time.time_ns() - changed > _TICK:
        _known[folder] = (changed, names, folders)
    return names, folders


def _of_git(root: Path, repository: Path) -> Iterator[tuple[Path, bool]]:
    """Yield what is a power in a repository, and the folder that its configuration says hooks are in."""
    if not repository.is_dir() or repository.is_symlink():
        yield repository, False  # it says where the repository is
        return
    yield repository, True
    for path in (repository / name for name in OF_GIT):
        if os.path.lexists(path):
            yield path, False
    with suppress(OSError):
        for worktree in repository.glob("worktrees/*"):
            yield from ((worktree / name, False) for name in _OF_WORKTREE if os.path.lexists(worktree / name))
    for named in _HOOKS.findall(beginning(root, repository / "config")):
        path = Path(os.path.normpath(repository.parent / named.strip()))
        if root in path.parents and os.path.lexists(path):
            yield path, False


def _identity(path: Path) -> Identity:
    try:
        status = path.lstat()
        leads = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
    except OSError:
        return 0, 0, 0, ""
    return status.st_dev, status.st_ino, stat.S_IFMT(status.st_mode), leads  # a number is used again at once


def _entry(root: Path, path: Path) -> FolderEntry:
    return FolderEntry(root, path.relative_to(root).parts, str(path))


def _renamed(root: Path, path: Path) -> list[str]:
    with suppress(OSError, ToolFailedError), _entry(root, path).folder(parent=True) as folder:
        for number in (*range(20), time.time_ns()):  # the last is a name that a command can't have taken before
            name = f"{path.name}{UNTRUSTED}{number or ''}"
            if not _is_in(folder, name):
                os.rename(path.name, name, src_dir_fd=folder, dst_dir_fd=folder)
                return [f"{path} was renamed to {name}"]
    return []


def _content(root: Path, file: Path) -> bytes | None:
    with suppress(OSError, ToolFailedError), _entry(root, file).file() as opened:
        return opened.read(_LARGEST_KEPT + 1)
    return None


def _runs_nothing_new(before: bytes, now: bytes) -> bool:
    """Tell whether git's configuration has changed only in what it knows of branches, remotes and the user."""
    (known, rest), (found, rest_now) = _of_branches(before), _of_branches(now)
    new = [line for line in found if line not in known]
    return len(now) <= _LARGEST_KEPT and rest == rest_now and all(map(_HARMLESS_LINE.fullmatch, new))


def _of_branches(text: bytes) -> tuple[list[str], list[str]]:
    """The lines of such sections, and all others."""
    found: tuple[list[str], list[str]] = [], []
    into = found[1]
    for line in text.decode("utf-8", "surrogateescape").rstrip("\n").split("\n"):
        if line.lstrip().startswith("["):
            into = found[0] if _OF_BRANCHES.fullmatch(line) and b"\\\n" not in text else found[1]
        into.append(line)
    return found


def _restored(root: Path, file: Path, mode: int, content: bytes) -> list[str]:
    with suppress(OSError, ToolFailedError), _entry(root, file).folder(parent=True, make=True) as folder:
        said = _renamed(root, file) if _is_in(folder, file.name) else []
        descriptor = os.open(file.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as new:
            new.write(content)
            os.fchmod(descriptor, mode)
        return [*said, f"{file} was put back as it was"]
    return []


def _is_in(folder: int, name: str) -> bool:
    with suppress(OSError):
        os.stat(name, dir_fd=folder, follow_symlinks=False)
        return True
    return False

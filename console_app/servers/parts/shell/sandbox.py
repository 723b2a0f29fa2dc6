"""The sandbox around a command: it writes only in its folders and a temporary one, and reaches no network.

Which kind this machine can have is found out once, by doing: a command in it must fail to write outside. Names that
give a command power over later ones (git's hooks and configuration, profiles of shells, settings of Fanout, of editors
and of other agents) are read-only where they are. Where they are not there yet, or Landlock can't except them, they are
put back as they were when the command has ended.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from console_app.servers.parts.shell import kernel_sandbox

Kind = Literal["bubblewrap", "Landlock", "sandbox-exec", ""]
SAYS: Final[dict[Kind, str]] = {
    "bubblewrap": "sandboxed (bubblewrap): it writes only in the working folder and a temporary one, without a network",
    "Landlock": "sandboxed more weakly (Landlock and seccomp): it writes only in the working folder and a temporary "
    "one, without a network; modes and times of other files can be changed",
    "sandbox-exec": "sandboxed (sandbox-exec): it writes only in the working folder and a temporary one, without a "
    "network",
    "": "not sandboxed: neither bubblewrap nor Landlock works here",
}
NETWORK_VARIABLE: Final = "FANOUT_SHELL_NETWORK"
KIND_VARIABLE: Final = "FANOUT_SHELL_SANDBOX"  # names the only kind to be tried, or `off`
_PROBE_SECONDS: Final = 10.0
_OF_GIT: Final = ("hooks", "config", "config.worktree", "commondir", "modules", "info/attributes")
_OF_FOLDER: Final = (
    *(".fanout", "mcp.json", ".mcp.json", ".vscode", ".idea", ".claude", ".codex", ".cursor", ".gemini", ".agents"),
    *(".gitmodules", ".gitconfig", ".husky", ".envrc", ".config/git", ".config/fish", ".config/fanout", ".ssh"),
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile"),
    *(".zlogin", ".local/share/fanout", ".local/state/fanout", "Library/LaunchAgents", ".config/autostart"),
)
_MOST_LOOKED_AT: Final = 1000  # folders in which a repository is looked for
_LARGEST_KEPT: Final = 1 << 20  # bytes of a file that can be put back


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A kind of sandbox. `temporary` is the one folder beside the roots that commands may write in."""

    kind: Kind
    network: bool = False
    off: bool = False

    @property
    def says(self) -> str:
        """The word on what holds, as people and the model are told it."""
        said = f"not sandboxed: {KIND_VARIABLE}=off" if self.off else SAYS[self.kind]
        return said.replace("without a network", "with the network") if self.network else said

    @property
    def holds(self) -> bool:
        """Tell whether there is one."""
        return self.kind != ""

    def around(self, argv: Sequence[str], roots: Sequence[Path], temporary: Path, guard: ProtectedNames) -> list[str]:
        """Return the command line that runs `argv` in it. Landlock is put on by the keeper, without a program."""
        match self.kind:
            case "bubblewrap":
                return [*_bwrap(roots, temporary, guard, network=self.network), "--", *argv]
            case "sandbox-exec":
                return ["sandbox-exec", "-p", _profile(roots, temporary, guard, network=self.network), *argv]
            case _:
                return list(argv)


def _bwrap(roots: Sequence[Path], temporary: Path, guard: ProtectedNames, *, network: bool) -> list[str]:
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += ["--share-net"] if network else []
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    # Services of this machine listen on sockets there, that a network of one's own doesn't keep away.
    words += ["--tmpfs", "/run"] if os.path.isdir("/run") else []
    words += ["--bind", str(temporary), "/tmp"]
    for kept in ("/run/current-system", "/run/systemd/resolve") if network else ("/run/current-system",):
        words += ["--ro-bind-try", kept, kept]
    for folder in (*roots, temporary):
        words += ["--bind", str(folder), str(folder)]
    words += ["--ro-bind-try", str(outputs := temporary.with_name("output")), str(outputs)]
    for path in guard.repositories:  # so that none is moved away and another made in its place
        words += ["--bind", str(path), str(path)]
    for path in guard.there:
        words += ["--ro-bind", str(path), str(path)]
    return words


def _profile(roots: Sequence[Path], temporary: Path, guard: ProtectedNames, *, network: bool) -> str:
    def named(paths: Sequence[Path]) -> str:
        quoted = (str(path).replace("\\", "\\\\").replace('"', '\\"') for path in paths)
        return " ".join(f'(subpath "{path}")' for path in quoted)

    devices = '(literal "/dev/null") (literal "/dev/zero") (regex #"^/dev/tty") (regex #"^/dev/fd/")'
    lines = [
        "(version 1)(allow default)(deny file-write*)",
        f"(allow file-write* {named([*roots, temporary])} {devices})",
        f"(deny file-write* {named([*guard.there, *guard.missing])})",
        "" if network else "(deny network*)",
    ]
    return "".join(lines)


@dataclass(slots=True)
class ProtectedNames:
    """Names below the roots that no command may have the say over, as they are before it runs."""

    there: list[Path] = field(default_factory=list[Path])
    missing: list[Path] = field(default_factory=list[Path])
    repositories: list[Path] = field(default_factory=list[Path])
    _were: dict[Path, tuple[int, bytes]] = field(default_factory=dict[Path, tuple[int, bytes]])

    @classmethod
    def of(cls, roots: Sequence[Path], *, remember: bool) -> ProtectedNames:
        """Look at the names. `remember` keeps the files themselves, for a sandbox that can't hold them."""
        guard = cls()
        for root in roots:
            names = [root / name for name in _OF_FOLDER]
            for repository in _repositories(root):
                if repository.is_dir() and not repository.is_symlink():
                    guard.repositories.append(repository)
                    names += [repository / name for name in _OF_GIT]
                elif repository.exists():
                    names.append(repository)  # a file that says where it is
            for path in names:
                (guard.there if os.path.lexists(path) else guard.missing).append(path)
            if not (root / ".git").exists():
                guard.missing += [root / ".git" / name for name in _OF_GIT]
        # A link is its target's name: what it leads to is guarded if it is in a root, and can't be written else.
        guard.there = [path for path in guard.there if not path.is_symlink()]
        if remember:
            guard._remember()
        return guard

    def _remember(self) -> None:
        for path in self.there:
            for file in _files(path):
                with suppress(OSError):
                    if (status := file.stat()).st_size <= _LARGEST_KEPT:
                        self._were[file] = (status.st_mode & 0o7777, file.read_bytes())

    def put_back(self, into: Path) -> list[str]:
        """Move what has come under these names to `into`, and restore what was changed. Return what was put right."""
        said: list[str] = []
        for path in self.missing:
            if os.path.lexists(path) and not _harmless(path):
                with suppress(OSError):
                    into.mkdir(parents=True, exist_ok=True)
                    target = Path(tempfile.mkdtemp(dir=into)) / path.name
                    shutil.move(path, target)
                    said.append(f"{path} was moved to {target}")
        known = {file.parent for file in self._were} | {path for path in self.there if path.is_dir()}
        for folder in known if self._were else ():
            for file in _files(folder):
                if file not in self._were and any(file.is_relative_to(path) for path in self.there):
                    with suppress(OSError):
                        file.unlink()
                        said.append(f"{file} was taken away")
        for file, (mode, content) in self._were.items():
            with suppress(OSError):
                if not file.is_symlink() and file.is_file() and file.read_bytes() == content:
                    continue
                if os.path.lexists(file):
                    shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink()
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
                file.chmod(mode)
                said.append(f"{file} was put back as it was")
        return said


def _harmless(path: Path) -> bool:
    """Tell whether git made this itself, for a new repository: samples of hooks run never."""
    if path.name in ("hooks", "attributes", "modules"):
        return all(file.suffix == ".sample" for file in _files(path))
    return False


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir() and not path.is_symlink():
        for folder, _, names in os.walk(path):
            yield from (Path(folder, name) for name in names)
    elif os.path.lexists(path):
        yield path


def _repositories(root: Path) -> Iterator[Path]:
    """Yield the `.git` of the folder and of those in it, two deep."""
    left = _MOST_LOOKED_AT
    level = [root]
    for _ in range(3):
        below: list[Path] = []
        for folder in level:
            if os.path.lexists(folder / ".git"):
                yield folder / ".git"
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                        left -= 1
                        below.append(folder / entry.name)
                    if left < 0:
                        return
        level = below


def probe() -> Sandbox:
    """Find out by doing which kind there is here."""
    wanted = os.environ.get(KIND_VARIABLE, "").lower()
    network = os.environ.get(NETWORK_VARIABLE, "") == "1"
    kinds: tuple[Kind, ...] = ("sandbox-exec",) if sys.platform == "darwin" else ("bubblewrap", "Landlock")
    for kind in kinds:
        if wanted in ("", kind.lower()) and _holds(sandbox := Sandbox(kind, network)):
            return sandbox
    return Sandbox("", network=True, off=wanted == "off")


def _holds(sandbox: Sandbox) -> bool:
    """Tell whether a command in it can write inside, and not outside."""
    if sandbox.kind == "Landlock" and not kernel_sandbox.version():
        return False
    place = "/var/tmp" if os.path.isdir("/var/tmp") else None  # in /tmp nothing of outside would be seen
    with tempfile.TemporaryDirectory(prefix="fanout-probe-", dir=place) as folder:
        inside, outside, temporary = (Path(folder).resolve() / name for name in ("inside", "outside", "temporary"))
        for one in (inside, outside, temporary):
            one.mkdir()
        script = ': > "$1/file" && ! (: > "$2/file") 2>/dev/null'
        argv = sandbox.around(
            ["sh", "-c", script, "sh", str(inside), str(outside)], [inside], temporary, ProtectedNames()
        )
        if sandbox.kind == "Landlock":
            module = Path(kernel_sandbox.__file__)
            code = f"import sys, os; sys.path.insert(0, {str(module.parent)!r}); import {module.stem} as one\n"
            code += f"one.restrict([{str(inside)!r}], network=False); os.execvp(sys.argv[1], sys.argv[1:])"
            argv = [sys.executable, "-I", "-S", "-c", code, *argv]
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0 and not (outside / "file").exists()


if __name__ == "__main__":
    sys.stdout.write(probe().says + "\n")

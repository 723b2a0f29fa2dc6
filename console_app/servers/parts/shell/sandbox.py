"""The sandbox around a command: it writes only in its folders and a temporary one, reads nothing else of the user's
home, and reaches no network.

Which kind this machine can have is found out once, by doing: a command in it must fail to write outside.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from console_app.search_path import search_path
from console_app.servers.parts.shell import kernel_sandbox
from console_app.servers.parts.shell.home import HiddenHome
from console_app.servers.parts.shell.protected import OF_FOLDER, OF_GIT, ProtectedNames

Kind = Literal["bubblewrap", "bubblewrap alone", "Landlock", "sandbox-exec", ""]
SAYS: Final[dict[Kind, str]] = {
    "bubblewrap": "sandboxed (bubblewrap): it writes only in the working folder and a temporary one, without a network "
    "and the rest of your home",
    "bubblewrap alone": "sandboxed more weakly (bubblewrap alone): it writes only in the working folder, a temporary "
    "one and named pipes of yours elsewhere, without a network and the rest of your home",
    "Landlock": "sandboxed more weakly (Landlock and seccomp): it writes only in the working folder, $TMPDIR and "
    "shared memory, without a network and the rest of your home; modes and times of files can change",
    "sandbox-exec": "sandboxed (sandbox-exec): it writes only in the working folder and a temporary one, without a "
    "network and the rest of your home",
    "": "not sandboxed: neither bubblewrap nor Landlock works here",
}
NETWORK_VARIABLE: Final = "FANOUT_SHELL_NETWORK"
KIND_VARIABLE: Final = "FANOUT_SHELL_SANDBOX"  # names the only kind to be tried, or `off`
_PROBE_SECONDS: Final = 10.0
_LISTENS_ON: Final = re.compile(r"(?:\S+ +){7}([^@\n].*)$")  # of a line of /proc/net/unix
_REPLACED: Final = ("/run", "/tmp", "/dev", "/proc")  # by folders of the sandbox's own


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A kind of sandbox. `temporary` is the one folder beside the roots that commands may write in."""

    kind: Kind
    network: bool = False
    wanted: str = ""  # the kind that was asked for, where that is not what holds

    @property
    def says(self) -> str:
        """The word on what holds, as people and the model are told it."""
        said = f"not sandboxed: {KIND_VARIABLE}={self.wanted}" if self.wanted else SAYS[self.kind]
        if self.wanted not in ("", "off"):
            said += ", which does not work here"
        return said.replace("without a network and", "with the network and without") if self.network else said

    def around(
        self, argv: Sequence[str], temporary: Path, guard: ProtectedNames, home: HiddenHome
    ) -> tuple[list[str], bool]:
        """Return the command line that runs `argv` in it, and whether sockets of this machine must be refused, since
        not all of them can be hidden. Landlock is put on by the keeper, without a program."""
        match self.kind:
            case "bubblewrap" | "bubblewrap alone":
                folders = (*map(str, guard.roots), "/tmp", "/run", "/dev", "/proc")
                inner = kernel_sandbox.writing_only_in(folders) if self.kind == "bubblewrap" else ()
                services, linked = _services(home, (*guard.roots, temporary))
                outer = _bwrap(temporary, guard, home, services, network=self.network)
                return [*outer, "--", *inner, *argv], linked
            case "sandbox-exec":
                profile = _profile(temporary, guard, home, network=self.network)
                return ["/usr/bin/sandbox-exec", "-p", profile, *argv], False
            case _:
                return list(argv), False


def _bwrap(
    temporary: Path, guard: ProtectedNames, home: HiddenHome, services: Sequence[str], *, network: bool
) -> list[str]:
    program = shutil.which("bwrap", path=search_path(os.environ, *guard.roots)) or "/usr/bin/bwrap"
    words = [program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += ["--share-net"] if network else []
    words += ["--setenv", "PERL_BADLANG", "0"]  # its word on a locale would stand in the output
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    # What services of this machine keep, also for those that begin while the command runs.
    words += ["--tmpfs", "/run"] if os.path.isdir("/run") else []
    words += ["--bind", str(temporary), "/tmp"]
    for kept in ("/run/current-system", "/run/systemd/resolve") if network else ("/run/current-system",):
        words += ["--ro-bind-try", kept, kept]
    inside = [path for path in home.hidden if any(path.is_relative_to(root) for root in guard.roots)]
    words += _without([path for path in home.hidden if path not in inside], home)
    for folder in (*guard.roots, temporary):
        words += ["--bind", str(folder), str(folder)]
    words += ["--ro-bind-try", str(outputs := temporary.with_name("output")), str(outputs)]
    for path in guard.repositories:  # so that none is moved away and another made in its place
        words += ["--bind", str(path), str(path)]
    for path in guard.there:
        words += ["--ro-bind", str(path), str(path)]
    words += _without(inside, home)
    for service in services:
        words += ["--ro-bind", os.devnull, service]
    for path in home.hidden:  # last, since what is shown in it is a name that is made there
        words += ["--remount-ro", str(path)] if path.is_dir() else []
    return words


def _services(home: HiddenHome, folders: Sequence[Path]) -> tuple[list[str], bool]:
    """Return the files that services of this machine listen on, where a command would reach them, and whether any may
    have another name: a second one, one that it got later, or a relative one, which tells no folder."""
    reached, linked = list[str](), False
    with suppress(OSError), open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
        next(file)  # the head
        for name in {found[1] for line in file if (found := _LISTENS_ON.match(line))}:
            if name[0] != "/":
                linked = True
                continue
            path = Path(os.path.realpath(name))
            shown = any(path.is_relative_to(one) for one in (*folders, *home.shown))
            hidden = not shown and any(path.is_relative_to(one) for one in (*_REPLACED, *home.hidden))
            try:
                status = path.stat()
            except OSError as error:  # what can't be looked at is out of reach
                linked = linked or not (hidden or isinstance(error, PermissionError))
                continue
            is_it = stat.S_ISSOCK(status.st_mode)
            linked = linked or not is_it or status.st_nlink > 1
            reached += [str(path)] if is_it and not hidden else []
    return reached, linked


def _without(hidden: Sequence[Path], home: HiddenHome) -> Iterator[str]:
    for path in hidden:
        yield from ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", os.devnull, str(path))
        for shown in (one for one in home.shown if one.is_relative_to(path)):
            yield from ("--ro-bind-try", str(shown), str(shown))


def _profile(temporary: Path, guard: ProtectedNames, home: HiddenHome, *, network: bool) -> str:
    def named(paths: Iterable[Path]) -> str:
        quoted = (str(path).replace("\\", "\\\\").replace('"', '\\"') for path in paths)
        return " ".join(f'(subpath "{path}")' for path in quoted)

    devices = '(literal "/dev/null") (literal "/dev/zero") (regex #"^/dev/tty") (regex #"^/dev/fd/")'
    names = [root / name for root in guard.roots for name in (*OF_FOLDER, *(f".git/{one}" for one in OF_GIT))]
    inside = [path for path in home.hidden if any(path.is_relative_to(root) for root in guard.roots)]
    lines = [
        "(version 1)(allow default)(deny file-write*)",
        f"(deny file-read-data {named(home.hidden)})" if home.hidden else "",
        f"(allow file-read-data {named([*guard.roots, temporary, temporary.with_name('output'), *home.shown])})",
        f"(deny file-read-data {named(inside)})" if inside else "",
        f"(allow file-write* {named([*guard.roots, temporary])} {devices})",
        f"(deny file-write* {named([*guard.there, *names])})",
        "" if network else "(deny network*)",
    ]
    return "".join(lines)


def probe() -> Sandbox:
    """Find out by doing which kind there is here."""
    wanted = os.environ.get(KIND_VARIABLE, "").lower()
    network = os.environ.get(NETWORK_VARIABLE, "") == "1"
    kinds: tuple[Kind, ...] = ("bubblewrap", "bubblewrap alone", "Landlock")
    for kind in kinds if sys.platform != "darwin" else ("sandbox-exec",):
        if wanted in ("", kind.lower(), kind.partition(" ")[0]) and _holds(sandbox := Sandbox(kind, network)):
            return sandbox
    return Sandbox("", network=True, wanted=wanted)


def _holds(sandbox: Sandbox) -> bool:
    """Tell whether a command in it can write inside, and not outside."""
    if sandbox.kind == "Landlock" and not kernel_sandbox.version():
        return False
    place = "/var/tmp" if os.path.isdir("/var/tmp") else None  # in /tmp nothing of outside would be seen
    with tempfile.TemporaryDirectory(prefix="fanout-probe-", dir=place) as folder:
        inside, outside, temporary = (Path(folder).resolve() / name for name in ("inside", "outside", "temporary"))
        for one in (inside, outside, temporary):
            one.mkdir()
        if sandbox.kind == "bubblewrap":  # more than its mounts hold: nobody writes into a named pipe
            os.mkfifo(outside / "file")
        script = ': > "$1/file" && ! (: 1<> "$2/file") 2>/dev/null'
        words = ["/bin/sh", "-c", script, "sh", str(inside), str(outside)]
        argv, _ = sandbox.around(words, temporary, ProtectedNames([inside]), HiddenHome())
        confine = partial(kernel_sandbox.restrict, [str(inside)], None, network=False)
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
                preexec_fn=confine if sandbox.kind == "Landlock" else None,
            )
        except (OSError, subprocess.SubprocessError):
            return False
        return done.returncode == 0 and not (outside / "file").is_file()


if __name__ == "__main__":
    sys.stdout.write(probe().says + "\n")

"""What a yes to trust would let a project's files do, in lines that are shown before the question."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from console_app.config import custom_commands, paths, trust
from console_app.config.mcp_servers import ServerConfig, read_mcp_config
from console_app.config.paths import Paths
from console_app.config.project_file import lines_of
from console_app.config.toml_text import parse_toml
from console_app.domain.errors import UsageError
from console_app.domain.safe_text import one_line


@dataclass(frozen=True, slots=True)
class FileToTrust:
    """A file as it was read: `text`, what of it would take effect, and that in a few words."""

    path: Path
    text: str
    lines: tuple[str, ...]
    summary: str


def to_trust(file: Path, environ: Mapping[str, str]) -> FileToTrust:
    """A project's mcp.json, its config.toml, or a command of it. Raises ConfigError for one that can't be read."""
    text, place = paths.read_text(file), one_line(str(file.absolute()))
    if file.suffix == ".toml":
        table = parse_toml(text, file)
        lines = tuple(f"    {line}" for line in lines_of(table))
        return FileToTrust(file, text, (f"{place} would set:", *lines), ", ".join(table) or "nothing")
    if file.suffix == ".md":
        said = (f"    {one_line(line, 2000)}" for line in text.splitlines())
        return FileToTrust(
            file, text, (f"{place} would be the command /{one_line(file.stem, 64)}:", *said), "a command"
        )
    servers = read_mcp_config(text, file, environ).servers
    lines = tuple(line for server in servers for line in starts(server))
    names = ", ".join(server.name for server in servers) or "no server"
    return FileToTrust(file, text, (f"{place} would start:", *lines), names)


def project_files(cwd: Path) -> list[Path]:
    """The files of a project that take trust, whether they are there or not."""
    return [paths.project_mcp(cwd), paths.project_settings(cwd), *custom_commands.project_files(cwd)]


def files_to_trust(word: str, cwd: Path) -> list[Path]:
    """The file that was named, else those of the project that are there; its mcp.json where none is."""
    if word:
        return [Path(word)]
    found = [file for file in project_files(cwd) if file.exists()]
    return found or [paths.project_mcp(cwd)]


def trust_as_shown(known: Paths, file: FileToTrust, *, again: str) -> None:
    """Trusts a file as it was shown. Raises UsageError where it is another by now; `again` shows it."""
    if paths.read_text(file.path) != file.text:
        raise UsageError(f"{file.path} was changed while you were asked", f"{again} shows it as it is now.")
    trust.trust(known, file.path, file.text)


def starts(server: ServerConfig) -> Iterator[str]:
    """What trusting a server lets it run, a line each: command and arguments, or address; folder; names of variables
    or headers, never their values."""
    off = " (off)" if server.disabled else ""
    yield f"{one_line(server.name, 40)}{off}"
    if server.problem:
        yield f"    can't be started: {one_line(server.problem, 200)}"
    if server.url:
        yield f"    connects to  {one_line(server.url, 400)}"
    elif server.command:
        yield f"    runs         {one_line(shlex.join((server.command, *server.args)), 2000)}"
        yield f"    in           {one_line(server.cwd, 400) if server.cwd else 'the working folder'}"
    if server.env:
        yield f"    with         {', '.join(one_line(name, 60) for name in server.env)}"
    if server.headers:
        yield f"    headers      {', '.join(one_line(name, 60) for name in server.headers)}"


@dataclass(frozen=True, slots=True)
class ProjectTrust:
    """The files of the project in `folder` that wait for a yes. What reads or writes is for a thread."""

    known: Paths
    folder: Path
    environ: Mapping[str, str]

    def waiting(self) -> list[FileToTrust]:
        """Those that are not trusted as they are. Raises ConfigError for one that can't be read."""
        own = {self.known.mcp, self.known.settings}
        found = [file for file in project_files(self.folder) if file.is_file()]
        shown = [to_trust(file, self.environ) for file in found if file not in own]
        return [file for file in shown if not trust.is_trusted(self.known, file.path, file.text)]

    def trust(self, file: FileToTrust) -> None:
        """The file is trusted as it was shown. Raises UsageError and ConfigError."""
        trust_as_shown(self.known, file, again="/trust")

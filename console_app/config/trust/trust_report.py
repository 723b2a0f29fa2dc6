"""What a yes to trust would let a project's files do, in lines that are shown before the question."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from console_app.config.files.disk import read_text
from console_app.config.files.paths import Paths, project_mcp, project_settings
from console_app.config.files.toml_text import parse_toml
from console_app.config.files.trusted import is_trusted, scripts_of, trust
from console_app.config.secrets.redaction import Redactor
from console_app.config.secrets.secret_sources import may_be_secret
from console_app.config.servers.mcp_servers import ServerConfig, read_mcp_config
from console_app.config.settings.project_file import lines_of
from console_app.config.trust import custom_commands
from console_app.domain.errors import ConfigError, UsageError
from console_app.domain.safe_text import one_line

LONGEST_LINE = 20_000  # characters of one thing that a yes is asked for


@dataclass(frozen=True, slots=True)
class FileToTrust:
    """A file as it was read: `text`, what of it would take effect, that in a few words, and the scripts it names."""

    path: Path
    text: str
    lines: tuple[str, ...]
    summary: str
    scripts: Mapping[str, str] = field(default_factory=dict[str, str])


def to_trust(file: Path, environ: Mapping[str, str]) -> FileToTrust:
    """A project's mcp.json, its config.toml, or a command of it. Raises ConfigError for one that can't be read."""
    text, place = read_text(file), one_line(str(file.absolute()))
    if file.suffix == ".toml":
        table = parse_toml(text, file)
        lines = (f"{place} would set:", *(f"    {line}" for line in lines_of(table, longest=0)))
        return _with_scripts(FileToTrust(file, text, lines, ", ".join(table) or "nothing"))
    if file.suffix == ".md":
        said = (f"    {one_line(line)}" for line in text.splitlines())
        heading = f"{place} would be the command /{one_line(file.stem)}:"
        return _with_scripts(FileToTrust(file, text, (heading, *said), "a command"))
    servers = read_mcp_config(text, file, environ).servers
    redactor = Redactor.of(environ)  # what is filled in from there may be a key: its name is told
    lines = tuple(redactor.without_known(line) for server in servers for line in starts(server))
    names = ", ".join(server.name for server in servers) or "no server"
    return _shown_whole(FileToTrust(file, text, (f"{place} would start:", *lines), names))


def _with_scripts(file: FileToTrust) -> FileToTrust:
    """The file with what its scripts would have the model say."""
    scripts = scripts_of(file.path, file.text)
    lines = list(file.lines)
    for name, script in scripts.items():
        lines.append(f"    the script {one_line(name)} {'says:' if script else 'is not there'}")
        lines += (f"        {one_line(line)}" for line in script.splitlines())
    return _shown_whole(replace(file, lines=tuple(lines), scripts=scripts))


def _shown_whole(file: FileToTrust) -> FileToTrust:
    """Raises ConfigError for a line that is too long: nobody can say yes to what is cut, or looks through megabytes."""
    if (longest := max(map(len, file.lines))) > LONGEST_LINE:
        raise ConfigError(
            f"{one_line(str(file.path), 400)}: a value has {longest:,} characters, and nobody reads that before a yes",
            "Shorten it, or put it into a file that it names.",
        )
    return file


def project_files(cwd: Path) -> list[Path]:
    """The files of a project that take trust, whether they are there or not."""
    settings = project_settings(cwd)
    return [project_mcp(cwd), settings, *_named_servers(cwd, settings), *custom_commands.project_files(cwd)]


def _named_servers(cwd: Path, settings: Path) -> list[Path]:
    """The file of servers that a project's settings name in place of its mcp.json."""
    try:
        name = parse_toml(read_text(settings), settings).get("mcp_config") if settings.is_file() else None
    except ConfigError:
        return []  # told where the settings are read
    return [cwd / Path(name).expanduser()] if isinstance(name, str) and name else []


def files_to_trust(word: str, cwd: Path) -> list[Path]:
    """The file that was named, else those of the project that are there; its mcp.json where none is."""
    if word:
        return [Path(word)]
    found = [file for file in project_files(cwd) if file.exists()]
    return found or [project_mcp(cwd)]


def trust_as_shown(known: Paths, file: FileToTrust, *, again: str) -> None:
    """Trusts a file as it was shown. Raises UsageError where it is another by now; `again` shows it."""
    if read_text(file.path) != file.text or scripts_of(file.path, file.text) != file.scripts:
        raise UsageError(f"{file.path} was changed while you were asked", f"{again} shows it as it is now.")
    trust(known, file.path, file.text, file.scripts)


def starts(server: ServerConfig) -> Iterator[str]:
    """What trusting a server lets it do, a line each."""
    yield f"{one_line(server.name)}{' (off)' if server.disabled else ''}"
    for what, words in _told(server):
        yield f"    {what:13}{words}"


def starts_by_name(servers: Sequence[ServerConfig], environ: Mapping[str, str]) -> dict[str, str]:
    """The same of each server by its name, without what is known to be secret."""
    redactor = Redactor.of(environ)
    return {server.name: "\n".join(redactor.without_known(line) for line in starts(server)) for server in servers}


def _told(server: ServerConfig) -> Iterator[tuple[str, str]]:
    """What a server would run, or connect to, and with what, as what it is and its words: variables of its own with
    their values but for secret ones, names of headers, and the variables of yours that it is given."""
    if server.problem:
        yield "can't start", one_line(server.problem, 200)
    if server.url:
        yield "connects to", one_line(server.url)
    elif server.command:
        yield "runs", one_line(shlex.join((server.command, *server.args)))
        yield "in", one_line(server.cwd) if server.cwd else "the working folder"
    if server.env:
        yield "with", ", ".join(one_line(shlex.quote(_set(name, value))) for name, value in server.env.items())
    if server.headers:
        yield "headers", ", ".join(one_line(name) for name in server.headers)
    if server.variables:
        yield "is given", f"{', '.join(server.variables)} of your environment"


def _set(name: str, value: str) -> str:
    """A variable with its value: `PATH` or `LD_PRELOAD` decides what runs. Without one that may be secret."""
    return name if may_be_secret(name, value) else f"{name}={value}"


@dataclass(frozen=True, slots=True)
class ProjectTrust:
    """The files of the project in `folder` that wait for a yes. What reads or writes is for a thread."""

    known: Paths
    folder: Path
    environ: Mapping[str, str]
    settings_wait: bool = True  # its config.toml, as it was at the start, says more than what only tightens
    bundled: Path | None = None  # the mcp.json of Fanout itself, which is that of its checkout too

    def waiting(self) -> list[FileToTrust]:
        """Those that are not trusted as they are. Raises ConfigError for one that can't be read."""
        return [to_trust(file, self.environ) for file in self._untrusted()]

    def summary(self) -> str:
        """Which files' yes is missed, as `mcp.json and 2 commands of this project wait for your trust`; "" for none."""
        waiting = self._untrusted()
        settings = project_settings(self.folder)
        names = [
            str(path.relative_to(self.folder) if path.is_relative_to(self.folder) else path)
            for path in waiting
            if path.suffix != ".md" and (path != settings or self.settings_wait)
        ]
        if commands := sum(path.suffix == ".md" for path in waiting):
            names.append("a command" if commands == 1 else f"{commands} commands")
        if not names:
            return ""
        listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        return f"{listed} of this project {'waits' if len(names) == 1 and commands < 2 else 'wait'} for your trust"

    def _untrusted(self) -> list[Path]:
        own = {self.known.mcp, self.known.settings}
        found = [file for file in project_files(self.folder) if file.is_file() and file not in own]
        if self.bundled is not None:
            found = [file for file in found if not file.samefile(self.bundled)]
        return [file for file in found if not is_trusted(self.known, file)]

    def trust(self, file: FileToTrust) -> None:
        """The file is trusted as it was shown. Raises UsageError and ConfigError."""
        trust_as_shown(self.known, file, again="/trust")

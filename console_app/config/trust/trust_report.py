"""Tells what a yes to trust would let a project's files do, in lines that are shown before the question."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from console_app.config.files import (
    Paths,
    disk,
    lines_of,
    parse_toml,
    project_mcp,
    project_settings,
    trusted,
)
from console_app.config.secrets import Redactor, secret_sources
from console_app.config.servers import ServerConfig, read_mcp_config
from console_app.config.trust.custom_commands import command_files
from console_app.domain import ConfigError, UsageError, displayed, one_line

LONGEST_LINE = 20_000  # characters of one thing that a yes is asked for


@dataclass(frozen=True, slots=True)
class FileToTrust:
    """A file as it was read: its text, the lines that would take effect, these in a few words, and the scripts it
    names."""

    path: Path
    text: str
    lines: tuple[str, ...]
    summary: str
    scripts: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def read(cls, file: Path, environ: Mapping[str, str]) -> FileToTrust:
        """Read a project's mcp.json, its config.toml, or a command of it. Raises ConfigError for one that can't be
        read, or that nobody could look through before a yes."""
        text, place = disk.read_text(file), one_line(str(file.absolute()))
        if file.suffix == ".toml":
            table = parse_toml(text, file)
            lines = [f"{place} would set:", *(f"    {line}" for line in lines_of(table, longest=0))]
            found = cls._with_scripts(file, text, lines, ", ".join(table) or "nothing")
        elif file.suffix == ".md":
            heading = f"{place} would be the command /{one_line(file.stem)}:"
            lines = [heading, *(f"    {line}" for line in displayed.folded_text(text).splitlines())]
            found = cls._with_scripts(file, text, lines, "a command")
        else:
            servers = read_mcp_config(text, file, environ).servers
            redactor = Redactor.of(environ)  # what is filled in from there may be a key: its name is told
            told = (redactor.without_known(line) for server in servers for line in _starts(server))
            names = ", ".join(server.name for server in servers) or "no server"
            found = cls(file, text, (f"{place} would start:", *told), names)
        if (longest := max(map(len, found.lines))) > LONGEST_LINE:
            raise ConfigError(
                f"{one_line(str(file), 400)}: a value has {longest:,} characters, and nobody reads that before a yes",
                "Shorten it, or put it into a file that it names.",
            )
        return found

    @classmethod
    def _with_scripts(cls, path: Path, text: str, lines: list[str], summary: str) -> FileToTrust:
        scripts = trusted.scripts_of(path, text)
        for name, script in scripts.items():
            lines.append(f"    the script {one_line(name)} {'says:' if script else 'is not there'}")
            lines += (f"        {line}" for line in displayed.folded_text(script).splitlines())
        return cls(path, text, tuple(lines), summary, scripts)

    def trust(self, known: Paths, *, again: str) -> None:
        """Trust the file as it was shown. Raises UsageError where it is another by now; `again` shows it."""
        if disk.read_text(self.path) != self.text or trusted.scripts_of(self.path, self.text) != self.scripts:
            raise UsageError(f"{self.path} was changed while you were asked", f"{again} shows it as it is now.")
        trusted.trust(known, self.path, self.text, self.scripts)


def _project_files(cwd: Path) -> list[Path]:
    """Return the files of a project that take trust, whether they are there or not."""
    settings = project_settings(cwd)
    return [project_mcp(cwd), settings, *_named_servers(cwd, settings), *command_files(cwd)]


def _named_servers(cwd: Path, settings: Path) -> list[Path]:
    """Return the file of servers that a project's settings name in place of its mcp.json."""
    try:
        name = parse_toml(disk.read_text(settings), settings).get("mcp_config") if settings.is_file() else None
    except ConfigError:
        return []  # told where the settings are read
    return [cwd / Path(name).expanduser()] if isinstance(name, str) and name else []


def files_to_trust(word: str, cwd: Path) -> list[Path]:
    """Return the file that was named, else those of the project that are there; its mcp.json where none is."""
    if word:
        return [Path(word)]
    found = [file for file in _project_files(cwd) if file.exists()]
    return found or [project_mcp(cwd)]


def _starts(server: ServerConfig) -> Iterator[str]:
    """Yield what trusting a server lets it do, line by line."""
    yield f"{one_line(server.name)}{' (off)' if server.disabled else ''}"
    for what, words in _told(server):
        first, *others = displayed.folded_text(words).splitlines()
        yield f"    {what:13}{first}"
        yield from (f"{'':17}{line}" for line in others)


def starts_by_name(servers: Sequence[ServerConfig], environ: Mapping[str, str]) -> dict[str, str]:
    """Return by name what trusting each server lets it do, without values that are known to be secret."""
    redactor = Redactor.of(environ)
    return {server.name: "\n".join(redactor.without_known(line) for line in _starts(server)) for server in servers}


def _told(server: ServerConfig) -> Iterator[tuple[str, str]]:
    """Yield what a server would run, or connect to, and with what, as a heading and its words.

    Variables of its own come with their values but for secret ones, headers and the variables of yours with their
    names.
    """
    if server.problem:
        yield "can't start", one_line(server.problem, 200)
    if server.url:
        yield "connects to", server.url
    elif server.command:
        yield "runs", shlex.join((server.command, *server.args))
        yield "in", server.cwd or "the working folder"
    if server.env:
        yield "with", ", ".join(shlex.quote(_set(name, value)) for name, value in server.env.items())
    if server.headers:
        yield "headers", ", ".join(server.headers)
    if server.variables:
        yield "is given", f"{', '.join(server.variables)} of your environment"


def _set(name: str, value: str) -> str:
    """Return a variable with its value, since `PATH` or `LD_PRELOAD` decides what runs; without one that may be
    secret."""
    return name if secret_sources.may_be_secret(name, value) else f"{name}={value}"


@dataclass(frozen=True, slots=True)
class ProjectTrust:
    """The files of the project in `folder` that wait for a yes. The methods read and write files: they are for a
    thread."""

    known: Paths
    folder: Path
    environ: Mapping[str, str]
    settings_wait: bool = True  # its config.toml, as it was at the start, says more than what only tightens
    bundled: Path | None = None  # the mcp.json of Fanout itself, which is that of its checkout too

    def waiting(self) -> list[FileToTrust]:
        """Read the files that are not trusted as they are. Raises ConfigError for one that can't be read."""
        return [FileToTrust.read(file, self.environ) for file in self._untrusted()]

    def summary(self) -> str:
        """Name the files that wait, as `mcp.json and 2 commands of this project wait for your trust`; "" for none."""
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
        found = [file for file in _project_files(self.folder) if file.is_file() and file not in own]
        if self.bundled is not None:
            found = [file for file in found if not file.samefile(self.bundled)]
        return [file for file in found if not trusted.is_trusted(self.known, file)]

    def trust(self, file: FileToTrust) -> None:
        """Trust the file as it was shown. Raises UsageError and ConfigError."""
        file.trust(self.known, again="/trust")

"""Tells what a yes to trust would let a project's files do, in lines that are shown before the question.

All that a folder brings stands in one list: servers, settings, commands, hooks, instructions, skills, plugins, agents.
Each is trusted as it was shown, by its content and that of the files it names, and counts for nothing before.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from console_app.config.files import Paths, disk, lines_of, parse_toml, trusted
from console_app.config.foreign import Foreign, Plugin, of_project
from console_app.config.secrets import Redactor, secret_sources
from console_app.config.servers import ServerChoice, ServerConfig, read_mcp_config
from console_app.config.settings import project_faults
from console_app.config.trust.custom_commands import CustomCommand, command_files, content
from console_app.domain import ConfigError, UsageError, displayed, one_line
from console_app.records import dataclass, field

LONGEST_LINE = 20_000  # characters of one thing that a yes is asked for


@dataclass(frozen=True, slots=True)
class FileToTrust:
    """A file as it was read: its text, the lines that would take effect, these in a few words, and the scripts it
    names. `kind` and `name` are what it is called in a list."""

    path: Path
    text: str
    lines: tuple[str, ...]
    summary: str
    scripts: Mapping[str, str] = field(default_factory=dict[str, str])
    kind: str = "servers"
    name: str = ""

    @classmethod
    def read(cls, file: Path, environ: Mapping[str, str]) -> FileToTrust:
        """Read a project's mcp.json, config.toml, or a command of it. Raises ConfigError, also where nobody could look
        through."""
        text, place = disk.read_text(file), one_line(str(file.absolute()))
        if file.suffix == ".toml":
            table = parse_toml(text, file)
            lines = [f"{place} would set:", *(f"    {line}" for line in lines_of(table, longest=0))]
            return cls._with_scripts(file, text, lines, ", ".join(table) or "nothing", "settings")
        if file.suffix == ".md":
            heading = f"{place} would be the command /{one_line(file.stem)}:"
            lines = [heading, *(f"    {line}" for line in displayed.folded_text(text).splitlines())]
            try:
                note = CustomCommand.read(file, text).note
                about = f"a command ({note})" if note else "a command"
            except ConfigError:
                about = "a command that can't be read"
            return cls._with_scripts(file, text, lines, about, "command")
        servers = read_mcp_config(text, file, environ).servers
        names = ", ".join(server.name for server in servers) or "no server"
        return cls(file, text, (f"{place} would start:", *_all_starts(servers, environ)), names).readable()

    @classmethod
    def of(cls, thing: Foreign, environ: Mapping[str, str]) -> FileToTrust:
        """Tell of what was found in a form of others. Raises ConfigError for what nobody could look through."""
        lines = [f"{one_line(str(thing.path))} would be {thing.summary}:"]
        lines += (f"    {line}" for line in displayed.folded_text("\n".join(thing.does)).splitlines())
        if isinstance(thing, Plugin) and thing.servers:
            lines += ("    It would start:", *(f"    {line}" for line in _all_starts(thing.servers, environ)))
        parts = content(thing)
        return cls(thing.path, thing.text, tuple(lines), thing.summary, parts, thing.kind, thing.name).readable()

    @classmethod
    def _with_scripts(cls, path: Path, text: str, lines: list[str], summary: str, kind: str) -> FileToTrust:
        scripts = trusted.scripts_of(path, text)
        for name, script in scripts.items():
            lines.append(f"    the script {one_line(name)} {'says:' if script else 'is not there'}")
            lines += (f"        {line}" for line in displayed.folded_text(script).splitlines())
        return cls(path, text, tuple(lines), summary, scripts, kind).readable()

    def readable(self) -> FileToTrust:
        """Return it where a person can read what it says. Raises ConfigError."""
        if (longest := max(map(len, self.lines))) > LONGEST_LINE:
            what = f"{one_line(str(self.path), 400)}: a value has {longest:,} characters"
            hint = "Shorten it, or put it into a file that it names."
            raise ConfigError(f"{what}, and nobody reads that before a yes", hint)
        return self

    def trust(self, known: Paths, *, again: str) -> None:
        """Trust the file as it was shown. Raises UsageError where it is another by now; `again` shows it."""
        if disk.read_text(self.path) != self.text or trusted.scripts_of(self.path, self.text) != self.scripts:
            raise UsageError(f"{self.path} was changed while you were asked", f"{again} shows it as it is now.")
        if self.kind == "settings" and (wrong := project_faults(self.path)):
            raise UsageError(
                f"{self.path} is not trusted: {wrong}", "Mend that first: trusted, it would stop all else."
            )
        trusted.trust(known, self.path, self.text, self.scripts)

    def called(self, folder: Path) -> str:
        """Name it in a list: by what it is and how it is called, or by its path."""
        if self.kind in ("skill", "plugin", "agent"):
            return f"{self.kind} {one_line(self.name, 64)}"
        path = self.path.absolute()
        return one_line(str(path.relative_to(folder) if path.is_relative_to(folder) else path), 200)


def _project_files(cwd: Path) -> list[Path]:
    """Return the files of a project that take trust, whether they are there or not."""
    settings = Paths.project_settings(cwd)
    try:  # they may name a file of servers in place of mcp.json
        name = parse_toml(disk.read_text(settings), settings).get("mcp_config") if os.path.isfile(settings) else None
    except ConfigError:
        name = None  # told where the settings are read
    named = [cwd / Path(name).expanduser()] if isinstance(name, str) and name else []
    return [*Paths.project_mcp(cwd), settings, *named, *command_files(cwd)]


def _all_starts(servers: Sequence[ServerConfig], environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what trusting servers lets them do; of what the environment fills in, which may be a key, the name is
    told."""
    clean = Redactor.of(environ).without_known
    for server in servers:
        yield clean(f"{one_line(server.name)}{' (off)' if server.disabled else ''}")
        for what, words in _told(server):
            first, *others = displayed.folded_text(words).splitlines()
            yield clean(f"    {what:13}{first}")
            yield from (clean(f"{'':17}{line}") for line in others)


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
        # With its value, since `PATH` or `LD_PRELOAD` decides what runs; without one that may be secret.
        set_ = (
            name if secret_sources.may_be_secret(name, one) else f"{name}={one}" for name, one in server.env.items()
        )
        yield "with", ", ".join(map(shlex.quote, set_))
    if server.headers:
        yield "headers", ", ".join(server.headers)
    if server.variables:
        yield "is given", f"{', '.join(server.variables)} of your environment"


@dataclass(frozen=True, slots=True)
class ProjectTrust:
    """The files of the project in `folder` that wait for a yes. The methods read and write files: they are for a
    thread."""

    known: Paths
    folder: Path
    environ: Mapping[str, str]
    settings_wait: bool = True  # its config.toml, as it was at the start, says more than what only tightens
    bundled: Path | None = None  # the mcp.json of Fanout itself, which is that of its checkout too

    def waiting(self, names: Sequence[str] = ()) -> list[FileToTrust]:
        """Read what is not trusted as it is, of it what has one of these `names`: in a list, or as a file. Raises
        UsageError for a name of nothing that waits."""
        found = [*self._own()[0], *self._foreign()[0]]
        by_name = {one.called(self.folder): one for one in found}
        chosen = list[FileToTrust]()
        for name in names:
            path = (self.folder / name).resolve()
            one = by_name.get(name) or next((one for one in found if one.path.resolve() == path), None)
            if one is None:
                there = ", ".join(by_name) or "nothing"
                hint = " ".join((f"There is: {there}.", *self.problems()))
                raise UsageError(f"{one_line(name, 80)} is nothing that waits for your trust", hint)
            chosen.append(one)
        return chosen if names else found

    def named(self, words: Sequence[str]) -> list[FileToTrust]:
        """Return what was named of all that waits, or files of any folder; without words all that waits. Raises
        UsageError and ConfigError."""
        try:
            return self.waiting(words)
        except UsageError:
            if not all(Path(word).suffix in (".json", ".toml") for word in words):
                raise
            return [FileToTrust.read(Path(word), self.environ) for word in words]

    def overview(self, waiting: Sequence[FileToTrust]) -> str:
        """Return the list of what waits, where that is more than two things, then all that each would do."""
        texts = ["\n".join(file.lines) for file in waiting]
        if len(waiting) > 2:
            names = [file.called(self.folder) for file in waiting]
            says = (
                file.summary.removeprefix(f"the {name}").lstrip(", ") for file, name in zip(waiting, names, strict=True)
            )
            width = min(max(map(len, names)), 40)
            rows = (f"  {name:<{width}}  {one_line(said, 100)}" for name, said in zip(names, says, strict=True))
            texts.insert(0, "\n".join(("All that this project brings; /trust NAME decides one alone:", *rows)))
        return "\n\n".join(texts)

    def problems(self) -> tuple[str, ...]:
        return (*self.unreadable(), *self._foreign()[1])

    def unreadable(self) -> list[str]:
        """Return a line for each of its settings, servers and commands that can't be read."""
        return self._own()[1]

    def survey(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Return what waits, as `mcp.json and 2 commands of this project wait for your trust` or "", the names of what
        waits in the forms of others, and a line for each of these that can't be used."""
        foreign, problems = self._foreign()
        return self._in_words(foreign), tuple(one.called(self.folder) for one in foreign), problems

    def _in_words(self, foreign: Sequence[FileToTrust]) -> str:
        waiting, settings = self._untrusted(), Paths.project_settings(self.folder)
        names = [
            str(path.relative_to(self.folder) if path.is_relative_to(self.folder) else path)
            for path in waiting
            if path.suffix != ".md" and (path != settings or self.settings_wait)
        ]
        kinds = Counter(one.kind for one in foreign) | Counter(command=sum(path.suffix == ".md" for path in waiting))
        names += [one.called(self.folder) for one in foreign if one.kind in ("instructions", "hooks")]
        counted = {kind: count for kind in ("command", "skill", "plugin", "agent") if (count := kinds[kind])}
        names += [
            f"{count} {kind}s" if count > 1 else f"an {kind}" if kind == "agent" else f"a {kind}"
            for kind, count in counted.items()
        ]
        if not names:
            return ""
        listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        one = len(names) == 1 and all(count == 1 for count in counted.values())
        return f"{listed} of this project {'waits' if one else 'wait'} for your trust"

    def _own(self) -> tuple[list[FileToTrust], list[str]]:
        """Return what waits in our own forms, and a line for each file that can't be used."""
        waiting, problems = list[FileToTrust](), list[str]()
        for file in self._untrusted():
            try:
                waiting.append(FileToTrust.read(file, self.environ))
            except ConfigError as error:
                problems.append(one_line(error.line, 600))
        return waiting, problems

    def _foreign(self) -> tuple[list[FileToTrust], tuple[str, ...]]:
        """Return what waits in the forms of others, and a line for each that can't be used."""
        found = of_project(self.folder, self.known.plugins, self.environ)
        waiting, problems = list[FileToTrust](), list(found.problems)
        for thing in found.things:
            if not trusted.is_trusted(self.known, thing.path, thing.text, content(thing)):
                try:
                    waiting.append(FileToTrust.of(thing, self.environ))
                except ConfigError as error:
                    problems.append(one_line(error.line, 300))
        return waiting, tuple(problems)

    def _untrusted(self) -> list[Path]:
        own = {self.known.mcp, self.known.settings}
        found = [file for file in _project_files(self.folder) if os.path.isfile(file) and file not in own]
        if self.bundled is not None:
            found = [file for file in found if not file.samefile(self.bundled)]
        return [file for file in found if not trusted.is_trusted(self.known, file)]

    def trust_all(self, files: Sequence[FileToTrust], again: str) -> tuple[list[FileToTrust], list[str]]:
        """Trust files as they were shown; `again` shows them. Return those that are trusted, and why others are not."""
        done, refused = list[FileToTrust](), list[str]()
        for file in files:
            try:
                self.trust(file, again=again)
                done.append(file)
            except UsageError as error:
                refused.append(error.line)
        return done, refused

    def trust(self, file: FileToTrust, *, again: str = "/trust") -> None:
        """Trust the file as it was shown; `again` shows it. Raises UsageError where it is another by now, and
        ConfigError."""
        if file.kind in ("servers", "settings", "command"):
            file.trust(self.known, again=again)
            return
        found = of_project(self.folder, self.known.plugins, self.environ).things
        now = next((one for one in found if one.path == file.path and one.kind == file.kind), None)
        if now is None or now.text != file.text or content(now) != file.scripts:
            raise UsageError(f"{file.path} was changed while you were asked", f"{again} shows it as it is now.")
        trusted.trust(self.known, file.path, file.text, file.scripts)


@dataclass(frozen=True, slots=True)
class Changes:
    """The names that differ between two lists of servers, in the order of the newer one."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    @classmethod
    def between(cls, before: Sequence[ServerConfig], now: Sequence[ServerConfig]) -> Changes:
        old, new = ({server.name: server for server in servers} for servers in (before, now))
        return cls(
            added=tuple(name for name in new if name not in old),
            removed=tuple(name for name in old if name not in new),
            changed=tuple(name for name, server in new.items() if name in old and old[name] != server),
        )


@dataclass(frozen=True, slots=True)
class Untrusted:
    """The project's file counted and is another now, so it counts only once it is trusted as it is, `file`."""

    file: FileToTrust
    servers: tuple[ServerConfig, ...]
    said: Mapping[str, str]  # what each would do, by its name, in lines

    @property
    def path(self) -> Path:
        return self.file.path


class ServerFiles:
    """The files of one console. `choose` reads them as a start does. Methods that read a file are for a thread."""

    def __init__(self, paths: Paths, folder: Path, choice: ServerChoice, choose: Callable[[], ServerChoice]) -> None:
        self._paths = paths
        self._folder = folder
        self._choose = choose
        self.choice = choice
        self.unread: tuple[Path, ...] = ()  # that `news` told of, and that were not taken since
        self._prints = self._fingerprints({})

    def read(self) -> ServerChoice | Untrusted:
        """Read the servers as the files have them now. Raises ConfigError."""
        choice, source = self._choose(), self.choice.path
        if source is not None and source == choice.untrusted:
            file = FileToTrust.read(source, os.environ)
            servers = read_mcp_config(file.text, source, os.environ).servers
            said = {server.name: "\n".join(_all_starts([server], os.environ)) for server in servers}
            return Untrusted(file, servers, said)
        return choice

    def trust(self, refused: Untrusted) -> None:
        """Trust the file as it was shown. Raises UsageError where it is another already."""
        refused.file.trust(self._paths, again="/reload")

    def take(self, choice: ServerChoice) -> None:
        """Take these as the servers in force; the files as they are hold no news."""
        self.choice, self.unread = choice, ()
        self._prints = self._fingerprints(self._prints)

    def wrote(self) -> ServerChoice | None:
        """Take a file that was written from here as known: it holds no news."""
        try:
            found = self.read()
        except ConfigError:
            return None
        if isinstance(found, Untrusted):
            return None
        self.take(found)
        return found

    def news(self) -> list[Path]:
        before, self._prints = self._prints, self._fingerprints(self._prints)
        found = [path for path, now in self._prints.items() if now[1] != before.get(path, ((), ""))[1]]
        self.unread = tuple(dict.fromkeys((*self.unread, *found)))
        return found

    def _fingerprints(
        self, before: Mapping[Path, tuple[tuple[int, ...], str]]
    ) -> dict[Path, tuple[tuple[int, ...], str]]:
        """Return time, size and hash of each file; only one with another time or size is read."""
        found: dict[Path, tuple[tuple[int, ...], str]] = {}
        sources = {self.choice.path, *Paths.project_mcp(self._folder), self._paths.mcp} - {None}
        for path in sorted(one for one in sources if one is not None):
            try:
                status = path.stat()
                if not stat.S_ISREG(status.st_mode):
                    continue  # a pipe, say, gives what it has only once
                stamp: tuple[int, ...] = (status.st_mtime_ns, status.st_size)
                known = before.get(path)
                same = known is not None and known[0] == stamp
                hashed = known[1] if known is not None and same else hashlib.sha256(disk.contents(path)).hexdigest()
            except OSError:
                stamp, hashed = (), ""
            found[path] = (stamp, hashed)
        return found

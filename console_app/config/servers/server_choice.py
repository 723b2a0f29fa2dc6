"""Lays the servers of several files over one another. A project's file, once trusted, adds to the user's own, and that
one to those that ship with Fanout; of one name the upper counts. A file that is named stands for the upper two. A
project may have its file in the form of others, `.mcp.json` or `.vscode/mcp.json`.

What is on in a working folder, as the user picked it, is one small file in the state folder, which only says what
differs from mcp.json: what a server adds later is on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from console_app.config.files import Paths, disk, trusted
from console_app.config.servers.mcp_servers import McpConfig, ServerConfig, load_mcp_config, read_mcp_config
from console_app.domain import ConfigError, ToolSpec, UsageError, one_line, safe_text
from console_app.records import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """The servers to start, where they are written (nowhere: none were asked for), and what the user should know."""

    servers: tuple[ServerConfig, ...] = ()
    files: tuple[Path, ...] = ()  # the upper first
    bundled: bool = False  # no file counts but the one that ships with Fanout
    shipped: frozenset[str] = frozenset()  # those that ship with Fanout, and run just what they ship as
    foreign: frozenset[str] = frozenset()  # those of a project, a plugin, or a file that was named for this once
    notes: tuple[str, ...] = ()
    untrusted: Path | None = None  # a project's file that would count, were it trusted as it is
    groups: Sequence[str] | None = None  # the user's, None where that counts for nothing

    @property
    def path(self) -> Path | None:
        """The uppermost file, which is the one that is written to unless it ships with Fanout."""
        return self.files[0] if self.files else None

    @property
    def where(self) -> str:
        """Say where the servers are written; "" for nowhere."""
        return " and ".join(one_line(str(file)) for file in self.files)

    def needed_for(self, labels: Collection[str]) -> ServerChoice:
        """Choose only the servers whose tools are named, SERVER.TOOL, so that no other is started. Raises UsageError
        for one that isn't there."""
        needed = [one for one in self.servers if any(label.startswith(f"{one.name}.") for label in labels)]
        for label in labels:
            if not any(label.startswith(f"{server.name}.") for server in needed):
                known = ", ".join(server.name for server in self.servers) or "none"
                raise UsageError(f"no server has a tool {label}", f"Servers: {known} (fanout mcp list).")
        return replace(self, servers=tuple(server.model_copy(update={"disabled": False}) for server in needed))


def choose_servers(
    paths: Paths,
    cwd: Path,
    *,
    mcp_config: Path | None,
    bundled: Path,
    on: Collection[str] | None = None,
    only: Sequence[str] = (),
    none: bool = False,
    groups: Sequence[str] | None = None,
    environ: Mapping[str, str] = os.environ,
    named_by_user: bool = False,
    named_by_project: bool = False,
    plugins: Sequence[ServerConfig] = (),
) -> ServerChoice:
    """Return the servers of all files that count, and of `plugins` where none was named; with `only`, those of them.
    Raises ConfigError when the uppermost file can't be read.

    `on` are the shipped servers that are on with the model that answers; without it, those that their file has on. A
    named file has no others beside it than `on`.
    `groups` are the user's, None where that counts for nothing: a server for other groups can't be started,
    and is off unless `only` names it.
    `named_by_user`: the user's own settings name `mcp_config`; `named_by_project`: a project's do, and what it names
    takes trust like the project's mcp.json.
    """
    if none:
        return ServerChoice()
    named = None if mcp_config is None else cwd / mcp_config.expanduser()
    layers, notes, untrusted = list[McpConfig](), list[str](), None
    if named is None or named_by_project:
        trusted_, notes, untrusted = _projects(paths, [named] if named else Paths.project_mcp(cwd), bundled)
        layers += [read_mcp_config(text, path, environ) for path, text in trusted_]
        try:
            if paths.mcp.exists() and not _same(paths.mcp, bundled):
                layers.append(load_mcp_config(paths.mcp, environ))
        except ConfigError as error:
            if not layers:
                raise
            notes.append(f"{error.detail}; it is not used.")
        named = None
    elif not _same(named, bundled):
        layers.append(load_mcp_config(named, environ))
    ships = load_mcp_config(bundled, environ)
    fitted = ships.servers
    if on is not None:
        fitted = tuple(one.model_copy(update={"disabled": one.name not in on}) for one in fitted)
    if named is not None and layers:
        fitted = tuple(one for one in fitted if one.name in (on or ()))
    layers.append(replace(ships, servers=fitted))
    layers.append(McpConfig(Path(), tuple(plugins) if named is None else ()))
    found, places = dict[str, ServerConfig](), dict[str, Path]()
    for layer in layers:
        for server in layer.servers:
            if server.name in found and not found[server.name].only_off:
                continue
            off = {"disabled": True} if server.name in found else {}
            found[server.name], places[server.name] = server.model_copy(update=off), layer.path
    own = named_by_user or (named is not None and _same(named, paths.mcp))
    foreign = {
        name for name, path in places.items() if not (own or path in (paths.mcp, bundled) or _same(path, bundled))
    }
    ours = {server.name: _program(server) for server in ships.servers}
    return ServerChoice(
        servers=_only([one.for_groups(groups) for one in found.values()], layers[0].path, only),
        files=tuple(layer.path for layer in layers[:-1]),
        bundled=_same(layers[0].path, bundled),
        shipped=frozenset(n for n in found.keys() - foreign if ours.get(n) == _program(found[n])),
        foreign=frozenset(foreign),
        notes=(*notes, *(str(problem) for layer in layers for problem in layer.problems)),
        untrusted=untrusted,
        groups=groups,
    )


def _projects(
    paths: Paths, projects: Sequence[Path], bundled: Path
) -> tuple[list[tuple[Path, str]], list[str], Path | None]:
    """Return the project's file that counts, the first that is trusted, with its text; what to say; and the file that
    would count were it trusted."""
    there = [
        one for one in projects if not disk.nothing_at(one) and not _same(one, bundled) and not _same(one, paths.mcp)
    ]
    notes, waiting = list[str](), list[Path]()
    for project in there:
        try:
            text = disk.read_text(project)
        except ConfigError as error:  # what nobody can have trusted stops nothing
            notes.append(f"{error.detail}; it is not used.")
            continue
        # Files with these endings are shown as settings or as a command before a yes, not as programs that would start.
        if project.suffix not in {".toml", ".md"} and trusted.is_trusted(paths, project, text):
            others = ", ".join(str(one) for one in there if one != project)
            said = f"The project's servers are those of {project}, and not of {others}: one file counts."
            return [(project, text)], [*notes, said] if others else notes, None
        waiting.append(project)
    notes += [
        f"{project} is not used: it starts programs, and you have not trusted it as it is now. "
        f"To see what it would run and say yes: {trusted.IN_A_SHELL}."
        for project in waiting[:1]
    ]
    return [], notes, next(iter(waiting), None)


def _same(one: Path, other: Path) -> bool:
    return os.path.exists(one) and os.path.exists(other) and one.samefile(other)


def _program(server: ServerConfig) -> tuple[object, ...]:
    return server.kind, server.command, server.args, server.env, server.cwd, server.url, server.problem


def _only(servers: Sequence[ServerConfig], path: Path, names: Sequence[str]) -> tuple[ServerConfig, ...]:
    """Return the servers called `names`, switched on even where the file has them off; all of them without names."""
    if not names:
        return tuple(servers)
    known = {server.name: server for server in servers}
    for name in names:
        if name not in known:
            raise UsageError(f"{path} has no server {name}", f"There are: {', '.join(known) or 'none'}.")
    return tuple(known[name].model_copy(update={"disabled": False}) for name in dict.fromkeys(names))


Kind = Literal["tool", "prompt", "resource"]
_KINDS: tuple[Kind, ...] = ("tool", "prompt", "resource")
Item = tuple[str, Kind, str]
"""Server, kind and name (of a resource: its URI or template)."""

_MOST_FOLDERS = 200


@dataclass(frozen=True, slots=True)
class Selection:
    """The picks of a folder: `servers` switched otherwise than mcp.json says (True: on), and single things that are
    `off`."""

    servers: Mapping[str, bool] = field(default_factory=dict[str, bool])
    off: frozenset[Item] = frozenset()

    def applied(self, servers: Sequence[ServerConfig]) -> tuple[ServerConfig, ...]:
        return tuple(
            server.model_copy(update={"disabled": not self.servers[server.name]})
            if server.name in self.servers
            else server
            for server in servers
        )

    @classmethod
    def load(cls, paths: Paths, folder: Path) -> Selection:
        """Return the picks for a working folder; none for a folder without, or where the file can't be read."""
        entry = safe_text.as_object(disk.object_at(paths.tools).get(str(folder.resolve())))
        servers = {name: on for name, on in safe_text.as_object(entry.get("servers")).items() if isinstance(on, bool)}
        return cls(servers, frozenset(_items(entry.get("off"))))

    def save(self, paths: Paths, folder: Path) -> None:
        """Keep the picks for a working folder. Raises ConfigError when the file can't be written."""
        record = disk.object_at(paths.tools)
        record.pop(str(folder.resolve()), None)
        off: dict[str, dict[str, list[str]]] = {}
        for server, kind, name in sorted(self.off):
            off.setdefault(server, {}).setdefault(f"{kind}s", []).append(name)
        if self.servers or off:
            record[str(folder.resolve())] = {"servers": dict(self.servers), "off": off}
        newest = dict(list(record.items())[-_MOST_FOLDERS:])
        disk.write_private(paths.tools, json.dumps(newest, indent=2) + "\n")


def keep_tool_names(path: Path, tools: Iterable[ToolSpec]) -> None:
    """Add what servers offer now to the file at `path`: server to the names of its tools. Blocks.

    A shell completes from it, since no server is started by a Tab.
    """
    listed: dict[str, list[str]] = {}
    for spec in tools:
        if spec.server:
            listed.setdefault(spec.server, []).append(spec.tool)
    record = disk.read_record(path)
    if record != (newer := {**record, **listed}):
        disk.keep_record(path, newer)


def _items(value: Any) -> Iterator[Item]:
    for server, kinds in safe_text.as_object(value).items():
        for kind in _KINDS:
            for name in safe_text.as_list(safe_text.as_object(kinds).get(f"{kind}s")):
                if isinstance(name, str):
                    yield server, kind, name

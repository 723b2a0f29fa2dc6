"""Chooses the mcp.json that counts: the one named, else the project's once trusted, else the user's, else the bundled
one. A project may have it in the form of others, `.mcp.json` or `.vscode/mcp.json`.

What is on in a working folder, as the user picked it, is one small file in the state folder, which only says what
differs from mcp.json: what a server adds later is on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from console_app.config.files import Paths, disk, project_mcp, trusted
from console_app.config.servers.mcp_servers import McpConfig, ServerConfig, load_mcp_config, read_mcp_config
from console_app.domain import ConfigError, ToolSpec, UsageError, safe_text
from console_app.records import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """The servers to start, where they are written (None: none were asked for), and what the user should know."""

    servers: tuple[ServerConfig, ...] = ()
    path: Path | None = None
    bundled: bool = False  # they are the ones that ship with Fanout
    shipped: frozenset[str] = frozenset()  # those of the user's own file that run just what ships under their names
    notes: tuple[str, ...] = ()
    own: bool = True  # the file is the user's own, not a project's or one that was named for this once
    untrusted: Path | None = None  # a project's file that would count, were it trusted as it is
    groups: Sequence[str] | None = None  # the user's, None where that counts for nothing
    plugins: frozenset[str] = frozenset()  # those that plugins bring


def choose_servers(
    paths: Paths,
    cwd: Path,
    *,
    mcp_config: Path | None,
    bundled: Path,
    only: Sequence[str] = (),
    none: bool = False,
    groups: Sequence[str] | None = None,
    environ: Mapping[str, str] = os.environ,
    named_by_user: bool = False,
    named_by_project: bool = False,
    plugins: Sequence[ServerConfig] = (),
) -> ServerChoice:
    """Return the servers of the file that counts, and of `plugins` where none was named; with `only`, those of them.
    Raises ConfigError when it can't be read.

    `groups` are the user's, None where that counts for nothing: a server for other groups can't be started,
    and is off unless `only` names it.
    `named_by_user`: the user's own settings name `mcp_config`; `named_by_project`: a project's do, and what it names
    takes trust like the project's mcp.json.
    """
    if none:
        return ServerChoice()
    named = None if mcp_config is None else cwd / mcp_config.expanduser()
    theirs = named if named_by_project or named is None else None
    path, notes, text, untrusted = named or paths.mcp, [], None, None
    if named is None or theirs is not None:
        path, notes, text, untrusted = _file(paths, [theirs] if theirs else project_mcp(cwd), bundled)
    config = load_mcp_config(path, environ) if text is None else read_mcp_config(text, path, environ)
    names = {server.name for server in config.servers}
    more = [one for one in plugins if one.name not in names] if named is None or theirs is not None else []
    config = replace(config, servers=(*config.servers, *more))
    mine = not _same(path, bundled) and _same(path, paths.mcp)
    return ServerChoice(
        servers=_only(replace(config, servers=tuple(for_groups(one, groups) for one in config.servers)), only),
        path=path,
        bundled=_same(path, bundled),
        shipped=_shipped(config, bundled, environ) if mine else frozenset(),
        notes=(*notes, *(str(problem) for problem in config.problems)),
        own=named_by_user or _same(path, bundled) or _same(path, paths.mcp),
        untrusted=untrusted,
        groups=groups,
        plugins=frozenset(server.name for server in more),
    )


def _file(paths: Paths, projects: Sequence[Path], bundled: Path) -> tuple[Path, list[str], str | None, Path | None]:
    """Return the file, what to say of it, its text where that was trusted, and the project's file where it was not. Of
    several files of a project the first that is trusted counts."""
    own = paths.mcp if paths.mcp.exists() else bundled
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
            said = f"The servers are those of {project}, and not of {others}: one file counts."
            return project, [*notes, said] if others else notes, text, None
        waiting.append(project)
    notes += [
        f"{project} is not used: it starts programs, and you have not trusted it as it is now. "
        f"To see what it would run and say yes: {trusted.IN_A_SHELL}."
        for project in waiting[:1]
    ]
    return own, notes, None, next(iter(waiting), None)


def for_groups(server: ServerConfig, groups: Sequence[str] | None) -> ServerConfig:
    """Return the server; off, with the reason why it can't be started, where it is for other groups than the user's."""
    if groups is None or not server.groups or server.problem or set(groups) & set(server.groups):
        return server
    yours = ", ".join(groups) or "none"
    problem = f"it is for the groups {', '.join(server.groups)}, and yours (the setting `groups`): {yours}"
    return server.model_copy(update={"problem": problem, "disabled": True})


def _same(one: Path, other: Path) -> bool:
    return os.path.exists(one) and os.path.exists(other) and one.samefile(other)


def _shipped(config: McpConfig, bundled: Path, environ: Mapping[str, str]) -> frozenset[str]:
    """Return the bundled servers in a user's file that are still what they were: the first own server adds them to
    it."""
    try:
        ours = {server.name: _program(server) for server in load_mcp_config(bundled, environ).servers}
    except ConfigError:
        return frozenset()  # a broken installation: nothing is known to be ours
    return frozenset(server.name for server in config.servers if ours.get(server.name) == _program(server))


def _program(server: ServerConfig) -> tuple[object, ...]:
    return server.kind, server.command, server.args, server.env, server.cwd, server.url, server.problem


def _only(config: McpConfig, names: Sequence[str]) -> tuple[ServerConfig, ...]:
    """Return the servers called `names`, switched on even where the file has them off; all of them without names."""
    if not names:
        return config.servers
    known = {server.name: server for server in config.servers}
    for name in names:
        if name not in known:
            raise UsageError(f"{config.path} has no server {name}", f"It has: {', '.join(known) or 'none'}.")
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

"""Keeps the servers, tools, prompts and resources that are on in a working folder, as the user picked them.

One small file in the state folder holds the picks of all folders. It only says what differs from mcp.json, so that
what a server adds later is on, and a file that can't be read costs nothing but the picks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from console_app.config.files import Paths, disk
from console_app.config.servers.mcp_servers import ServerConfig
from console_app.domain import ConfigError, ToolSpec

Kind = Literal["tool", "prompt", "resource"]
_KINDS: tuple[Kind, ...] = ("tool", "prompt", "resource")
Item = tuple[str, Kind, str]
"""Server, kind and name (of a resource: its URI or template)."""

_MOST_FOLDERS = 200


@dataclass(frozen=True, slots=True)
class Selection:
    """The picks of one folder: `servers` are switched otherwise than mcp.json says (True: on), `off` are single things
    that are off."""

    servers: Mapping[str, bool] = field(default_factory=dict[str, bool])
    off: frozenset[Item] = frozenset()

    def applied(self, servers: Sequence[ServerConfig]) -> tuple[ServerConfig, ...]:
        """Return the servers, switched as picked."""
        return tuple(
            server.model_copy(update={"disabled": not self.servers[server.name]})
            if server.name in self.servers
            else server
            for server in servers
        )

    @classmethod
    def load(cls, paths: Paths, folder: Path) -> Selection:
        """Return the picks for a working folder; none for a folder without, or where the file can't be read."""
        entry = _object(_record(paths).get(str(folder.resolve())))
        servers = {name: on for name, on in _object(entry.get("servers")).items() if isinstance(on, bool)}
        return cls(servers, frozenset(_items(entry.get("off"))))

    def save(self, paths: Paths, folder: Path) -> None:
        """Keep the picks for a working folder. Raises ConfigError when the file can't be written."""
        record = _record(paths)
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
    for server, kinds in _object(value).items():
        for kind in _KINDS:
            names: Any = _object(kinds).get(f"{kind}s")
            for name in cast("list[Any]", names) if isinstance(names, list) else []:
                if isinstance(name, str):
                    yield server, kind, name


def _record(paths: Paths) -> dict[str, Any]:
    """Return the picks of all folders; {} for a broken file, which is worth less than new picks."""
    try:
        return _object(json.loads(disk.read_text(paths.tools, most=disk.MOST_RECORD)))
    except (ConfigError, ValueError, RecursionError):
        return {}


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

"""Which servers, tools, prompts and resources are on in a working folder: what the user picked, kept between starts.

One small file in the state folder holds the picks of all folders. It only says what differs from mcp.json, so that
what a server adds later is on, and a file that can't be read costs nothing but the picks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from console_app.config.files.disk import MOST_RECORD, read_text, write_private
from console_app.config.files.paths import Paths
from console_app.config.servers.mcp_servers import ServerConfig
from console_app.domain.errors import ConfigError

Kind = Literal["tool", "prompt", "resource"]
KINDS: tuple[Kind, ...] = ("tool", "prompt", "resource")
Item = tuple[str, Kind, str]
"""Server, kind and name (of a resource: its URI or template)."""

MOST_FOLDERS = 200


@dataclass(frozen=True, slots=True)
class Selection:
    """`servers` are switched otherwise than mcp.json says (True: on), `off` are single things that are off."""

    servers: Mapping[str, bool] = field(default_factory=dict[str, bool])
    off: frozenset[Item] = frozenset()

    def applied(self, servers: Sequence[ServerConfig]) -> tuple[ServerConfig, ...]:
        """The servers, switched as picked."""
        return tuple(
            server.model_copy(update={"disabled": not self.servers[server.name]})
            if server.name in self.servers
            else server
            for server in servers
        )


def load_selection(paths: Paths, folder: Path) -> Selection:
    """The picks for a working folder; none for a folder without, or where the file can't be read."""
    try:
        entry = _record(paths).get(str(folder.resolve()))
    except ConfigError:
        return Selection()
    if not isinstance(entry, dict):
        return Selection()
    fields = cast("dict[str, Any]", entry)
    servers, off = fields.get("servers"), fields.get("off")
    return Selection(
        servers={
            name: on for name, on in (cast("dict[str, Any]", servers) if isinstance(servers, dict) else {}).items()
            if isinstance(on, bool)
        },
        off=frozenset(_items(off)),
    )  # fmt: skip


def save_selection(paths: Paths, folder: Path, selection: Selection) -> None:
    """Keeps the picks for a working folder. Raises ConfigError when the file can't be written."""
    try:
        record = _record(paths)
    except ConfigError:
        record = {}  # a broken file of picks is worth less than the new ones
    record.pop(str(folder.resolve()), None)
    off: dict[str, dict[str, list[str]]] = {}
    for server, kind, name in sorted(selection.off):
        off.setdefault(server, {}).setdefault(f"{kind}s", []).append(name)
    if selection.servers or off:
        record[str(folder.resolve())] = {"servers": dict(selection.servers), "off": off}
    newest = dict(list(record.items())[-MOST_FOLDERS:])
    write_private(paths.tools, json.dumps(newest, indent=2) + "\n")


def _items(value: Any) -> list[Item]:
    found: list[Item] = []
    for server, kinds in (cast("dict[str, Any]", value) if isinstance(value, dict) else {}).items():
        for kind in KINDS:
            names: Any = cast("dict[str, Any]", kinds).get(f"{kind}s") if isinstance(kinds, dict) else None
            listed = cast("list[Any]", names) if isinstance(names, list) else []
            found.extend((server, kind, name) for name in listed if isinstance(name, str))
    return found


def _record(paths: Paths) -> dict[str, Any]:
    if not paths.tools.exists():
        return {}
    try:
        record: Any = json.loads(read_text(paths.tools, most=MOST_RECORD))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{paths.tools}: {error}") from None
    return cast("dict[str, Any]", record) if isinstance(record, dict) else {}

"""Finds the servers that other MCP clients are set up with, where these keep their configuration; writes nothing.

Nothing is taken over by itself: `fanout mcp import` shows what is there, and takes what it is told to.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from console_app.config.files import disk
from console_app.config.servers.mcp_edit import server_fields
from console_app.config.servers.mcp_servers import read_mcp_config
from console_app.domain import ConfigError


@dataclass(frozen=True, slots=True)
class OtherClient:
    """One file of another client: the servers in it as they are written, `${VAR}` unfilled."""

    client: str
    path: Path
    servers: Mapping[str, Mapping[str, Any]]
    problem: str = ""  # why it couldn't be read

    @classmethod
    def read(cls, path: Path, client: str = "") -> OtherClient:
        """Read the servers of one file of any client."""
        try:
            text = disk.read_text(path)
            servers = _toml_servers(text) if path.suffix == ".toml" else _json_servers(text, path)
        except ConfigError as error:
            # A client's settings without any server are nothing to complain of.
            empty = "has no key mcpServers" in error.detail
            return cls(client, path, {}, "" if empty else error.detail)
        except tomllib.TOMLDecodeError as error:
            return cls(client, path, {}, f"{path}: {error}")
        return cls(client, path, servers)


def _known_places(home: Path, cwd: Path, platform: str) -> list[tuple[str, Path]]:
    """Return the files in which clients keep their servers: the user's, then those of the folder."""
    apps = home / "Library" / "Application Support" if platform == "darwin" else home / ".config"
    return [
        ("claude-desktop", apps / "Claude" / "claude_desktop_config.json"),
        ("claude-code", home / ".claude.json"),
        ("claude-code", cwd / ".mcp.json"),
        ("cursor", home / ".cursor" / "mcp.json"),
        ("cursor", cwd / ".cursor" / "mcp.json"),
        ("vscode", apps / "Code" / "User" / "mcp.json"),
        ("vscode", cwd / ".vscode" / "mcp.json"),
        ("windsurf", home / ".codeium" / "windsurf" / "mcp_config.json"),
        ("gemini", home / ".gemini" / "settings.json"),
        ("gemini", cwd / ".gemini" / "settings.json"),
        ("lmstudio", home / ".lmstudio" / "mcp.json"),
        ("codex", home / ".codex" / "config.toml"),
    ]


def other_clients(home: Path, cwd: Path, platform: str = sys.platform) -> list[OtherClient]:
    """Return the files of other clients that are there and hold servers, or can't be read."""
    places = _known_places(home, cwd, platform)
    found = [OtherClient.read(path, client) for client, path in places if path.is_file()]
    return [one for one in found if one.servers or one.problem]


def _json_servers(text: str, path: Path) -> dict[str, dict[str, Any]]:
    names = [server.name for server in read_mcp_config(text, path, {}).servers]
    return {name: fields for name in names if (fields := server_fields(text, name, path))}


def _toml_servers(text: str) -> dict[str, dict[str, Any]]:
    listed = tomllib.loads(text).get("mcp_servers")
    if not isinstance(listed, dict):
        return {}
    servers = cast("dict[str, Any]", listed)
    return {name: json.loads(json.dumps(fields, default=str)) for name, fields in servers.items() if fields}

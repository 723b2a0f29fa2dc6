"""What a yes to `fanout mcp trust` would let a project's files do, in lines that are shown before the question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from console_app.config import paths
from console_app.config.mcp_servers import read_mcp_config
from console_app.config.project_file import lines_of
from console_app.config.toml_text import parse_toml
from console_app.domain.safe_text import one_line
from console_app.headless.mcp_files import starts


@dataclass(frozen=True, slots=True)
class FileToTrust:
    """A file as it was read: `text`, what of it would take effect, and that in a few words."""

    path: Path
    text: str
    lines: tuple[str, ...]
    summary: str


def to_trust(file: Path, environ: Mapping[str, str]) -> FileToTrust:
    """A project's mcp.json, or its config.toml. Raises ConfigError for one that can't be read."""
    text, place = paths.read_text(file), one_line(str(file.absolute()))
    if file.suffix == ".toml":
        table = parse_toml(text, file)
        lines = tuple(f"    {line}" for line in lines_of(table))
        return FileToTrust(file, text, (f"{place} would set:", *lines), ", ".join(table) or "nothing")
    servers = read_mcp_config(text, file, environ).servers
    lines = tuple(line for server in servers for line in starts(server))
    names = ", ".join(server.name for server in servers) or "no server"
    return FileToTrust(file, text, (f"{place} would start:", *lines), names)


def files_to_trust(word: str, cwd: Path) -> list[Path]:
    """The file that was named, else those of the project that are there; its mcp.json where none is."""
    if word:
        return [Path(word)]
    found = [file for file in (paths.project_mcp(cwd), paths.project_settings(cwd)) if file.exists()]
    return found or [paths.project_mcp(cwd)]

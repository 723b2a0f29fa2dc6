"""Plugins as Agent Plugins 1.0.0 has them: a folder with a plugin.json, skills and MCP servers, and nothing else.

A part of a plugin that is broken disables itself with a word, and what is wrong with one says nothing of another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from console_app.config.foreign import skills
from console_app.config.foreign.skills import Skill
from console_app.config.foreign.tree import Tree, named_below
from console_app.config.servers import ServerConfig, read_mcp_config
from console_app.domain import ConfigError, one_line, plural, safe_text

FILE = "plugin.json"
FOLDER = ".agents/plugins"
_KNOWN = {
    *("$schema", "name", "version", "description", "author"),
    *("homepage", "repository", "license", "keywords", "extensions"),
}
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9]|[-.](?=[a-z0-9])){0,63}")


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin. Its servers are named after it: PLUGIN-SERVER."""

    path: Path
    text: str
    name: str
    skills: tuple[Skill, ...]
    servers: tuple[ServerConfig, ...]
    problems: tuple[str, ...]
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    kind = "plugin"

    @classmethod
    def read(cls, path: Path, tree: Tree, data: Path, environ: Mapping[str, str]) -> Plugin:
        """Read the plugin of a plugin.json; `data` is the folder of what plugins keep. Raises ConfigError where it is
        none."""
        text, place, root = tree.text(path), one_line(str(path), 200), path.parent
        try:
            found: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{place}: it is no JSON ({one_line(str(error), 80)})") from None
        said = safe_text.as_object(found)
        name = said.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name) or not isinstance(said.get("$schema"), str):
            raise ConfigError(f"{place}: a plugin has a `$schema` and a `name` of small letters, digits, - and dots")
        problems: list[str] = []
        if unknown := [one_line(key, 40) for key in said if key not in _KNOWN]:
            problems.append(f"{place}: not known here: {', '.join(unknown[:8])}")
        parts, read = tree.beside(path), list[Skill]()
        for file in named_below(root / "skills", skills.FILE):
            try:
                read.append(Skill.read(file, tree))
            except ConfigError as error:
                problems.append(one_line(error.line, 300))
        servers: tuple[ServerConfig, ...] = ()
        if (file := root / "mcp.json").exists():
            try:
                own = {"PLUGIN_ROOT": str(root), "PLUGIN_DATA": str(data / name)}
                servers = _servers(name, file, tree, {**environ, **own})
            except ConfigError as error:
                problems.append(one_line(error.line, 300))
        return cls(path, text, name, tuple(read), servers, tuple(problems), parts)

    @property
    def summary(self) -> str:
        what = (plural(len(self.skills), "skill"), plural(len(self.servers), "server"))
        return f"the plugin {self.name} with {' and '.join(what)}"

    @property
    def does(self) -> Iterator[str]:
        for skill in self.skills:
            yield f"The skill {skill.name}:"
            yield from (f"    {line}" for line in skill.does)
        yield from self.problems


def _servers(plugin: str, file: Path, tree: Tree, environ: Mapping[str, str]) -> tuple[ServerConfig, ...]:
    read = read_mcp_config(tree.text(file), file, environ).servers
    folder = environ["PLUGIN_ROOT"]
    own = {"PLUGIN_ROOT": folder, "PLUGIN_DATA": environ["PLUGIN_DATA"]}
    return tuple(
        server.model_copy(
            update={
                "name": plugin if server.name == plugin else f"{plugin}-{server.name}",
                "env": own | server.env if server.command else server.env,
                "variables": tuple(one for one in server.variables if one not in own),
            }
        )
        for server in read
    )

"""Skills as agentskills.io has them, folders with a SKILL.md whose body a model reads when it uses the skill; and
plugins as Agent Plugins 1.0.0 has them, folders with a plugin.json, skills and MCP servers, and nothing else.

The front matter of a skill grants nothing here: `allowed-tools` is kept, and each call asks as any other. A part of a
plugin that is broken disables itself with a word, and what is wrong with one says nothing of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from console_app.config.files import disk
from console_app.config.foreign.tree import MOST_TEXT, FrontMatter, Tree, digest, named_below
from console_app.config.servers import ServerConfig, read_mcp_config
from console_app.domain import ConfigError, one_line, plural
from console_app.records import dataclass, field

FILE = "SKILL.md"
FOLDERS = (".agents/skills", ".claude/skills")
MOST_DESCRIPTION = 1024  # characters
_KNOWN = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_NAME = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")
_MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill. `parts` has the hash of each file beside its SKILL.md, by its path in the folder."""

    path: Path
    text: str
    name: str
    description: str
    body: str
    note: str = ""  # on its front matter
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    kind = "skill"

    @classmethod
    def read(cls, path: Path, tree: Tree) -> Skill:
        text = tree.text(path)
        front, place = FrontMatter.read(path, text), one_line(str(path), 200)
        name, description = path.parent.name, front.text("description")
        if len(name) > 64 or not _NAME.fullmatch(name):
            raise ConfigError(f"{place}: a skill's folder is named with small letters, digits and -")
        if (said := front.text("name")) and said != name:
            raise ConfigError(f"{place}: it is named {one_line(said, 64)}, and its folder {name}", "Name them alike.")
        if not description or not front.body:
            raise ConfigError(f"{place}: a skill needs a description in its front matter, and a text below it")
        note = front.unknown(_KNOWN)
        if "allowed-tools" in front.fields:
            note = "; ".join(filter(None, ("its allowed-tools allow nothing here", note)))
        return cls(path, text, name, one_line(description, MOST_DESCRIPTION), front.body, note, tree.beside(path))

    @property
    def summary(self) -> str:
        return f"the skill {self.name}, which the model is told of and may read"

    @property
    def does(self) -> Iterator[str]:
        yield f"In each request: {self.name}: {self.description}"
        if self.note:
            yield f"Its front matter: {self.note}."
        if self.parts:
            more = f" and {len(self.parts) - _MOST_NAMED} more" if len(self.parts) > _MOST_NAMED else ""
            names = ", ".join(one_line(name, 60) for name in list(self.parts)[:_MOST_NAMED])
            yield f"{plural(len(self.parts), 'file')} to read beside it: {names}{more}"
        yield "When it is used:"
        yield from (f"    {line}" for line in self.body.splitlines())

    def opened(self, file: str = "") -> str:
        """Return the body, or a file that the skill brings, as it was trusted. Raises ConfigError in words."""
        if not file:
            listed = ", ".join(one_line(name, 100) for name in self.parts)
            beside = f"\n\n[Files of this skill, in {one_line(str(self.path.parent), 200)}: {listed}]"
            return self.body + (beside if self.parts else "")
        name = str(Path(file))
        if name not in self.parts:
            raise ConfigError(f"the skill {self.name} has no file {one_line(file, 80)}")
        target = self.path.parent / name
        if digest(target) != self.parts[name]:
            raise ConfigError(f"{one_line(file, 80)} of the skill {self.name} changed since it was trusted")
        return disk.read_text(target, most=MOST_TEXT)


PLUGIN_FILE = "plugin.json"
PLUGINS = ".agents/plugins"
_KNOWN_OF_PLUGINS = {
    *("$schema", "name", "version", "description", "author"),
    *("homepage", "repository", "license", "keywords", "extensions"),
}
_PLUGIN_NAME = re.compile(r"[a-z0-9](?:[a-z0-9]|[-.](?=[a-z0-9])){0,63}")


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
        (text, said), place, root = tree.read_json(path), one_line(str(path), 200), path.parent
        name = said.get("name")
        if not isinstance(name, str) or not _PLUGIN_NAME.fullmatch(name) or not isinstance(said.get("$schema"), str):
            raise ConfigError(f"{place}: a plugin has a `$schema` and a `name` of small letters, digits, - and dots")
        problems: list[str] = []
        if unknown := [one_line(key, 40) for key in said if key not in _KNOWN_OF_PLUGINS]:
            problems.append(f"{place}: not known here: {', '.join(unknown[:8])}")
        parts, read = tree.beside(path), list[Skill]()
        for file in named_below(root / "skills", FILE):
            try:
                read.append(Skill.read(file, tree))
            except ConfigError as error:
                problems.append(one_line(error.line, 300))
        servers: tuple[ServerConfig, ...] = ()
        if not disk.nothing_at(file := root / "mcp.json"):
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

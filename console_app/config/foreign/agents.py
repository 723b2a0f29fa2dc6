"""Files of agents as others write them: who an agent is, what it may use, and what it is told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from console_app.config.foreign.tree import FrontMatter, Tree
from console_app.config.servers import ServerConfig, read_mcp_config
from console_app.domain import ConfigError, one_line, safe_text
from console_app.domain.settings import EFFORTS, Effort
from console_app.records import dataclass, field

FOLDERS = (".fanout/agents", ".agents/agents", ".claude/agents")
OWN_FOLDER = "agents"  # of the configuration
_KNOWN = (
    *("name", "description", "tools", "disallowedtools", "model", "maxturns", "background", "color"),
    *("skills", "mcpservers", "effort", "isolation"),
)
_WORKTREE = "worktree"  # the one isolation there is


@dataclass(frozen=True, slots=True)
class AgentFile:
    """An agent. `tools` is None where the file names none, which means all; an empty list means none."""

    path: Path
    text: str
    name: str
    description: str
    body: str
    tools: tuple[str, ...] | None
    disallowed: tuple[str, ...]
    model: str
    note: str
    max_turns: int | None = None
    background: bool = False
    skills: tuple[str, ...] = ()  # that it has read when it begins
    servers: tuple[str, ...] = ()  # whose tools it has beside those that it lists
    starts: tuple[ServerConfig, ...] = ()  # servers of its own, as they are written in its front matter
    effort: Effort | None = None
    worktree: bool = False
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    kind = "agent"

    @classmethod
    def read(cls, path: Path, tree: Tree, environ: Mapping[str, str]) -> AgentFile:
        text = tree.text(path)
        front = FrontMatter.read(path, text)
        name = front.text("name") or path.stem.removesuffix(".agent")
        if ":" in name or not front.text("description"):
            raise ConfigError(f"{one_line(str(path), 200)}: an agent has a description, and a name without a colon")
        effort, isolation = front.text("effort").lower(), front.text("isolation")
        servers, starts, problems = _servers(path, front, environ)
        notes = [front.unknown(_KNOWN), *problems]
        notes += [f"no effort is called {one_line(effort, 40)}"] if effort and effort not in EFFORTS else []
        notes += [f"no isolation is called {one_line(isolation, 40)}"] if isolation not in ("", _WORKTREE) else []
        return cls(
            path,
            text,
            one_line(name, 64),
            one_line(front.text("description"), 1024),
            front.body,
            tuple(front.names("tools")) if "tools" in front.fields else None,
            tuple(front.names("disallowedtools")),
            one_line(front.text("model"), 80),
            "; ".join(filter(None, notes)),
            int(turns) if (turns := front.text("maxturns")).isdecimal() and int(turns) > 0 else None,
            front.text("background").lower() == "true",
            tuple(front.names("skills")),
            servers,
            starts,
            next((one for one in EFFORTS if one == effort), None),
            isolation == _WORKTREE,
        )

    @property
    def summary(self) -> str:
        return f"the agent {self.name}, which a model may send"

    @property
    def does(self) -> Iterator[str]:
        yield f"{self.name}: {self.description}"
        yield f"tools: {'all' if self.tools is None else one_line(', '.join(self.tools), 400) or 'none'}"
        if self.disallowed:
            yield f"but not: {one_line(', '.join(self.disallowed), 400)}"
        if self.model:
            yield f"model: {self.model}"
        if self.skills:
            yield f"it has read the skills: {one_line(', '.join(self.skills), 400)}"
        for server in self.starts:
            yield f"it starts for itself {one_line(server.name, 60)}: {_runs(server)}"
        if self.worktree:
            yield "it works in a git worktree of its own"
        if self.note:
            yield f"Its front matter: {self.note}."
        yield "It is told:"
        yield from (f"    {line}" for line in self.body.splitlines())


_MOST_PROBLEMS = 3  # of its servers, that are told


def _servers(
    path: Path, front: FrontMatter, environ: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[ServerConfig, ...], list[str]]:
    """Return the servers that the field mcpServers names, those that it defines, and what is wrong there."""
    try:
        written = front.nested("mcpservers")
    except ValueError as error:
        return (), (), [f"mcpServers can't be read: {one_line(str(error), 100)}"]
    entries = safe_text.as_list(written) or [written]
    names = [one.strip() for entry in entries if isinstance(entry, str) for one in entry.split(",") if one.strip()]
    defined = dict[str, object]()
    for name, fields in ((name, fields) for entry in entries for name, fields in safe_text.as_object(entry).items()):
        if fields is None:
            names.append(name)
        else:
            defined[name] = fields
    if not defined:
        return tuple(names), (), []
    read = read_mcp_config(json.dumps({"mcpServers": defined}), path, environ)
    problems = [f"{one.key}: {one_line(one.text, 100)}" for one in read.problems]
    return tuple(names), tuple(one for one in read.servers if not one.problem), problems[:_MOST_PROBLEMS]


def _runs(server: ServerConfig) -> str:
    return one_line(server.identity(Path()).text, 200)

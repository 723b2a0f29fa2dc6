"""Files of agents as others write them: who an agent is, what it may use, and what it is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from console_app.config.foreign.tree import FrontMatter, Tree
from console_app.domain import ConfigError, one_line
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
    effort: Effort | None = None
    worktree: bool = False
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    kind = "agent"

    @classmethod
    def read(cls, path: Path, tree: Tree) -> AgentFile:
        text = tree.text(path)
        front = FrontMatter.read(path, text)
        name = front.text("name") or path.stem.removesuffix(".agent")
        if ":" in name or not front.text("description"):
            raise ConfigError(f"{one_line(str(path), 200)}: an agent has a description, and a name without a colon")
        servers, effort, isolation = [*front.names("mcpservers")], front.text("effort").lower(), front.text("isolation")
        named = [one for one in servers if ":" not in one and "{" not in one]
        notes = [front.unknown(_KNOWN)]
        notes += ["it starts no servers of its own (mcpServers)"] if len(named) < len(servers) else []
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
            tuple(named) if len(named) == len(servers) else (),
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
        if self.worktree:
            yield "it works in a git worktree of its own"
        if self.note:
            yield f"Its front matter: {self.note}."
        yield "It is told:"
        yield from (f"    {line}" for line in self.body.splitlines())

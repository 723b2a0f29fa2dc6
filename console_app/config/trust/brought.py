"""All that counts of what a folder and its user keep for agents in others' forms: theirs, and what was trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from console_app.config.files import Paths, trusted
from console_app.config.foreign import (
    AgentFile,
    Foreign,
    Hook,
    HookFile,
    Instructions,
    Plugin,
    Skill,
    hooks_of,
    of_project,
    of_user,
)
from console_app.config.servers import ServerConfig

__all__ = ["AgentFile", "Brought", "Hook", "hooks_of"]


def content(thing: Foreign) -> Mapping[str, str]:
    """Return all but its text that a yes to it is a yes to; a file that is two things is trusted as each."""
    return {"": thing.kind, **thing.parts}


@dataclass(frozen=True, slots=True)
class Brought:
    """The things that count now. Of two skills or plugins with one name the user's own stands."""

    instructions: tuple[Instructions, ...] = ()
    skills: Mapping[str, Skill] = field(default_factory=dict[str, Skill])
    hooks: tuple[Hook, ...] = ()
    servers: tuple[ServerConfig, ...] = ()
    agents: Mapping[str, AgentFile] = field(default_factory=dict[str, AgentFile])

    @classmethod
    def find(cls, paths: Paths, folder: Path, environ: Mapping[str, str]) -> Brought:
        """Read what counts. Reads many files, so it is for a thread."""
        theirs = of_project(folder, paths.plugins, environ).things
        counts = [one for one in theirs if trusted.is_trusted(paths, one.path, one.text, content(one))]
        instructions, hooks = list[Instructions](), list[Hook]()
        skills, plugins, agents = dict[str, Skill](), dict[str, Plugin](), dict[str, AgentFile]()
        for thing in (*of_user(paths.config, paths.plugins, environ).things, *counts):
            match thing:
                case Instructions():
                    instructions.append(thing)
                case Skill():
                    skills.setdefault(thing.name, thing)
                case Plugin():
                    plugins.setdefault(thing.name, thing)
                case HookFile():
                    hooks += thing.hooks
                case AgentFile():
                    agents.setdefault(thing.name, thing)
        for plugin in plugins.values():
            for skill in plugin.skills:
                skills.setdefault(skill.name, skill)
        servers = tuple(server for plugin in plugins.values() for server in plugin.servers)
        return cls(tuple(instructions), skills, tuple(hooks), servers, agents)

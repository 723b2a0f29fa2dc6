"""The folder of one conversation for its engine: what the system prompt says of it, its skills, and its hooks.

What others brought is read anew before each turn, as far as it is trusted as it is then. The first level of the folder
is listed once a session, so that a file more doesn't cost the cache of the whole conversation.
"""

from __future__ import annotations

import asyncio
import copy
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from console_app.config import trust
from console_app.config.files import Paths
from console_app.config.secrets import child_environment
from console_app.config.servers import ServerConfig
from console_app.domain import ConfigError, errors, one_line, ports
from console_app.domain import agents as ag
from console_app.workplace import git
from console_app.workplace.hook_runs import HookRuns

MOST_LISTED = 8_000  # characters of the list of skills: about 2,000 tokens of each request
# The names that hooks of others know tools by, the one they are told first; and the argument that they look for.
_FAMILIAR = {
    "shell.run": ("Bash",),
    "files.read_file": ("Read",),
    "files.write_file": ("Write",),
    "files.edit_file": ("Edit",),
    "files.apply_patch": ("apply_patch", "Edit", "Write"),
    "files.search_files": ("Grep",),
    "files.list_directory": ("Glob",),
    "web.fetch": ("WebFetch",),
}
_PATH, _THEIR_PATH = "path", "file_path"


class WorkingFolder:
    """The Workplace of a folder; `hooks` is the table of the user's settings, which trusted ones of the folder join.

    Raises ConfigError for a table that can't be read: a hook that forbids something would be missing.
    """

    def __init__(
        self, paths: Paths, folder: Path, environ: Mapping[str, str], hooks: Mapping[str, Any] | None = None
    ) -> None:
        self._paths, self._folder, self._environ = paths, folder, environ
        self._own, problems = trust.hooks_of(dict(hooks or {}), "the setting hooks")
        if problems:
            raise ConfigError(problems[0], "fanout config edit opens your settings.")
        self._slow = False  # git takes too long here
        self._place = folder  # that is worked in: another checkout of the folder, for an agent apart
        self._listed = first_level(folder)
        self._brought = trust.Brought.find(paths, folder, environ)
        self._runs = HookRuns(child_environment.for_own_programs(environ))

    def at(self, folder: Path) -> WorkingFolder:
        """Return this for an agent that works in another checkout. What was brought and trusted here counts there, and
        nothing that stands there does."""
        other = copy.copy(self)
        other._place, other._listed = folder, first_level(folder)
        return other

    async def parts(self) -> Mapping[str, str]:
        """Look again, in a thread."""
        return await asyncio.to_thread(self._parts)

    def _parts(self) -> Mapping[str, str]:
        self._brought = brought = trust.Brought.find(self._paths, self._folder, self._environ)
        began = time.monotonic()
        parts = {"the place": in_words(self._place, self._listed, self._environ, asking=not self._slow)}
        self._slow = self._slow or time.monotonic() - began > git.LIMIT  # a turn waits for that once
        for one in brought.instructions:
            yours = one.path.is_relative_to(self._paths.config)
            name = f"your {one.name}" if yours else one.name
            whose = "The user's own instructions" if yours else f"Instructions of this project, {one.name}"
            parts[one_line(name, 40)] = f"{whose}:\n\n{one.whole}"
        if listed := self._skills_in_words():
            parts["skills"] = listed
        return parts

    def _skills_in_words(self) -> str:
        skills = self._brought.skills
        lines: list[str] = []
        for name, skill in skills.items():
            line = f"- {name}: {skill.description}"
            if sum(map(len, lines)) + len(line) > MOST_LISTED:
                break
            lines.append(line)
        if not lines:
            return ""
        left = list(skills)[len(lines) :]
        more = f"\nAnd {len(left)} more, by name alone: {one_line(', '.join(left), 1_000)}" if left else ""
        opens = "Skills say what to do for a kind of task; fanout_skill reads one, before such a task begins:"
        return "\n".join((opens, *lines)) + more

    def skills(self) -> Mapping[str, str]:
        return {name: skill.description for name, skill in self._brought.skills.items()}

    def agents(self) -> ag.Kinds:
        return {name: _kind(one, self._place) for name, one in self._brought.agents.items()}

    def servers_of(self, kind: str) -> Sequence[ServerConfig]:
        """Return the servers that a kind of agent starts for itself."""
        return self._brought.agents[kind].starts

    async def skill(self, name: str, file: str) -> str:
        skill = self._brought.skills.get(name)
        if skill is None:
            there = one_line(", ".join(self._brought.skills), 400) or "none"
            raise errors.ToolError(f"there is no skill {one_line(name, 64)}; there are: {there}")
        try:
            return await asyncio.to_thread(skill.opened, file)
        except ConfigError as error:
            raise errors.ToolError(error.line) from None

    def _hooks(self, event: str, names: Sequence[str]) -> list[trust.Hook]:
        known = [*names, *_FAMILIAR.get("".join(names[1:2]), ())]
        return [hook for hook in (*self._own, *self._brought.hooks) if hook.event == event and hook.concerns(known)]

    def asks(self, event: str, names: Sequence[str] = ()) -> bool:
        return bool(self._hooks(event, names))

    async def ask(self, happening: ports.Happening) -> ports.Heard:
        """Run the hooks that concern it. A tool of ours that others have too goes by their name, with its path under
        their name as well."""
        told, names = dict(happening.told), happening.names
        given: dict[str, Any] = told.get("tool_input") or {}
        if len(names) > 1 and names[1] in _FAMILIAR:
            told["tool_name"] = _FAMILIAR[names[1]][0]
            if isinstance(path := given.get(_PATH), str):
                told["tool_input"] = {**given, _THEIR_PATH: str(self._place / path)}
        told.setdefault("transcript_path", "")
        told["permission_mode"] = _MODES.get(str(told.get("permission_mode")), "default")
        hooks = self._hooks(happening.event, names)
        heard = await self._runs.ask(hooks, self._place, told, happening.event)
        asked: dict[str, Any] = told.get("tool_input") or {}
        if heard.arguments is not None and _THEIR_PATH in asked and _THEIR_PATH not in given:
            changed = dict(heard.arguments)  # a path that a hook changed under the others' name for it is ours
            theirs = changed.pop(_THEIR_PATH, None)
            changed |= {_PATH: theirs} if isinstance(theirs, str) and theirs != asked[_THEIR_PATH] else {}
            heard = replace(heard, arguments=changed)
        return heard


def _kind(file: trust.AgentFile, folder: Path) -> ag.AgentKind:
    """Return the kind that a file describes. A model by the name that another console has for it is its parent's."""
    starts = {one.name: one.identity(folder).text for one in file.starts}
    return ag.AgentKind(
        file.name,
        file.description,
        file.body,
        file.model if "/" in file.model else "",
        file.tools if file.tools is None else (*file.tools, *(f"{name}.*" for name in (*file.servers, *starts))),
        file.disallowed,
        max_steps=file.max_turns,
        background=file.background,
        worktree=file.worktree,
        skills=file.skills,
        effort=file.effort,
        source=str(file.path),
        note=file.note,
        starts=starts,
    )


class HooksOfCalls(WorkingFolder):
    """The hooks around calls alone, for calls that were typed and items of a batch: nothing joins their prompts."""

    async def parts(self) -> Mapping[str, str]:
        return {}

    def skills(self) -> Mapping[str, str]:
        return {}

    def asks(self, event: str, names: Sequence[str] = ()) -> bool:
        return event in ("PreToolUse", "PostToolUse") and super().asks(event, names)


_MODES = {"ask": "default", "auto": "acceptEdits", "plan": "plan", "yolo": "bypassPermissions"}


_LONGEST = 300  # characters of what is listed
_LONGEST_NAME = 40  # characters of one name, which a checkout may have been given to talk to the model
_MOST_READ = 5_000  # entries of a folder


def first_level(folder: Path) -> str:
    """List what is in the folder, folders first, as far as there is room, and say how much more there is."""
    try:
        with os.scandir(folder) as entries:
            found = [
                (not os.path.isdir(one.path), one.name) for one in islice(entries, _MOST_READ) if one.name != ".git"
            ]
    except OSError:
        return "it can't be read"
    names = [one_line(name, _LONGEST_NAME) + ("" if is_file else "/") for is_file, name in sorted(found)]
    shown: list[str] = []
    for name in names:
        if sum(map(len, shown)) + 2 * len(shown) + len(name) > _LONGEST:
            break
        shown.append(name)
    more = f"{', and' if shown else ''} {len(names) - len(shown):,} more" if len(shown) < len(names) else ""
    return f"{', '.join(shown)}{more}" or "nothing"


def in_words(folder: Path, listed: str, environ: Mapping[str, str], *, asking: bool = True) -> str:
    """Return the place as the model is told it. Asks git where it may, so it is for a thread."""
    root = git.root_of(folder)
    state = git.state(root, asking=asking) if root is not None else ""
    top = f" of {one_line(str(root), 200)}" if root not in (None, folder) else ""
    checkout = "in no git checkout" if root is None else f"a git checkout{top}, {state or 'its state is not known'}"
    shell = Path(environ.get("SHELL") or "sh").name
    return "\n".join(
        (
            f"You work in the folder {one_line(str(folder), 200)} ({checkout}).",
            f"It holds: {listed}.",
            f"Today is {datetime.now().astimezone():%A, %d %B %Y}. The system is {platform.system()} "
            f"{platform.machine()}, the user's shell {one_line(shell, 30)}.",
        )
    )

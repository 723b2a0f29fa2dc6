"""Hooks in the shape that others write them: programs that are asked around calls, by event and by tool.

`{"hooks": {EVENT: [{"matcher": PATTERN, "hooks": [{"type": "command", "command": LINE, "timeout": SECONDS}]}]}}`
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from console_app.config.foreign.tree import MOST_FILES, Tree, digest
from console_app.domain import one_line, safe_text
from console_app.records import dataclass, field

FILES = (".claude/settings.json", ".claude/settings.local.json")
EVENTS = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SessionStart")
LIMIT = 60.0  # seconds
MOST_HOOKS = 100
_MOST_PATTERN = 400  # characters
_ROOT = re.compile(r"\$\{?CLAUDE_PROJECT_DIR\}?|\$\{?PWD\}?")


@dataclass(frozen=True, slots=True)
class Hook:
    """A program that is asked at an event. `matcher` is a pattern of tool names, "" for all; `folder` is where its file
    stands, "" for the user's own."""

    event: str
    command: str
    matcher: str = ""
    limit: float = LIMIT
    source: str = ""
    folder: str = ""

    def concerns(self, names: Sequence[str]) -> bool:
        """Tell whether the hook is asked about a tool with these names, or about an event that has none."""
        if self.matcher in ("", "*") or not names:
            return True
        try:
            return any(re.fullmatch(self.matcher, name) for name in names)
        except re.error:
            return self.matcher in names


def hooks_of(table: Any, source: str, folder: str = "") -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    """Return the hooks of a table by event, and a line for each thing in it that can't be used."""
    hooks: list[Hook] = []
    problems: list[str] = []
    if not isinstance(table, dict):
        return (), (f"{source}: `hooks` has to be a table of events",)
    for event, groups in cast("dict[str, Any]", table).items():
        if event not in EVENTS:
            problems.append(
                f"{source}: the event {one_line(str(event), 40)} is not known here, and its hooks don't run"
            )
            continue
        for group in cast("list[Any]", groups) if isinstance(groups, list) else [groups]:
            entries = safe_text.as_object(group)
            matcher, inside = entries.get("matcher") or "", entries.get("hooks")
            if not isinstance(matcher, str) or len(matcher) > _MOST_PATTERN or not isinstance(inside, list):
                problems.append(f"{source}: {event}: an entry has a `matcher` (a text) and a list of `hooks`")
                continue
            for one in cast("list[Any]", inside):
                hook = _hook(one, event, matcher, source, folder)
                hooks += [hook] if isinstance(hook, Hook) else []
                problems += [hook] if isinstance(hook, str) else []
    if len(hooks) > MOST_HOOKS:
        problems.append(f"{source}: only {MOST_HOOKS} of its {len(hooks):,} hooks are asked")
    return tuple(hooks[:MOST_HOOKS]), tuple(problems)


def _hook(one: Any, event: str, matcher: str, source: str, folder: str) -> Hook | str:
    """Return a hook, or a line that says why it is none."""
    entry = safe_text.as_object(one)
    kind, command, limit = entry.get("type", "command"), entry.get("command"), entry.get("timeout", LIMIT)
    if kind != "command":
        return f"{source}: {event}: a hook of type {one_line(str(kind), 40)} is not known here, and doesn't run"
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        return f"{source}: {event}: a hook needs a `command`"
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit <= 600:
        return f"{source}: {event}: `timeout` has to be a number of seconds, of at most 600"
    return Hook(event, command, matcher, float(limit), source, folder)


@dataclass(frozen=True, slots=True)
class HookFile:
    """The hooks of a project's settings; `parts` has the hash of each file of the project that a command names."""

    path: Path
    text: str
    hooks: tuple[Hook, ...]
    problems: tuple[str, ...]
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    kind = "hooks"

    @classmethod
    def read(cls, path: Path, tree: Tree) -> HookFile | None:
        """Read the hooks of settings; None where there are none. Raises ConfigError for what can't be read."""
        text, found = tree.read_json(path)
        if not (table := found.get("hooks")):
            return None
        folder = path.parent.parent
        hooks, problems = hooks_of(table, one_line(str(path), 200), str(folder))
        named = {word for hook in hooks for word in _words(hook.command)}
        parts: dict[str, str] = {}
        for word in sorted(named):
            target = folder / _ROOT.sub(str(folder), word)
            if os.path.isfile(target) and target.resolve().is_relative_to(folder.resolve()) and len(parts) < MOST_FILES:
                parts[str(target.resolve().relative_to(folder.resolve()))] = digest(target)
        return cls(path, text, hooks, problems, parts)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def summary(self) -> str:
        if len(self.hooks) == 1:
            return "1 hook that runs a program around calls"
        return f"{len(self.hooks)} hooks that run programs around calls"

    @property
    def does(self) -> Iterator[str]:
        for hook in self.hooks:
            about = f" of {one_line(hook.matcher, 100)}" if hook.matcher else ""
            yield f"{hook.event}{about} runs, for at most {hook.limit:g} s:"
            yield from (f"    {line}" for line in hook.command.splitlines())
        for name in self.parts:
            yield f"The file {one_line(name, 200)} belongs to it as it is now."
        yield from self.problems


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()

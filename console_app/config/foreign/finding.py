"""Finds all that a project or a user keeps for agents in the forms of others; whom to believe is not said here.

Instructions (`AGENTS.md`, and `CLAUDE.md` where a folder has none) are read from the project's top down to the working
folder, so that the nearest speaks last. `@FILE` in one stands for that file, which is put behind it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from console_app.config.files import disk
from console_app.config.foreign import agents, hook_files, skills
from console_app.config.foreign.agents import AgentFile
from console_app.config.foreign.hook_files import HookFile
from console_app.config.foreign.skills import Plugin, Skill
from console_app.config.foreign.tree import MOST_FILES, MOST_TEXT, Tree, files_below, named_below
from console_app.domain import ConfigError, amounts, one_line, plural
from console_app.records import dataclass, field

NAMES = ("AGENTS.md", "CLAUDE.md")
_MOST_INCLUDED = 20  # files
_DEEPEST = 5  # files that include each other
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_INCLUDED = re.compile(r"(?<!\S)@([^\s`@,;:'\"()]+[^\s`@,;:'\"().])")


@dataclass(frozen=True, slots=True)
class Instructions:
    """A file of instructions; `parts` are the texts that it includes, by their paths in the project."""

    path: Path
    text: str
    name: str  # how it is called for the model
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    kind = "instructions"

    @classmethod
    def read(cls, path: Path, tree: Tree) -> Instructions:
        """Read a file with all that it includes. Raises ConfigError where one of them can't be read."""
        text = tree.text(path)
        parts: dict[str, str] = {}
        _include(path, text, tree, parts, 1)
        if (size := len(text) + sum(map(len, parts.values()))) > MOST_TEXT:
            raise ConfigError(f"{one_line(str(path), 200)}: {size:,} characters with what it includes are too many")
        name = str(path.relative_to(tree.top)) if path.is_relative_to(tree.top) else path.name
        return cls(path, text, one_line(name, 200), parts)

    @property
    def whole(self) -> str:
        """The text with those that it includes behind it, as a model reads it."""
        included = (f"[{one_line(name, 200)}]\n{text.strip()}" for name, text in self.parts.items())
        return "\n\n".join((self.text.replace("\r\n", "\n").strip(), *included))

    @property
    def summary(self) -> str:
        tokens = plural(len(self.whole) // amounts.CHARACTERS_A_TOKEN, "token")
        return f"instructions for the model, {tokens} of each request"

    @property
    def does(self) -> Iterator[str]:
        yield from self.whole.splitlines()


def _include(path: Path, text: str, tree: Tree, parts: dict[str, str], depth: int) -> None:
    """Add what a text includes; what isn't there is no inclusion, as an @ has other uses."""
    for named in _INCLUDED.findall(_CODE.sub("", text)):
        target = path.parent / named
        if named.startswith(("/", "~")) or not os.path.isfile(target):
            continue
        if not tree.holds(target):
            raise ConfigError(f"{one_line(str(path), 200)}: @{one_line(named, 80)} leads out of the project")
        name = str(target.resolve().relative_to(tree.top.resolve()))
        if name in parts or target.resolve() == path.resolve():
            continue
        if depth > _DEEPEST or len(parts) >= _MOST_INCLUDED:
            raise ConfigError(f"{one_line(str(path), 200)}: it includes more than {_MOST_INCLUDED} files, or too deep")
        parts[name] = tree.text(target)
        _include(target, parts[name], tree, parts, depth + 1)


# Of each, `summary` says what a yes would have come of it, and `does` has the lines of what takes effect.
Foreign = Instructions | Skill | Plugin | HookFile | AgentFile


@dataclass(frozen=True, slots=True)
class Findings:
    """The things that were found, in the order in which they count, and a line for each that can't be used."""

    things: tuple[Foreign, ...] = ()
    problems: tuple[str, ...] = ()


def of_project(folder: Path, data: Path, environ: Mapping[str, str]) -> Findings:
    """Find what the project of `folder` brings; `data` is where plugins keep theirs. Reads files: for a thread."""
    tree, home = Tree(folder), Path.home()
    # Instructions from the top to the working folder; of two in a folder the first name counts.
    paths = ([folder / name for name in NAMES] for folder in tree.down)
    named = ([path for path in both if any(_there(path))][:1] for both in paths)
    places = [place for place in tree.places if place != home]  # what lies there is the user's own
    return _found(
        (
            *((path, Instructions.read) for first in named for path in first),
            *_of_places(places, tree, data, environ),
            *((path, HookFile.read) for place in places for name in hook_files.FILES for path in _there(place / name)),
        ),
        tree,
    )


def of_user(config: Path, data: Path, environ: Mapping[str, str]) -> Findings:
    """Find what the user keeps for agents, in the folder of the configuration and at home. For a thread."""
    tree, home = Tree(config, own=True), Path.home()
    own = (*_there(config / NAMES[0]),)
    kinds = sorted(files_below(config / agents.OWN_FOLDER, ".md"))[:MOST_FILES]
    return _found(
        (
            *((path, Instructions.read) for path in own),
            *((path, partial(AgentFile.read, environ=environ)) for path in kinds),
            *_of_places([home], tree, data, environ),
        ),
        tree,
    )


_Reader = Callable[[Path, Tree], Foreign | None]


def _of_places(
    places: list[Path], tree: Tree, data: Path, environ: Mapping[str, str]
) -> Iterator[tuple[Path, _Reader]]:
    for place in places:
        yield from ((path, Skill.read) for name in skills.FOLDERS for path in named_below(place / name, skills.FILE))
        plugin: _Reader = partial(Plugin.read, data=data, environ=environ)
        yield from ((path, plugin) for path in named_below(place / skills.PLUGINS, skills.PLUGIN_FILE))
        for name in agents.FOLDERS:
            files = sorted(files_below(place / name, ".md"))[:MOST_FILES]
            yield from ((path, partial(AgentFile.read, environ=environ)) for path in files)


def _there(path: Path) -> Iterator[Path]:
    if not disk.nothing_at(path) or os.path.islink(path):
        yield path


def _found(files: tuple[tuple[Path, _Reader], ...], tree: Tree) -> Findings:
    """Read each file; of two skills, plugins or agents with one name the first stands."""
    things: dict[tuple[str, str], Foreign] = {}
    problems: list[str] = []
    for path, read in files:
        try:
            if (thing := read(path, tree)) is None:
                continue
            by_path = isinstance(thing, Instructions | HookFile)
            key = (thing.kind, str(path) if by_path else thing.name)
            if (other := things.get(key)) is not None:
                raise ConfigError(f"{path}: {other.path} is the {thing.kind} of that name already")
            things[key] = thing
        except (ConfigError, OSError, ValueError) as error:
            line = error.line if isinstance(error, ConfigError) else f"{path}: {error}"
            problems.append(one_line(line, 300))
    return Findings(tuple(things.values()), tuple(problems))

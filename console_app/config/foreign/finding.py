"""Finds all that a project or a user keeps for agents in the forms of others; whom to believe is not said here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from console_app.config.foreign import agents, hook_files, instructions, plugins, skills
from console_app.config.foreign.agents import AgentFile
from console_app.config.foreign.hook_files import HookFile
from console_app.config.foreign.instructions import Instructions
from console_app.config.foreign.plugins import Plugin
from console_app.config.foreign.skills import Skill
from console_app.config.foreign.tree import MOST_FILES, Tree, files_below
from console_app.domain import ConfigError, one_line

Foreign = Instructions | Skill | Plugin | HookFile | AgentFile


@dataclass(frozen=True, slots=True)
class Findings:
    """The things that were found, in the order in which they count, and a line for each that can't be used."""

    things: tuple[Foreign, ...] = ()
    problems: tuple[str, ...] = ()


def of_project(folder: Path, data: Path, environ: Mapping[str, str]) -> Findings:
    """Find what the project of `folder` brings; `data` is where plugins keep theirs. Reads files: for a thread."""
    tree, home = Tree(folder), Path.home()
    places = [place for place in tree.places if place != home]  # what lies there is the user's own
    return _found(
        (
            *((path, Instructions.read) for path in instructions.files(tree)),
            *_of_places(places, tree, data, environ),
            *((path, HookFile.read) for place in places for name in hook_files.FILES for path in _there(place / name)),
        ),
        tree,
    )


def of_user(config: Path, data: Path, environ: Mapping[str, str]) -> Findings:
    """Find what the user keeps for agents, in the folder of the configuration and at home. For a thread."""
    tree, home = Tree(config, own=True), Path.home()
    own = (*_there(config / instructions.NAMES[0]),)
    kinds = sorted(files_below(config / agents.OWN_FOLDER, ".md"))[:MOST_FILES]
    return _found(
        (
            *((path, Instructions.read) for path in own),
            *((path, AgentFile.read) for path in kinds),
            *_of_places([home], tree, data, environ),
        ),
        tree,
    )


_Reader = Callable[[Path, Tree], Foreign | None]


def _of_places(
    places: list[Path], tree: Tree, data: Path, environ: Mapping[str, str]
) -> Iterator[tuple[Path, _Reader]]:
    for place in places:
        yield from ((path, Skill.read) for name in skills.FOLDERS for path in skills.files(place / name))
        plugin: _Reader = partial(Plugin.read, data=data, environ=environ)
        yield from ((path, plugin) for path in plugins.files(place / plugins.FOLDER))
        for name in agents.FOLDERS:
            files = sorted(files_below(place / name, ".md"))[:MOST_FILES]
            yield from ((path, AgentFile.read) for path in files)


def _there(path: Path) -> Iterator[Path]:
    if path.is_file() or path.is_symlink():
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

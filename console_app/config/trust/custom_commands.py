"""Slash commands that people write, and all else that counts of what a folder and its user keep for agents.

A command is a Markdown file in `commands/` of the user's folder, of a project's `.fanout/` or of its `.claude/`, in the
form that other consoles read: a text with `$ARGUMENTS` or `$1` to `$9` in it, under an optional front matter. A
project's file counts once it was trusted as it is. A file that can't be read is one line and stops no other.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from console_app.config.files import PROJECT_FOLDER, Paths, disk, trusted
from console_app.config.foreign import (
    AgentFile,
    Foreign,
    FrontMatter,
    Hook,
    HookFile,
    Instructions,
    Plugin,
    Skill,
    Tree,
    hooks_of,
    of_project,
    of_user,
)
from console_app.config.servers import ServerConfig
from console_app.domain import ConfigError, one_line
from console_app.domain import rules as written
from console_app.records import dataclass, field

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


_FOLDER = "commands"
MOST_FILES = 500  # of one folder
_MOST_TEXT = 200_000  # characters of one
_MOST_NAMED = 6
_NAME = re.compile(r"[a-z][a-z0-9_-]*(?::[a-z0-9_-]+)*")
_LONGEST_NAME = 64
_KNOWN = ("description", "argument-hint", "model", "allowed-tools")
_PLACE = re.compile(r"\$(?:(ARGUMENTS)\b|([1-9])(?!\d))")
_OTHERS_NAME = re.compile(r"mcp__(.+?)(?:__(.+))?")  # how others write a tool of a server


@dataclass(frozen=True, slots=True)
class CustomCommand:
    """A command. Its turn runs `allowed_tools`, patterns of server.tool, without asking; `model` is PROVIDER/MODEL, or
    "" for the one that answers now."""

    name: str
    text: str
    path: Path
    description: str = ""
    argument_hint: str = ""
    model: str = ""
    allowed_tools: tuple[str, ...] = ()
    note: str = ""  # on its front matter

    @classmethod
    def read(cls, file: Path, text: str, name: str = "") -> CustomCommand:
        """Read one file; without a `name` it is the file's own. Raises ConfigError where it can't be a command."""
        name = (name or file.stem).lower()
        if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
            raise ConfigError(f"{file}: a command's name has letters, digits, - and _ only", "Rename the file.")
        if len(text) > _MOST_TEXT:
            raise ConfigError(f"{file}: {len(text):,} characters, and a command has at most {_MOST_TEXT:,}")
        front = FrontMatter.read(file, text)
        if not front.body:
            raise ConfigError(f"{file}: it has no text to send")
        model = front.text("model")
        return cls(
            name=name,
            text=front.body,
            path=file,
            description=front.text("description") or front.body.splitlines()[0].lstrip("# "),
            argument_hint=front.text("argument-hint"),
            model=model if "/" in model else "",  # an alias of another program says nothing here
            allowed_tools=tuple(_tools(file, front.names("allowed-tools"))),
            note=front.unknown(_KNOWN),
        )

    def prompt(self, rest: str) -> str:
        """Return what is sent with `rest` behind the name; words in quotes are one argument. `rest` stands at the end
        of a text without a place for it."""
        try:
            words = shlex.split(rest)
        except ValueError:  # an apostrophe, most likely
            words = rest.split()

        def filled(found: re.Match[str]) -> str:
            if found[1]:
                return rest
            number = int(found[2])
            return words[number - 1] if number <= len(words) else ""

        text, places = _PLACE.subn(filled, self.text)
        return f"{text}\n\n{rest}" if rest and not places else text


@dataclass(frozen=True, slots=True)
class CustomCommands:
    """Commands in a working folder, a line for each file that is none, and the names of those that wait for trust."""

    commands: tuple[CustomCommand, ...] = ()
    problems: tuple[str, ...] = ()
    untrusted: frozenset[str] = frozenset()

    @classmethod
    def find(cls, paths: Paths, folder: Path, environ: Mapping[str, str] | None = None) -> CustomCommands:
        """Read all folders; of two commands with one name the user's own stands. With `environ`, skills that count are
        commands too, where their names are free. Reads files, so it is for a thread."""
        found: dict[str, CustomCommand] = {}
        problems: list[str] = []
        untrusted: set[str] = set()
        tree = Tree(folder)
        tops = [paths.config / _FOLDER, *_folders(tree)]
        for top, file in [(one, file) for one in tops for file in _files(one)]:
            try:
                if top != tops[0]:
                    tree.check(file)
                text = disk.read_text(file)
                if top != tops[0] and not trusted.is_trusted(paths, file, text):
                    untrusted.add(file.stem.lower())
                    continue  # what waits for trust is told for all files of a project together
                name, inside = file.stem.lower(), file.parent.relative_to(top).parts
                if name in found and inside:  # as in others' programs, the folder tells them apart
                    name = f"{':'.join(inside)}:{name}"
                command = CustomCommand.read(file, text, name)
                if (other := found.get(command.name)) is not None:
                    raise ConfigError(f"{file}: {other.path} has that name already", "Rename one of them.")
                found[command.name] = command
            except ConfigError as error:
                problems.append(one_line(error.line, 300))
        for top in tops:
            if sum(1 for _ in _files(top, MOST_FILES + 1)) > MOST_FILES:
                line = f"{top}: only {MOST_FILES} files of commands are read, and it has more."
                problems.append(one_line(line, 300))
        brought = Brought() if environ is None else Brought.find(paths, folder, environ)
        for name, skill in brought.skills.items():
            command = CustomCommand(name, skill.opened(), skill.path, skill.description, "[WORDS]", note=skill.note)
            found.setdefault(name, command)
        return cls(tuple(found.values()), tuple(problems), frozenset(untrusted - found.keys()))

    def summary(self, taken: Collection[str] = ()) -> str:
        """Return what came of reading them, in one line, or ""; `taken` are names that can't be had."""
        read = [one.name for one in self.commands if one.name not in taken]
        wrong = len(self.problems) + len(self.commands) - len(read)
        waiting = len(self.untrusted)
        more = f" and {len(read) - _MOST_NAMED} more" if len(read) > _MOST_NAMED else ""
        names = f" (/{', /'.join(read[:_MOST_NAMED])}{more})" if read else ""
        parts = (
            f"{len(read):,} read{names}" if read or wrong or waiting else "",
            f"{wrong:,} with a problem" if wrong else "",
            f"{waiting:,} {'waits' if waiting == 1 else 'wait'} for your trust" if waiting else "",
        )
        said = ", ".join(filter(None, parts))
        return f"Your own commands: {said}." if said else ""


def command_files(folder: Path) -> list[Path]:
    tree = Tree(folder)
    return [file for top in _folders(tree) for file in _files(top) if tree.holds(file)]


def _folders(tree: Tree) -> list[Path]:
    """Return the folders of a project's commands, its own form first."""
    return [tree.folder / PROJECT_FOLDER / _FOLDER, *(place / ".claude" / _FOLDER for place in tree.places)]


def _files(folder: Path, most: int = MOST_FILES) -> Iterator[Path]:
    """Yield the Markdown files under `folder`, by name; links out of it are not followed."""
    found: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += (Path(parent, name) for name in names if name.endswith(".md") and not name.startswith("."))
        if len(found) > most:
            break
    yield from sorted(found)[:most]


def _tools(file: Path, words: Iterator[str]) -> Iterator[str]:
    """Yield patterns of server.tool. Tools of other programs (`Bash(git:*)`) have no server and say nothing here."""
    for word in words:
        if others := _OTHERS_NAME.fullmatch(word):
            word = f"{others[1]}.{others[2] or '*'}"
        if "." not in word.partition("(")[0]:
            continue
        try:
            yield str(written.parse_rule(word))
        except ValueError as error:
            raise ConfigError(f"{file}: allowed-tools: {error}") from None

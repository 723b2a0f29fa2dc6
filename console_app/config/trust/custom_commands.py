"""Slash commands that people write: Markdown files in `commands/` of the user's folder and of a project's `.fanout/`.

The form is the one that other consoles read: a text that is sent as a prompt, with `$ARGUMENTS` or `$1` to `$9` in it,
under an optional front matter of `description`, `argument-hint`, `model` and `allowed-tools`. That is read by lines and
not as YAML, since `argument-hint: [issue] [priority]`, which people write, is none. A project's file counts once it was
trusted as it is. A file that can't be read is one line and stops no other.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from console_app.config.files import PROJECT_FOLDER, Paths, disk, trusted
from console_app.domain import ConfigError, one_line
from console_app.domain.rules import parse_rule

_FOLDER = "commands"
MOST_FILES = 500  # of one folder
_MOST_TEXT = 200_000  # characters of one
_MOST_NAMED = 6
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.*?)(?:^|\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(.*)")
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

    @classmethod
    def read(cls, file: Path, text: str) -> CustomCommand:
        """Read one file. Raises ConfigError where it can't be a command."""
        name = file.stem.lower()
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{file}: a command's name has letters, digits, - and _ only", "Rename the file.")
        if len(text) > _MOST_TEXT:
            raise ConfigError(f"{file}: {len(text):,} characters, and a command has at most {_MOST_TEXT:,}")
        front = _FRONT_MATTER.match(text)
        if front is None and text.startswith("---\n"):
            raise ConfigError(f"{file}: its front matter has no end", "End it with a line of ---.")
        fields: Mapping[str, str] = _fields(file, front[1]) if front else {}
        body = text[front.end() :].strip() if front else text.strip()
        if not body:
            raise ConfigError(f"{file}: it has no text to send")
        model = _scalar(fields.get("model", ""))
        return cls(
            name=name,
            text=body,
            path=file,
            description=_scalar(fields.get("description", "")) or body.splitlines()[0].lstrip("# "),
            argument_hint=_scalar(fields.get("argument-hint", "")),
            model=model if "/" in model else "",  # an alias of another program says nothing here
            allowed_tools=tuple(_tools(file, fields.get("allowed-tools", ""))),
        )

    def prompt(self, rest: str) -> str:
        """Return what is sent with `rest` behind the name; words in quotes are one argument. `rest` stands at the end
        of a text without a place for it."""
        words = _words(rest)

        def filled(found: re.Match[str]) -> str:
            if found[1]:
                return rest
            number = int(found[2])
            return words[number - 1] if number <= len(words) else ""

        text, places = _PLACE.subn(filled, self.text)
        return f"{text}\n\n{rest}" if rest and not places else text


@dataclass(frozen=True, slots=True)
class CustomCommands:
    """The commands of a user in a working folder, a line for each file that is none, and the names of those that wait
    for trust."""

    commands: tuple[CustomCommand, ...] = ()
    problems: tuple[str, ...] = ()
    untrusted: frozenset[str] = frozenset()

    @classmethod
    def find(cls, paths: Paths, folder: Path) -> CustomCommands:
        """Read both folders; of two commands with one name the user's own stands. Reads files, so it is for a
        thread."""
        found: dict[str, CustomCommand] = {}
        problems: list[str] = []
        untrusted: set[str] = set()
        project = folder / PROJECT_FOLDER / _FOLDER
        for file in (*_files(paths.config / _FOLDER), *_files(project)):
            try:
                text = disk.read_text(file)
                if file.is_relative_to(project) and not trusted.is_trusted(paths, file, text):
                    untrusted.add(file.stem.lower())
                    continue  # what waits for trust is told for all files of a project together
                command = CustomCommand.read(file, text)
                if (other := found.get(command.name)) is not None:
                    raise ConfigError(f"{file}: {other.path} has that name already", "Rename one of them.")
                found[command.name] = command
            except ConfigError as error:
                problems.append(one_line(error.line, 300))
        for top in (paths.config / _FOLDER, project):
            if sum(1 for _ in _files(top, MOST_FILES + 1)) > MOST_FILES:
                line = f"{top}: only {MOST_FILES} files of commands are read, and it has more."
                problems.append(one_line(line, 300))
        return cls(tuple(found.values()), tuple(problems), frozenset(untrusted - found.keys()))

    def summary(self, taken: Collection[str] = ()) -> str:
        """Return what came of reading them, in one line, "" where there is none; `taken` are names that can't be
        had."""
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
    """Return the files of a project's commands."""
    return list(_files(folder / PROJECT_FOLDER / _FOLDER))


def _files(folder: Path, most: int = MOST_FILES) -> Iterator[Path]:
    """Yield the Markdown files under `folder`, by name; links out of it are not followed."""
    found: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += (Path(parent, name) for name in names if name.endswith(".md") and not name.startswith("."))
        if len(found) > most:
            break
    yield from sorted(found)[:most]


def _fields(file: Path, front: str) -> Mapping[str, str]:
    """Read lines of `name: value`; indented lines and list entries belong to the name above them."""
    fields: dict[str, str] = {}
    name = ""
    for number, line in enumerate(front.splitlines(), 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if name and (line[0].isspace() or line.startswith("-")):
            fields[name] += f"\n{line.strip()}"
        elif found := _FIELD.fullmatch(line.rstrip()):
            name = found[1].lower()
            fields[name] = found[2].strip()
        else:
            raise ConfigError(f"{file}, line {number}: not a line of front matter", "Write NAME: VALUE.")
    return fields


def _scalar(value: str) -> str:
    text = " ".join(value.lstrip("|>").split())
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text


def _tools(file: Path, value: str) -> Iterator[str]:
    """Yield patterns of server.tool. Tools of other programs (`Bash(git:*)`) have no server and say nothing here."""
    text = value.strip()
    text = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    for part in re.split(r",(?![^(]*\))|\n", text):
        word = _scalar(part.strip().removeprefix("- "))
        if others := _OTHERS_NAME.fullmatch(word):
            word = f"{others[1]}.{others[2] or '*'}"
        if "." not in word.partition("(")[0]:
            continue
        try:
            yield str(parse_rule(word))
        except ValueError as error:
            raise ConfigError(f"{file}: allowed-tools: {error}") from None


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError:  # an apostrophe, most likely
        return rest.split()

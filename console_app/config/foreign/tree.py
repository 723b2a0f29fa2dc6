"""The files of a project's tree, found by name, bounded, and never through a link that leads out of it; and the front
matter of Markdown files as other consoles write it: lines of `name: value`, and no YAML.

People write `argument-hint: [issue] [priority]`, which is no YAML, and a reader of lines can't be made to build
objects. Indented lines and list entries belong to the name above them; only where a field is an outline of names and
lists (`nested`) their depth counts. A file may begin with a byte order mark and have lines that end in CRLF.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from console_app.config.files import disk
from console_app.domain import ConfigError, one_line, safe_text
from console_app.records import dataclass, field

MOST_TEXT = 100_000  # bytes of a text that goes to a model
MOST_FILES = 500  # of one kind, and of the files beside a skill
_MOST_BESIDE = 2_000_000  # bytes of one of those
_DEEPEST = 8  # folders below each other


class Tree:
    """The project that `folder` is in: from its `top`, the root of the checkout, down to the folder. Links of the
    user's `own` files may lead anywhere."""

    def __init__(self, folder: Path, *, own: bool = False) -> None:
        self.folder = folder
        self._own = own
        self.top = next((one for one in (folder, *folder.parents) if os.path.exists(one / ".git")), folder)
        self._real = self.top.resolve()

    @property
    def places(self) -> tuple[Path, ...]:
        """The folders that may bring something for a whole project: the working folder, then the top."""
        return (self.folder,) if self.folder == self.top else (self.folder, self.top)

    @property
    def down(self) -> Iterator[Path]:
        inside = self.folder.relative_to(self.top).parts
        return (self.top.joinpath(*inside[:depth]) for depth in range(len(inside) + 1))

    def holds(self, path: Path) -> bool:
        """Tell whether the path is in the tree once all its links are followed."""
        try:
            return self._own or path.resolve().is_relative_to(self._real)
        except (OSError, RuntimeError):  # links that go round in a circle
            return False

    def check(self, path: Path) -> None:
        """Raise ConfigError for a link that leads out."""
        if not self.holds(path):
            raise ConfigError(f"{one_line(str(path), 200)}: a link leads out of the project, and is not followed")

    def text(self, path: Path) -> str:
        """Return the text of a file of the tree. Raises ConfigError for a link that leads out, or one too large."""
        self.check(path)
        text = disk.read_text(path, most=MOST_TEXT)
        if "\0" in text:
            raise ConfigError(f"{one_line(str(path), 200)}: it is no text")
        return text

    def read_json(self, path: Path) -> tuple[str, dict[str, Any]]:
        """Return the text of a file and the object of JSON that it is, {} for other JSON. Raises ConfigError."""
        text = self.text(path)
        try:
            return text, safe_text.as_object(json.loads(text))
        except (ValueError, RecursionError) as error:
            why = f"it is no JSON ({one_line(str(error), 80)})"
            raise ConfigError(f"{one_line(str(path), 200)}: {why}") from None

    def beside(self, file: Path) -> Mapping[str, str]:
        """Return the hash of each other file in the folder of `file`, by its path there. Raises ConfigError."""
        found: dict[str, str] = {}
        for path in islice(files_below(file.parent, ""), MOST_FILES + 2):
            if path == file:
                continue
            self.check(path)
            if len(found) == MOST_FILES:
                raise ConfigError(f"{one_line(str(file.parent), 200)}: more than {MOST_FILES} files lie beside it")
            found[str(path.relative_to(file.parent))] = digest(path)
        return found


def digest(path: Path) -> str:
    """Return the hash of a file. Raises ConfigError for one that can't be read, or is too large."""
    try:
        return hashlib.sha256(disk.contents(path, most=_MOST_BESIDE)).hexdigest()
    except OSError as error:
        raise ConfigError(f"can't read {one_line(str(path), 200)}: {error.strerror or error}") from None


def named_below(folder: Path, name: str) -> list[Path]:
    try:
        return sorted(folder.glob(f"*/{name}"))[:MOST_FILES]
    except OSError:
        return []


def files_below(folder: Path, ending: str) -> Iterator[Path]:
    """Yield the files under a folder by name, not those of hidden folders; no folder that is a link is entered."""
    waiting = [(folder, 0)]
    seen = 0
    while waiting and seen < 4 * MOST_FILES:
        here, depth = waiting.pop()
        try:
            with os.scandir(here) as entries:
                listed = sorted(islice(entries, 4 * MOST_FILES), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed:
            seen += 1
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < _DEEPEST:
                    waiting.insert(0, (Path(entry.path), depth + 1))
            elif entry.name.endswith(ending) and not os.path.isdir(entry.path):
                yield Path(entry.path)


_FRONT = re.compile(r"---[ \t]*\n(.*?)(?:^|\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z$][\w-]*)[ \t]*:(.*)")
_BLOCK = re.compile(r"[|>][+-]?\d?(?:\s|\Z)")
_PARTS = re.compile(r",(?![^(]*\))|\n")  # a comma in brackets is part of a name: Bash(git:*, ls)
_MOST_SAID = 8  # unknown keys that are named


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields above a text, by their names in small letters, each as it is written; and the text below them."""

    body: str
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    written: Mapping[str, str] = field(default_factory=dict[str, str])  # those names as the file has them

    @classmethod
    def read(cls, file: Path, text: str) -> FrontMatter:
        """Divide the text of `file`. Raises ConfigError for front matter without an end, or a line that is none."""
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        found = _FRONT.match(text)
        if found is None:
            if text.startswith("---\n"):
                raise ConfigError(f"{file}: its front matter has no end", "End it with a line of ---.")
            return cls(text.strip())
        return cls(text[found.end() :].strip(), *_fields(file, found[1]))

    def text(self, name: str) -> str:
        """Return a field as one line, without the quotes or the sign of a block around it; "" where it isn't there."""
        value = self.fields.get(name, "")
        block = _BLOCK.match(value)
        return unquoted(value[block.end() :] if block else value)

    def names(self, name: str) -> Iterator[str]:
        """Yield the entries of a field that is a list, in whichever of the three ways it is written."""
        value = self.fields.get(name, "").strip()
        value = value[1:-1] if value.startswith("[") and value.endswith("]") else value
        for part in _PARTS.split(value):
            if entry := unquoted(part.strip().removeprefix("- ")):
                yield entry

    def nested(self, name: str) -> Any:
        """Return a field that is an outline: texts, lists and objects. Raises ValueError for one that is none."""
        first, *below = self.fields.get(name, "").split("\n")
        if first or not below:
            return _scalar(" ".join((first, *(line.strip() for line in below))).strip())
        lines = deque((len(line) - len(line.lstrip()), line.strip()) for line in below)
        outline = _outline(lines)
        if lines:
            raise ValueError(f"a line stands in no place of the outline: {lines[0][1]}")
        return outline

    def unknown(self, known: Collection[str]) -> str:
        """Name the fields that mean nothing here, in one line; "" where there is none."""
        names = [one_line(name, 40) for small, name in self.written.items() if small not in known]
        more = f" and {len(names) - _MOST_SAID} more" if len(names) > _MOST_SAID else ""
        return f"not known here, and kept: {', '.join(names[:_MOST_SAID])}{more}" if names else ""


def _fields(file: Path, front: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
    lines, written = dict[str, list[str]](), dict[str, str]()
    name = ""
    for number, line in enumerate(front.split("\n"), 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if name and (line[0].isspace() or line.startswith("-")):
            lines[name].append(line.rstrip().expandtabs(2))
        elif found := _FIELD.fullmatch(line.rstrip()):
            name = found[1].lower()
            lines[name], written[name] = [found[2].strip()], found[1]
        else:
            raise ConfigError(f"{file}, line {number}: not a line of front matter", "Write NAME: VALUE.")
    return {name: "\n".join(found) for name, found in lines.items()}, written


_MOST_DEPTH = 8  # of an outline


def _outline(lines: deque[tuple[int, str]], depth: int = 0) -> Any:
    """Take the lines that are one value: all as far in as the first, and those further in below each."""
    if depth > _MOST_DEPTH:
        raise ValueError("it is nested too deeply")
    indent, first = lines[0]
    entries, named = list[Any](), dict[str, Any]()
    is_list = first.startswith("- ") or first == "-"
    while lines and lines[0][0] == indent and (lines[0][1].startswith("- ") or lines[0][1] == "-") is is_list:
        line = lines.popleft()[1]
        if is_list:
            rest = line[1:].lstrip()
            if rest and _FIELD.fullmatch(rest) is None:
                entries.append(_scalar(rest))
                continue
            if rest:
                lines.appendleft((indent + len(line) - len(rest), rest))
            entries.append(_outline(lines, depth + 1) if lines and lines[0][0] > indent else None)
        elif (found := _FIELD.fullmatch(line)) is None:
            raise ValueError(f"no line of NAME: VALUE: {line}")
        elif value := found[2].strip():
            named[found[1]] = _scalar(value)
        else:
            inside = lines and (lines[0][0] > indent or (lines[0][0] == indent and lines[0][1].startswith("- ")))
            named[found[1]] = _outline(lines, depth + 1) if inside else None
    return entries if is_list else named


def _scalar(value: str) -> Any:
    """Return a text, or what it is in JSON; a list may have entries without quotes."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        pass
    if value.startswith("[") and value.endswith("]"):
        return [unquoted(part.strip()) for part in value[1:-1].split(",") if part.strip()]
    return unquoted(re.split(r"\s#", value, maxsplit=1)[0] if value[:1] not in "\"'" else value)


def unquoted(value: str) -> str:
    text = " ".join(value.split())
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text

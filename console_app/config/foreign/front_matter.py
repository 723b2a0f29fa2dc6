"""Reads the front matter of Markdown files, as other consoles write it: lines of `name: value`, and no YAML.

People write `argument-hint: [issue] [priority]`, which is no YAML, and a reader of lines can neither be made to build
objects nor to recurse. Indented lines and list entries belong to the name above them. A file may begin with a byte
order mark and have lines that end in CRLF.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from console_app.domain import ConfigError, one_line

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

    @classmethod
    def read(cls, file: Path, text: str) -> FrontMatter:
        """Divide the text of `file`. Raises ConfigError for front matter without an end, or a line that is none."""
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        found = _FRONT.match(text)
        if found is None:
            if text.startswith("---\n"):
                raise ConfigError(f"{file}: its front matter has no end", "End it with a line of ---.")
            return cls(text.strip())
        return cls(text[found.end() :].strip(), _fields(file, found[1]))

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

    def unknown(self, known: Collection[str]) -> str:
        """Name the fields that mean nothing here, in one line; "" where there is none."""
        names = [one_line(name, 40) for name in self.fields if name not in known]
        more = f" and {len(names) - _MOST_SAID} more" if len(names) > _MOST_SAID else ""
        return f"not known here, and kept: {', '.join(names[:_MOST_SAID])}{more}" if names else ""


def _fields(file: Path, front: str) -> Mapping[str, str]:
    lines: dict[str, list[str]] = {}
    name = ""
    for number, line in enumerate(front.split("\n"), 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if name and (line[0].isspace() or line.startswith("-")):
            lines[name].append(line.strip())
        elif found := _FIELD.fullmatch(line.rstrip()):
            name = found[1].lower()
            lines[name] = [found[2].strip()]
        else:
            raise ConfigError(f"{file}, line {number}: not a line of front matter", "Write NAME: VALUE.")
    return {name: "\n".join(found) for name, found in lines.items()}


def unquoted(value: str) -> str:
    text = " ".join(value.split())
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text

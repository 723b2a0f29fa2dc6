"""The files and folders that a text names: `@path`, `@"a name.txt"`, `@path:10-40`. Only the disk can tell whether a
full stop or `:10` belongs to a name: so a mention has several readings. Code between backticks names nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator

from console_app.domain import safe_text
from console_app.records import dataclass

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_MENTION = re.compile(r'(?<![\w@/])@(?:("(?:[^"\\\n]|\\.)*")(:\d{1,9}(?:-\d{0,9})?)?|((?:\\.|[^\s"\\])+))')
_LINES = re.compile(r"(.+):(\d{1,9})(?:-(\d{0,9}))?", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)")
_SUFFIX = re.compile(r"\.[A-Za-z]\w{0,7}$")
_BEHIND = ".,;:!?)]}>'"  # what may follow a mention in a sentence


@dataclass(frozen=True, slots=True)
class LineRange:
    first: int
    last: int | None


@dataclass(frozen=True, slots=True)
class Reading:
    path: str
    lines: LineRange | None = None


@dataclass(frozen=True, slots=True)
class FileMention:
    """`written` is what stands behind the `@`; the first of `readings` that is there is meant."""

    written: str
    readings: tuple[Reading, ...]

    @property
    def shown(self) -> str:
        return self.written if self.written.startswith('"') else self.written.rstrip(_BEHIND)

    @property
    def looks_like_path(self) -> bool:
        """Tell whether a file must have been meant: `@docs/a`, `@a.md`, `@"a b"`, but not `@alice` and
        `@app.route(…)`."""
        if self.written.startswith('"'):
            return True
        return "(" not in self.shown and ("/" in self.shown or _SUFFIX.search(self.shown) is not None)


def file_mentions(text: str, servers: Collection[str] = ()) -> list[FileMention]:
    """Return all that may name a file in `text`. `servers` are names that make `@server:…` a resource of theirs."""
    if "@" not in text:
        return []
    found: dict[str, FileMention] = {}
    for match in _MENTION.finditer(_CODE.sub(lambda code: " " * len(code.group()), text)):
        quoted, behind, plain = match.groups()
        written = plain or f"{quoted}{behind or ''}"
        if written in found or (plain and ":" in plain and plain.partition(":")[0] in servers):
            continue
        readings = _quoted(quoted, behind) if quoted else list(dict.fromkeys(_plain(plain)))
        if readings:
            found[written] = FileMention(written, tuple(readings))
    return list(found.values())


def written_path(path: str) -> str:
    """Write a path as it can stand behind `@`, in quotes where it has to be."""
    plain = path.isprintable() and safe_text.is_safe(path) and not any(c.isspace() or c in '"\\:`' for c in path)
    return (
        path
        if plain and path and path[-1] not in _BEHIND
        else json.dumps(path, ensure_ascii=not safe_text.is_safe(path))
    )


def _quoted(quoted: str, behind: str | None) -> list[Reading]:
    try:
        path = str(json.loads(quoted, strict=False))
    except ValueError:  # a backslash that is the path's own
        path = quoted[1:-1]
    if not path:
        return []
    lines = _LINES.fullmatch(f"x{behind}") if behind else None
    return [_of_lines(path, lines)] if lines else [Reading(path)]


def _plain(written: str) -> Iterator[Reading]:
    for text in (written, written.rstrip(_BEHIND)):
        for path in (text, _ESCAPED.sub(r"\1", text)):
            if path:
                yield Reading(path)
            if lines := _LINES.fullmatch(path):
                yield _of_lines(lines[1], lines)


def _of_lines(path: str, lines: re.Match[str]) -> Reading:
    first, last = int(lines[2]), lines[3]
    return Reading(path, LineRange(max(first, 1), first if last is None else int(last) if last else None))

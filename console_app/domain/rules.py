"""A rule as people write it: `SERVER.TOOL` with `*`, and in brackets what arguments must look like. Read here only.

    files.read_*                              any call of these tools
    files.write_file(path=docs/*)             only where the argument `path` matches
    git.commit(message="fix, *", amend=false) several, all of which must match; quotes around commas and brackets

Globs are `fnmatch`'s: `*`, `?`, `[abc]`. In doubt an allowing rule doesn't match, and one that asks or denies does:
see `argument_matches`.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, cast

_GLOB = re.compile(r"[*?\[(]|[\s\x00-\x1f]")
_NAME = re.compile(r'\s*("(?:\\.|[^"\\])*"|[^\s"=,()]+)\s*=\s*')
_VALUE = re.compile(r'("(?:\\.|[^"\\])*")\s*|([^",]*)')
_BARE_NAME = re.compile(r'[^\s"=,()]+')
_BARE_VALUE = re.compile(r'[^\s",()]([^",()]*[^\s",()])?')
_CLIMBS = re.compile(r"(?:^|[/\\])\.\.(?:[/\\]|$)")


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule without its action: `pattern` is a glob on `server.tool`, `arguments` are globs by argument name."""

    pattern: str
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        if not self.arguments:
            return self.pattern
        return f"{self.pattern}({', '.join(_written(name, glob) for name, glob in self.arguments.items())})"


def parse_rule(text: str) -> RuleText:
    """Reads one rule. Raises ValueError with what can't be understood, in one sentence."""
    text = text.strip()
    start = _arguments_start(text)
    pattern = text[:start].strip() if start >= 0 else text
    if not pattern or any(character.isspace() for character in pattern):
        raise ValueError(f"“{text}” has to begin with SERVER.TOOL, where * stands for anything")
    if start < 0:
        return RuleText(pattern)
    if not text.endswith(")"):
        raise ValueError(f"“{text}” opens a bracket that it doesn't close")
    return RuleText(pattern, _arguments(text, text[start + 1 : -1]))


def _arguments_start(text: str) -> int:
    """Where the arguments begin; a bracket inside [...] belongs to the glob. -1 without any."""
    at = 0
    while at < len(text):
        if text[at] == "[" and (end := text.find("]", at + 2)) > 0:
            at = end
        elif text[at] == "(":
            return at
        at += 1
    return -1


def _arguments(text: str, inside: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while True:
        name = _NAME.match(inside, at)
        value = _VALUE.match(inside, name.end()) if name else None
        if name is None or value is None:
            raise ValueError(f"“{text}”: in brackets stands ARGUMENT=PATTERN, several with commas between")
        found[_unquoted(name[1], text)] = _unquoted(value[1], text) if value[1] else value[2].strip()
        at = value.end()
        if at == len(inside):
            return found
        if inside[at] != ",":
            raise ValueError(f"“{text}”: a comma is missing at “{inside[at : at + 20]}”")
        at += 1


def _unquoted(part: str, text: str) -> str:
    if not part.startswith('"'):
        return part
    try:
        return str(json.loads(part))
    except ValueError:
        raise ValueError(f"“{text}”: {part} is no quoted text") from None


def _written(name: str, glob: str) -> str:
    name = name if _BARE_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)
    return f"{name}={glob if _BARE_VALUE.fullmatch(glob) else json.dumps(glob, ensure_ascii=False)}"


def exact(text: str) -> str:
    """A glob that matches `text` and nothing else: names of tools are their servers', who may call one `*`.

    White space and control characters, which a rule can't hold, are matched as any one character.
    """
    return _GLOB.sub(lambda found: "?" if found[0].isspace() or found[0] < " " else f"[{found[0]}]", text)


def literal(value: str) -> str:
    """A glob that an argument's `value` matches and nothing else."""
    return re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", value)


def argument_matches(glob: str, value: Any, *, strictly: bool) -> bool:
    """Whether an argument's value matches; a value that is no text is compared as its JSON.

    With `strictly`, for what allows: each entry of a list must match, and a path that climbs (`docs/../secret`) must
    match as it is written and as it ends up. Else one of these is enough.
    """
    whole = cast("object", value)
    entries = cast("list[object]", value) if isinstance(value, list) else []
    if strictly:
        return all(_one_matches(glob, one, strictly=True) for one in entries or [whole])
    return any(_one_matches(glob, one, strictly=False) for one in [whole, *entries])


def _one_matches(glob: str, value: object, *, strictly: bool) -> bool:
    text = _text(value)
    forms = [text]
    if _CLIMBS.search(text):
        forms.append(posixpath.normpath(text.replace("\\", "/")))
    matched = [fnmatchcase(form, glob) for form in forms]
    return all(matched) if strictly else any(matched)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)

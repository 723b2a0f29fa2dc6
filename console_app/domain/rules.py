"""A rule as people write it: `SERVER.TOOL` with `*`, and in brackets what arguments must look like. Read here only.

    files.read_*                              any call of these tools
    files.write_file(path=docs/*)             only where the argument `path` matches
    git.commit(message="fix, *", amend=false) several, all of which must match; quotes around commas and brackets
    files.edit(edits.0.path=docs/*)           a value within another; `edits.*.path` is each of them

Globs are `fnmatch`'s: `*`, `?`, `[abc]`. In doubt an allowing rule doesn't match, and one that asks or denies does:
see `speaks_of` and `argument_patterns`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

from console_app.domain.argument_patterns import is_typed, text_pattern

_GLOB = re.compile(r"[*?\[(]|[\s\x00-\x1f]")
_NAME = re.compile(r'\s*("(?:\\.|[^"\\])*"|[^\s"=,()]+)\s*=\s*')
_VALUE = re.compile(r'("(?:\\.|[^"\\])*")\s*|([^",]*)')
_BARE_NAME = re.compile(r'[^\s"=,()]+')
_BARE_VALUE = re.compile(r'[^\s",()]([^",()]*[^\s",()])?')


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule without its action: `pattern` has the globs on server and tool, `arguments` those by argument name.

    One that stands for a text though it looks like a number, true, false or null is in quotes (`text_pattern`).
    """

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
        found[_unquoted(name[1], text)] = text_pattern(_unquoted(value[1], text)) if value[1] else value[2].strip()
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
    bare = _BARE_VALUE.fullmatch(glob) or (glob[:1] == glob[-1:] == '"' and is_typed(glob[1:-1]))
    return f"{name}={glob if bare else json.dumps(glob, ensure_ascii=False)}"


def exact(text: str) -> str:
    """A glob that matches `text` and nothing else: names of tools are their servers', who may call one `*`.

    White space and control characters, which a rule can't hold, are matched as any one character.
    """
    return _GLOB.sub(lambda found: "?" if found[0].isspace() or found[0] < " " else f"[{found[0]}]", text)


def tool_pattern(server: str, tool: str = "") -> str:
    """The pattern of one tool, or of every tool of a server, whatever their names look like."""
    return f"{exact(server).replace('.', '[.]')}.{exact(tool) if tool else '*'}"


@lru_cache(maxsize=1000)
def server_and_tool(pattern: str) -> tuple[str, str]:
    """The globs on the server and on the tool: the first dot outside of [...] stands between them.

    A dot in a server's name is written `[.]`. Without a dot, `demo*` is servers with all their tools; else nothing.
    """
    at = 0
    while at < len(pattern):
        if pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            at = end
        elif pattern[at] == ".":
            return pattern[:at], pattern[at + 1 :]
        at += 1
    return (pattern, "*") if pattern.endswith("*") else ("", "")


def speaks_of(pattern: str, server: str, tool: str, *, strictly: bool) -> bool:
    """Whether a pattern matches a tool. `strictly`, for what allows: server and tool each by their own part. Else it is
    enough that the names together look like it, since which of them a dot belongs to may be in doubt."""
    server_glob, tool_glob = server_and_tool(pattern)
    if fnmatchcase(server, server_glob) and fnmatchcase(tool, tool_glob):
        return True
    if strictly:
        return False
    if not f"{pattern}{server}{tool}".isascii():  # one character may be written in two ways
        pattern, server, tool = (unicodedata.normalize("NFC", text) for text in (pattern, server, tool))
    return fnmatchcase(f"{server}.{tool}", pattern) or fnmatchcase(server, pattern)


def literal(value: str) -> str:
    """A pattern that an argument's `value` matches and nothing else."""
    return text_pattern(re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", value))

"""Names that people type for things of servers: `server:prompt` behind a slash, `@server:uri` in a text.

A server may call itself and its prompts anything, so each has a name that can be typed. It has no spaces, colons and
marks, is unique among its fellows, and is looked up in a table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping

from console_app.domain import safe_text
from console_app.records import dataclass

LONGEST = 60  # characters of a typed name
_UNTYPED = re.compile(r"[^\w./-]+")
_MENTION = re.compile(r'(?<![\w@])@([^\s:"@]+):("(?:[^"\\\n]|\\.)*"|\S+)')
_COMMAND = re.compile(r"/([^\s:]+:\S+)(?:\s+(.*))?", re.DOTALL)
_WORD = re.compile(r'([^\s="]+=)?("(?:[^"\\]|\\.)*"(?!\S)|\S*)\s*', re.DOTALL)
_BEHIND_A_MENTION = ".,;:!?)]}>'\""


@dataclass(frozen=True, slots=True)
class Mention:
    """A resource that a text names; `server` is the server's own name."""

    server: str
    uri: str


def typed_names(names: Iterable[str]) -> dict[str, str]:
    """Return what is typed for each of `names`, to the name itself. The same for the same names in the same order."""
    table: dict[str, str] = {}
    for name in names:
        plain = _UNTYPED.sub("_", name)[:LONGEST].strip("_/") or "unnamed"
        typed, number = plain, 2
        while typed in table:
            typed, number = f"{plain}-{number}", number + 1
        table[typed] = name
    return table


def command_of(text: str) -> tuple[str, str] | None:
    """Return (`server:prompt`, the rest) of a text that may be the command for a server's prompt."""
    match = _COMMAND.fullmatch(text.strip())
    return (match[1], (match[2] or "").strip()) if match else None


def written_uri(uri: str) -> str:
    plain = bool(uri) and uri.isprintable() and safe_text.is_safe(uri) and not any(c.isspace() or c == '"' for c in uri)
    return uri if plain and uri[-1] not in _BEHIND_A_MENTION else json.dumps(uri)


def mentions(text: str, servers: Mapping[str, str], listed: Collection[tuple[str, str]]) -> list[Mention]:
    """Return the resources that a text names, once each. `servers` are typed names to names; `listed` are (server, URI)
    known to exist, which settles whether a sentence's full stop belongs to the URI."""
    found: dict[Mention, None] = {}
    for match in _MENTION.finditer(text):
        server = servers.get(match[1])
        if server is None:
            continue
        uri = match[2]
        if uri.startswith('"') and uri.endswith('"') and len(uri) > 1:
            uri = _unquoted(uri)
        elif (server, uri) not in listed:
            uri = uri.rstrip(_BEHIND_A_MENTION)
        if uri:
            found[Mention(server, uri)] = None
    return list(found)


def words_of(text: str) -> list[tuple[str, str]]:
    """Return (name or "", value) of each word of a command's rest; a value may stand in double quotes."""
    words: list[tuple[str, str]] = []
    at = 0
    text = text.strip()
    while at < len(text):
        match = _WORD.match(text, at)
        assert match is not None  # it matches everything that is not blank
        name, value = match[1] or "", match[2]
        quoted = len(value) > 1 and value.startswith('"') and value.endswith('"')
        words.append((name.removesuffix("="), _unquoted(value) if quoted else value))
        at = match.end()
    return words


def written_arguments(values: Mapping[str, str]) -> str:
    """Write a prompt's arguments as `ServerPrompt.arguments_of` reads them."""
    return " ".join(f"{name}={written_value(value)}" for name, value in values.items())


def written_value(value: str) -> str:
    """Return a value as it can be typed behind a prompt, in quotes where it has to be."""
    plain = (
        value and value.isprintable() and safe_text.is_safe(value) and not any(c.isspace() or c == '"' for c in value)
    )
    return value if plain else json.dumps(value, ensure_ascii=not safe_text.is_safe(value))


def _unquoted(quoted: str) -> str:
    try:
        return str(json.loads(quoted, strict=False))
    except ValueError:
        return quoted[1:-1]

"""What people type for things of servers: `server:prompt` behind a slash, `@server:uri` in a text. Pure text work.

A server may call itself and its prompts anything, so each has a name that can be typed: without spaces, colons and
marks, unique among its fellows, and looked up in a table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from console_app.domain.errors import UsageError
from console_app.domain.safe_text import is_safe
from console_app.mcp_client.offering.offers import ServerPrompt

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
    """What is typed for each of `names`, to the name itself. The same for the same names in the same order."""
    table: dict[str, str] = {}
    for name in names:
        plain = _UNTYPED.sub("_", name)[:LONGEST].strip("_/") or "unnamed"
        typed, number = plain, 2
        while typed in table:
            typed, number = f"{plain}-{number}", number + 1
        table[typed] = name
    return table


def typed_prompts(prompts: Sequence[ServerPrompt], servers: Iterable[str]) -> dict[str, ServerPrompt]:
    """`server:prompt`, as it is typed, to each prompt."""
    own: dict[str, list[ServerPrompt]] = {}
    for prompt in prompts:
        own.setdefault(prompt.server, []).append(prompt)
    table: dict[str, ServerPrompt] = {}
    for typed_server, server in typed_names(servers).items():
        listed = {prompt.name: prompt for prompt in own.get(server, ())}
        table |= {f"{typed_server}:{typed}": listed[name] for typed, name in typed_names(listed).items()}
    return table


def command_of(text: str) -> tuple[str, str] | None:
    """(`server:prompt`, the rest) of a text that may be the command for a server's prompt."""
    match = _COMMAND.fullmatch(text.strip())
    return (match[1], (match[2] or "").strip()) if match else None


def written_uri(uri: str) -> str:
    """A URI as it can stand behind `@server:`."""
    plain = bool(uri) and uri.isprintable() and is_safe(uri) and not any(c.isspace() or c == '"' for c in uri)
    return uri if plain and uri[-1] not in _BEHIND_A_MENTION else json.dumps(uri)


def mentions(text: str, servers: Mapping[str, str], listed: Collection[tuple[str, str]]) -> list[Mention]:
    """The resources that a text names, once each. `servers` are typed names to names; `listed` are (server, URI)
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


# The arguments of a prompt.


def words_of(text: str) -> list[tuple[str, str]]:
    """(name or "", value) of each word of a command's rest; a value may stand in double quotes."""
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


def arguments_of(prompt: ServerPrompt, text: str) -> dict[str, str]:
    """What was typed behind a prompt's command, by argument: words in their order, or `name=value`.

    The last argument that is left takes all the words that are. Raises UsageError for words that no argument takes.
    """
    known = [argument.name for argument in prompt.arguments]
    values: dict[str, str] = {}
    loose: list[str] = []
    for name, value in words_of(text):
        if name in known:
            values[name] = value
        else:
            loose.append(f"{name}={value}" if name else value)
    free = [name for name in known if name not in values]
    for place, name in enumerate(free):
        if not loose:
            break
        last = place == len(free) - 1
        values[name] = " ".join(loose) if last else loose[0]
        loose = [] if last else loose[1:]
    if loose:
        takes = f"takes {', '.join(known)}" if known else "takes no arguments"
        raise UsageError(f"the prompt {prompt.name} {takes}; nothing takes {' '.join(loose)[:60]}")
    return values


def missing(prompt: ServerPrompt, values: Mapping[str, str]) -> list[str]:
    """The arguments that a prompt needs and that are not there."""
    return [argument.name for argument in prompt.arguments if argument.required and not values.get(argument.name)]


def written_arguments(values: Mapping[str, str]) -> str:
    """Arguments as `arguments_of` reads them."""
    return " ".join(f"{name}={written_value(value)}" for name, value in values.items())


def written_value(value: str) -> str:
    """A value as it can be typed behind a prompt, in quotes where it has to be."""
    plain = value and value.isprintable() and is_safe(value) and not any(c.isspace() or c == '"' for c in value)
    return value if plain else json.dumps(value, ensure_ascii=not is_safe(value))


def _unquoted(quoted: str) -> str:
    try:
        return str(json.loads(quoted, strict=False))
    except ValueError:
        return quoted[1:-1]

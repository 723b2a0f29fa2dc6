"""Rules as people write them, and what they match: `SERVER.TOOL` with `*`, and in brackets patterns of arguments.

    files.read_*                              any call of these tools
    files.write_file(path=docs/*)             only where the argument `path` matches
    git.commit(message="fix, *", amend=false) several, all of which must match; quotes around commas and brackets
    files.edit(edits.0.path=docs/*)           a value within another; `edits.*.path` is each of them
    shell(pytest *)                           commands: short for shell.run(command="pytest *")

Globs are `fnmatch`'s: `*`, `?`, `[abc]`. A rule that allows matches only what it says beyond doubt. One that asks or
denies also matches whatever a server may take for the same: `True`, `"true"` and `1`, a text at any depth of a list,
the words of a list as one line, a path however it is spelt, capitals, composed characters and white space however they
are written. It matches the default of what a call leaves out, and a value that can't be looked into.
"""

from __future__ import annotations

import json
import posixpath
import re
import unicodedata
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, cast
from urllib.parse import unquote

from console_app.domain.safe_text import changed
from console_app.domain.schema.defaults import TooManySchemasError, defaults_at
from console_app.records import dataclass, field

_GLOB = re.compile(r"[*?\[(]|[\s\x00-\x1f]")
_NAME = re.compile(r'\s*("(?:\\.|[^"\\])*"|[^\s"=,()]+)\s*=\s*')
_VALUE = re.compile(r'("(?:\\.|[^"\\])*")\s*|([^",]*)')
_BARE_NAME = re.compile(r'[^\s"=,()]+')
_BARE_VALUE = re.compile(r'[^\s",()]([^",()]*[^\s",()])?')
_ANY: Mapping[str, Any] = {}
SHELL = "shell"  # the bundled server of commands
MOST_VALUES = 10_000  # of one argument that are looked at; with more it can't be evaluated
_CLIMBS = re.compile(r"(?:^|[/\\])\.\.(?:[/\\]|$)")
_DETOURS = re.compile(r"(?:^|[/\\])\.{0,2}[/\\]")
_FILE = re.compile(r"(?i)\s*file:(?://[^/]*)?")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_SAME: Mapping[str, frozenset[str]] = {
    "true": frozenset({"true", "t", "1", "1.0", "yes", "y", "on"}),
    "false": frozenset({"false", "f", "0", "0.0", "no", "n", "off", ""}),
    "null": frozenset({"null", "none", ""}),
}  # what servers read as the same, in lower case


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule without its action; `arguments` has globs by name. A text that looks like a number, true, false or null is
    in quotes (`text_pattern`)."""

    pattern: str
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        if not self.arguments:
            return self.pattern
        return f"{self.pattern}({', '.join(_written(name, glob) for name, glob in self.arguments.items())})"


def parse_rule(text: str) -> RuleText:
    """Reads one rule. Raises ValueError with what can't be understood, in one sentence."""
    text = text.strip()
    start = _outside_of_sets(text, "(")
    pattern = text[:start].strip() if start >= 0 else text
    if not pattern or any(character.isspace() for character in pattern):
        raise ValueError(f"“{text}” has to begin with SERVER.TOOL, where * stands for anything")
    if start < 0:
        return RuleText(pattern)
    if not text.endswith(")"):
        raise ValueError(f"“{text}” opens a bracket that it doesn't close")
    if pattern == SHELL and (command := text[start + 1 : -1].strip()):
        return RuleText(f"{SHELL}.run", {"command": command})
    return RuleText(pattern, _arguments(text, text[start + 1 : -1]))


def _outside_of_sets(text: str, sign: str) -> int:
    """Return where a sign first stands, -1 where it doesn't; one inside [...] belongs to the glob."""
    at = 0
    while at < len(text):
        if text[at] == "[" and (end := text.find("]", at + 2)) > 0:
            at = end
        elif text[at] == sign:
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
        found[_dequoted(name[1], text)] = text_pattern(_dequoted(value[1], text)) if value[1] else value[2].strip()
        at = value.end()
        if at == len(inside):
            return found
        if inside[at] != ",":
            raise ValueError(f"“{text}”: a comma is missing at “{inside[at : at + 20]}”")
        at += 1


def _dequoted(part: str, text: str) -> str:
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
    return _GLOB.sub(lambda found: "?" if found[0].isspace() or found[0] < " " else f"[{found[0]}]", text)


_ONLY_READS = ":reads"  # behind a pattern: of the tools that it matches those that say that they only read


def tool_pattern(server: str, tool: str = "", *, reads: bool = False) -> str:
    return f"{exact(server).replace('.', '[.]')}.{exact(tool) if tool else '*'}{_ONLY_READS if reads else ''}"


@lru_cache(maxsize=1000)
def server_and_tool(pattern: str) -> tuple[str, str]:
    """Split globs of server and tool at the first dot outside of [...]. Without a dot, `demo*` is servers with all
    their tools; else nothing."""
    if (dot := _outside_of_sets(pattern, ".")) >= 0:
        return pattern[:dot], pattern[dot + 1 :]
    return (pattern, "*") if pattern.endswith("*") else ("", "")


def speaks_of(pattern: str, server: str, tool: str, *, strictly: bool, reads: bool = False) -> bool:
    """Tell whether a pattern matches a tool, which `reads` only or doesn't. Strictly, server and tool match apart; else
    their joined name may match too, as a dot may belong to either."""
    if pattern.endswith(_ONLY_READS) and (strictly or reads):
        of_those = pattern.removesuffix(_ONLY_READS)
        return reads and speaks_of(of_those, server, tool, strictly=strictly)
    server_glob, tool_glob = server_and_tool(pattern)
    if fnmatchcase(server, server_glob) and fnmatchcase(tool, tool_glob):
        return True
    if strictly:
        return False
    if not f"{pattern}{server}{tool}".isascii():  # one character may be written in two ways
        pattern, server, tool = (unicodedata.normalize("NFC", text) for text in (pattern, server, tool))
    return fnmatchcase(f"{server}.{tool}", pattern) or fnmatchcase(server, pattern)


def literal(value: str) -> str:
    return text_pattern(re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", value))


class NotEvaluableError(Exception): ...


def is_typed(pattern: str) -> bool:
    """Tell whether a pattern stands for a number, true, false or null, and not for a text."""
    return pattern in _SAME or _NUMBER.fullmatch(pattern) is not None


def text_pattern(text: str) -> str:
    """The pattern for a text that would else be read as a number, true, false or null: in quotes."""
    return f'"{text}"' if is_typed(text) else text


def arguments_match(
    patterns: Mapping[str, str], arguments: Mapping[str, Any], *, strictly: bool, schema: Mapping[str, Any] = _ANY
) -> bool:
    """Tell whether each pattern matches the argument that it names. `schema` is the tool's."""
    try:
        return all(
            _named_matches(name, pattern, arguments, strictly)
            or (not strictly and _default_matches(name, pattern, arguments, schema))
            for name, pattern in patterns.items()
        )
    except (NotEvaluableError, TooManySchemasError, RecursionError, ValueError):  # too many digits to be written
        return not strictly


def argument_matches(pattern: str, value: Any, *, strictly: bool) -> bool:
    """Tell whether a pattern matches one value: strictly, each entry of a list, else any value within it."""
    whole = cast("object", value)
    if strictly:
        entries = cast("list[object]", value) if isinstance(value, list) else []
        return _same_json(pattern, whole) or all(_strictly(pattern, one) for one in entries or [whole])
    return any(_loosely(pattern, one) for one in _within(whole))


def _named_matches(name: str, pattern: str, arguments: Mapping[str, Any], strictly: bool) -> bool:
    found = list(_at(cast("object", arguments), name.split("."), strictly))
    if "." in name and name in arguments:
        found.append(arguments[name])
    matches = (argument_matches(pattern, value, strictly=strictly) for value in found)
    return bool(found) and (all(matches) if strictly else any(matches))


def _default_matches(name: str, pattern: str, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    paths = [name.split("."), [name]] if "." in name else [[name]]
    return any(
        argument_matches(pattern, value, strictly=False)
        for path in paths
        for default, rest in defaults_at(schema, arguments, path)
        for value in _at(default, list(rest), False)
    )


def _at(value: object, path: list[str], strictly: bool) -> Iterator[object]:
    """Yield the values at a path: keys of objects, numbers of list entries from 0, `*` for each of them."""
    if not path:
        yield value
    elif isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        for one in fields.values() if path[0] == "*" else [fields[path[0]]] if path[0] in fields else []:
            yield from _at(one, path[1:], strictly)
    elif isinstance(value, list):
        entries = cast("list[object]", value)
        if path[0] == "*":
            for one in entries:
                yield from _at(one, path[1:], strictly)
        elif path[0].isdecimal():
            if int(path[0]) < len(entries):
                yield from _at(entries[int(path[0])], path[1:], strictly)
        elif not strictly:
            for one in entries:
                yield from _at(one, path, strictly)
    elif isinstance(value, str) and value.strip():
        raise NotEvaluableError  # a server may read the text as what the path leads into


def _within(value: object) -> Iterator[object]:
    """Yield a value, all values within it, and the words of each list as one line."""
    waiting, seen = [value], 0
    while waiting:
        one = waiting.pop()
        seen += 1
        if seen > MOST_VALUES:
            raise NotEvaluableError
        yield one
        if isinstance(one, list):
            entries = cast("list[object]", one)
            waiting += entries
            if entries and all(isinstance(entry, str | int | float) for entry in entries):
                yield " ".join(_text(entry) for entry in entries)
        elif isinstance(one, dict):
            waiting += cast("dict[str, object]", one).values()


def _strictly(pattern: str, value: object) -> bool:
    if isinstance(value, str):
        glob = _unquoted(pattern)
        if glob == pattern and is_typed(pattern):
            return False
        forms = [value]
        decoded = unquote(value) if "%" in value else value
        if _CLIMBS.search(decoded):
            forms.append(_straight(decoded))
        return all(fnmatchcase(form, glob) for form in forms)
    if _unquoted(pattern) != pattern:
        return False
    return _same_json(pattern, value) or (not is_typed(pattern) and fnmatchcase(_text(value), pattern))


def _loosely(pattern: str, value: object) -> bool:
    glob = _unquoted(pattern)
    if _same_json(glob, value):
        return True
    text = _text(value)
    forms = {text, text.strip()}
    if "%" in text or _FILE.match(text):
        forms |= {unquote(text), unquote(_FILE.sub("", text, count=1))}
    forms |= {_straight(form) for form in forms if _DETOURS.search(form)}
    if any(fnmatchcase(form, glob) for form in forms):
        return True
    alike = _spelling(glob)
    if any(fnmatchcase(_spelling(form), alike) for form in forms):
        return True
    plain, meant = text.strip().lower(), glob.lower()
    same = next((words for words in _SAME.values() if meant in words), frozenset({meant}))
    return is_typed(glob) and (plain in same or ((number := _number(meant)) is not None and number == _number(plain)))


def _spelling(text: str) -> str:
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return " ".join(plain.casefold().split())


def _same_json(pattern: str, value: object) -> bool:
    """Tell whether the pattern is the JSON of just this value; 1 and true are two values, 1 and 1.0 one."""
    if isinstance(value, str) or not pattern:
        return False
    try:
        meant: object = json.loads(pattern)
    except ValueError:
        return False
    return not isinstance(meant, str) and _text(_plain(meant)) == _text(_plain(value))


def _plain(value: object) -> object:
    return changed(value, float, lambda one: int(one) if one.is_integer() else one)


def _number(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _straight(path: str) -> str:
    straight = posixpath.normpath(path.replace("\\", "/"))
    return straight[1:] if straight.startswith("//") else straight  # two at the beginning are kept, and mean one


def _unquoted(pattern: str) -> str:
    inside = pattern[1:-1]
    return inside if pattern == f'"{inside}"' and is_typed(inside) else pattern


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)

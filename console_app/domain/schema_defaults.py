"""What stands at a path of a call's arguments though the call leaves it out: the defaults that the tool's schema names.

A schema's author may write a default at any level, and behind `$ref`, `anyOf` and their like; whichever of several
branches a server takes is its own affair, so the defaults of all are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

MOST_SCHEMAS = 10_000  # that are looked at for one path
ABSENT = object()

_Place = tuple[object, object, Sequence[str]]  # a schema, what it is of (or ABSENT), and the path from there on


class TooManySchemasError(Exception):
    """A schema branches too often to be looked into."""


def defaults_at(
    schema: Mapping[str, Any], arguments: Mapping[str, Any], path: Sequence[str]
) -> Iterator[tuple[object, Sequence[str]]]:
    """The defaults for what `arguments` don't have at `path` or below it, each with what of the path leads into it.

    A path is names, numbers of list entries, and `*` for each of them. Raises TooManySchemasError.
    """
    waiting: list[_Place] = [(schema, arguments, path)]
    seen = 0
    while waiting:
        part, value, rest = waiting.pop()
        for branch in _branches(part, schema):
            if (seen := seen + 1) > MOST_SCHEMAS:
                raise TooManySchemasError
            found = branch.get("default", ABSENT) if value is ABSENT else value
            if value is ABSENT and found is not ABSENT:
                yield found, rest
            if rest or found is not ABSENT:  # a schema may hold itself, so it takes a path or a value to go on
                waiting += _below(branch, found, rest or ("*",))


def _branches(part: object, root: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema and all that may hold in its place or beside it, each once."""
    waiting, met = [part], set[int]()
    while waiting:
        one = waiting.pop()
        if not isinstance(one, dict) or id(cast("object", one)) in met:
            continue
        schema = cast("dict[str, Any]", one)
        met.add(id(schema))
        yield schema
        waiting += [schema.get(key) for key in ("then", "else")]
        for key in ("allOf", "anyOf", "oneOf"):
            several: Any = schema.get(key)
            waiting += cast("list[object]", several) if isinstance(several, list) else []
        if isinstance(reference := schema.get("$ref"), str) and reference.startswith("#"):
            waiting.append(_referred(root, reference[1:]))


def _referred(root: Mapping[str, Any], pointer: str) -> object:
    """What a JSON pointer within the schema leads to, or None."""
    at: object = root
    for name in pointer.split("/")[1:]:
        if not isinstance(at, Mapping):
            return None
        at = cast("Mapping[str, object]", at).get(name.replace("~1", "/").replace("~0", "~"))
    return at


def _below(schema: Mapping[str, Any], value: object, path: Sequence[str]) -> Iterator[_Place]:
    """What stands one level down a path."""
    name, rest = path[0], path[1:]
    if isinstance(value, list):
        entries = cast("list[object]", value)
        if name.isdecimal():
            entries = entries[int(name) : int(name) + 1]
        yield from (
            (schema.get("items"), entry, rest if name.isdecimal() or name == "*" else path) for entry in entries
        )
    elif value is ABSENT or isinstance(value, Mapping):
        fields: Mapping[str, object] = {} if value is ABSENT else cast("Mapping[str, object]", value)
        properties: Any = schema.get("properties")
        known = cast("dict[str, object]", properties) if isinstance(properties, dict) else {}
        for one in known if name == "*" else [name] if name in known else []:
            yield known[one], fields.get(one, ABSENT), rest

"""Find the defaults of a tool's schema for what a call leaves out: at any level, behind `$ref`, `anyOf` and their like.
Which of several branches a server takes is its own affair, so the defaults of all are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from console_app.domain.schema.reading import alternatives, item, properties

MOST_SCHEMAS = 10_000  # that are looked at for one path
ABSENT = object()

_Place = tuple[object, object, Sequence[str]]  # a schema, what it is of (or ABSENT), and the path from there on


class TooManySchemasError(Exception):
    """A schema branches too often to be looked into."""


def defaults_at(
    schema: Mapping[str, Any], arguments: Mapping[str, Any], path: Sequence[str]
) -> Iterator[tuple[object, Sequence[str]]]:
    """Yield defaults for what `arguments` lack at `path` (names, numbers, `*`) or below, with the rest of the path.
    Raises TooManySchemasError."""
    waiting: list[_Place] = [(schema, arguments, path)]
    seen = 0
    while waiting:
        part, value, rest = waiting.pop()
        for branch in alternatives(part, schema):
            if (seen := seen + 1) > MOST_SCHEMAS:
                raise TooManySchemasError
            found = branch.get("default", ABSENT) if value is ABSENT else value
            if value is ABSENT and found is not ABSENT:
                yield found, rest
            if rest or found is not ABSENT:  # a schema may hold itself, so it takes a path or a value to go on
                waiting += _below(branch, found, rest or ("*",))


def _below(schema: Mapping[str, Any], value: object, path: Sequence[str]) -> Iterator[_Place]:
    name, rest = path[0], path[1:]
    if isinstance(value, list):
        entries = cast("list[object]", value)
        if name.isdecimal():
            entries = entries[int(name) : int(name) + 1]
        yield from ((item(schema), entry, rest if name.isdecimal() or name == "*" else path) for entry in entries)
    elif value is ABSENT or isinstance(value, Mapping):
        fields: Mapping[str, object] = {} if value is ABSENT else cast("Mapping[str, object]", value)
        known = properties(schema)
        for one in known if name == "*" else [name] if name in known else []:
            yield known[one], fields.get(one, ABSENT), rest

"""Say to people what a schema demands: the kind of a value in a few words, its limits, and its parts by name."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, NamedTuple

from console_app.domain.safe_text import one_line
from console_app.domain.schema.reading import Schema, as_schema, followed, item, listed, parts, required, text

MOST_KINDS = 4  # of a value that may be one of several
MOST_CHOICES = 12  # values of an enum that are named
MOST_PLACES = 1000  # in one schema

_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} character",
    "maxLength": "at most {} character",
    "minItems": "at least {} item",
    "maxItems": "at most {} item",
    "pattern": "matches {}",
    "format": "{}",
    "contentEncoding": "{}",
    "contentMediaType": "{}",
    "const": "always {}",
    "default": "default {}",
}
_MARKS = {"deprecated": "deprecated", "readOnly": "read-only"}
_BRANCHES = {"anyOf": "one of these", "oneOf": "exactly one of these", "allOf": "all of these"}
_CALLED = {
    "properties": "{}",
    "patternProperties": "/{}/",
    "additionalProperties": "any other name",
    "items": "each item",
}


class SchemaPart(NamedTuple):
    """A schema within another, by its name there. A heading has no schema of its own."""

    name: str
    schema: Any = None
    required: bool = False
    is_heading: bool = False
    below: tuple[SchemaPart, ...] = ()


def inside(schema: Schema, root: Schema) -> list[SchemaPart]:
    schema = followed(schema, root)
    needed, held = required(schema), list(islice(parts(schema), MOST_PLACES))
    found: list[SchemaPart] = []
    for word, called in _CALLED.items():
        for name, one in ((name, one) for at, name, one in held if at == word):
            if word == "additionalProperties" and one is False:
                found.append(SchemaPart("no other names", is_heading=True))
            elif "{}" in called or (isinstance(one, dict) and (one or word == "items")):
                found.append(SchemaPart(called.format(name), one, word == "properties" and name in needed))
    for word, heading in _BRANCHES.items():
        below = tuple(SchemaPart(f"{number}", one) for number, one in enumerate(listed(schema, word), 1))
        found += [SchemaPart(heading, is_heading=True, below=below)] if below else []
    return found


def type_words(schema: Schema, *, branch: bool = False) -> str:
    """Return what a value must be, in a word or two. The branches of a `branch` are not looked at."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return " or ".join(one_line(str(kind), 20) for kind in listed(schema, "type"))
    if kinds == "array" and isinstance(item(schema), dict):
        entry = text(item(schema), "type")
        return f"list of {one_line(entry, 20)}s" if entry else "list"
    if isinstance(kinds, str):
        return {"array": "list", "null": "nothing"}.get(kinds, one_line(kinds, 20))
    if "enum" in schema or "const" in schema:
        return "value"
    branches = [] if branch else listed(schema, "anyOf") or listed(schema, "oneOf")
    if branches:
        known = [type_words(as_schema(one), branch=True) for one in branches[:MOST_KINDS] if isinstance(one, dict)]
        return " or ".join(dict.fromkeys(known)) or "anything"
    return "object" if "properties" in schema or "$ref" in schema else "anything"


def limits(schema: Schema) -> list[str]:
    found: list[str] = []
    if isinstance(schema.get("enum"), list):
        known = listed(schema, "enum")
        more = f" and {len(known) - MOST_CHOICES:,} more" if len(known) > MOST_CHOICES else ""
        found.append(" | ".join(_brief(one) for one in known[:MOST_CHOICES]) + more)
    found += [_limit(words, schema[key]) for key, words in _LIMITS.items() if key in schema]
    return [*found, *(word for key, word in _MARKS.items() if schema.get(key))]


def _limit(words: str, value: Any) -> str:
    several = "s" if words.endswith(("character", "item")) and value != 1 else ""
    return words.format(_brief(value)) + several


def _brief(value: Any) -> str:
    try:
        said = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        said = "…"
    return one_line(said, 60)

"""JSON as folding nodes, and a JSON Schema as a tree that people read: a name, what it must be, what it is for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple, cast

from console_app.domain import one_line
from console_app.domain import schema as json_schema
from console_app.domain.safe_text import as_list
from console_app.tui.lineview.lines import Piece, clean
from console_app.tui.lineview.palette import Palette
from console_app.tui.widgets.folding_tree import Node, Paint

OPEN_DEPTH = 3  # levels that are open at first
MOST_OPEN = 30  # things in a list or object that is open at first
MOST_ITEMS = 1000  # of one list or object
LONGEST = 4000  # characters of one text
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


def json_nodes(value: Any, depth: int = 0) -> list[Node]:
    """Return the nodes of what is in an object or a list; one for anything else."""
    if isinstance(value, dict):
        pairs = list(cast("dict[str, Any]", value).items())
        nodes = [_json_node(str(key), item, depth) for key, item in pairs[:MOST_ITEMS]]
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        pairs = items
        nodes = [_json_node(str(at), item, depth) for at, item in enumerate(items[:MOST_ITEMS])]
    else:
        return [Node(_scalar("", value))]
    if len(pairs) > MOST_ITEMS:
        nodes.append(_note(f"… {len(pairs) - MOST_ITEMS:,} more"))
    return nodes


def _json_node(key: str, value: Any, depth: int) -> Node:
    if isinstance(value, dict | list) and value:
        held = cast("dict[str, Any] | list[Any]", value)
        count, (begin, end) = len(held), ("{}" if isinstance(value, dict) else "[]")

        def paint(palette: Palette) -> Sequence[Piece]:
            return [(one_line(key, 80), palette.syntax["key"]), (f"  {begin}{count:,}{end}", palette.muted)]

        opened = depth < OPEN_DEPTH and count <= MOST_OPEN
        return Node(paint, lambda: json_nodes(value, depth + 1), open=opened)
    return Node(_scalar(key, value))


def _scalar(key: str, value: Any) -> Paint:
    def paint(palette: Palette) -> Sequence[Piece]:
        ink = palette.syntax["string" if isinstance(value, str) else "number"]
        if value is None or isinstance(value, bool):
            ink = palette.syntax["keyword"]
        text = value[:LONGEST] if isinstance(value, str) else json.dumps(value)
        cut = f" … {len(value) - LONGEST:,} more characters" if isinstance(value, str) and len(value) > LONGEST else ""
        label: list[Piece] = [(one_line(key, 80), palette.syntax["key"]), ("  ", palette.base)] if key else []
        return [*label, (clean(text), ink), (cut, palette.muted)]

    return paint


def schema_nodes(schema: json_schema.Schema, root: json_schema.Schema | None = None, depth: int = 0) -> list[Node]:
    """Return what a schema says of an object's properties, and whatever else it says."""
    root = schema if root is None else root
    return [
        _heading(place, root, depth) if place.is_heading else _place(place, root, depth)
        for place in inside(schema, root)
    ]


def _heading(place: SchemaPart, root: json_schema.Schema, depth: int) -> Node:
    if not place.below:
        return _note(place.name)
    return Node(
        lambda palette: [(place.name, palette.accent)],
        lambda: [_place(one, root, depth + 1) for one in place.below],
        open=depth < OPEN_DEPTH,
    )


def _place(place: SchemaPart, root: json_schema.Schema, depth: int) -> Node:
    own, found = json_schema.as_schema(place.schema), json_schema.followed(json_schema.as_schema(place.schema), root)

    def paint(palette: Palette) -> Sequence[Piece]:
        said = ((own, "description"), (found, "description"), (found, "title"))
        about = next(filter(None, (json_schema.text(one, word) for one, word in said)), "")
        return [
            (one_line(place.name, 80), palette.strong),
            (f"  {type_words(found) if place.schema is not False else 'nothing'}", palette.secondary),
            (" · required" if place.required else "", palette.warning),
            ("".join(f" · {one}" for one in limits(found)), palette.muted),
            (f"\n{clean(about[:LONGEST])}" if about else "", palette.base),
        ]

    folds = bool(inside(found, root))
    below: Callable[[], Sequence[Node]] | None = (lambda: schema_nodes(found, root, depth + 1)) if folds else None
    return Node(paint, below, open=folds and depth < OPEN_DEPTH - 1)


def _note(text: str) -> Node:
    return Node(lambda palette: [(text, palette.muted)])


class SchemaPart(NamedTuple):
    """A schema within another, by its name there. A heading has no schema of its own."""

    name: str
    schema: Any = None
    required: bool = False
    is_heading: bool = False
    below: tuple[SchemaPart, ...] = ()


def inside(schema: json_schema.Schema, root: json_schema.Schema) -> list[SchemaPart]:
    schema = json_schema.followed(schema, root)
    needed, held = json_schema.required(schema), list(islice(json_schema.parts(schema), MOST_PLACES))
    found: list[SchemaPart] = []
    for word, called in _CALLED.items():
        for name, one in ((name, one) for at, name, one in held if at == word):
            if word == "additionalProperties" and one is False:
                found.append(SchemaPart("no other names", is_heading=True))
            elif "{}" in called or (isinstance(one, dict) and (one or word == "items")):
                found.append(SchemaPart(called.format(name), one, word == "properties" and name in needed))
    for word, heading in _BRANCHES.items():
        below = tuple(SchemaPart(f"{number}", one) for number, one in enumerate(as_list(schema.get(word)), 1))
        found += [SchemaPart(heading, is_heading=True, below=below)] if below else []
    return found


def type_words(schema: json_schema.Schema, *, branch: bool = False) -> str:
    """Return what a value must be, in a word or two. The branches of a `branch` are not looked at."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return " or ".join(one_line(str(kind), 20) for kind in as_list(kinds))
    if kinds == "array" and isinstance(json_schema.item(schema), dict):
        entry = json_schema.text(json_schema.item(schema), "type")
        return f"list of {one_line(entry, 20)}s" if entry else "list"
    if isinstance(kinds, str):
        return {"array": "list", "null": "nothing"}.get(kinds, one_line(kinds, 20))
    if "enum" in schema or "const" in schema:
        return "value"
    branches = [] if branch else as_list(schema.get("anyOf")) or as_list(schema.get("oneOf"))
    if branches:
        known = [
            type_words(json_schema.as_schema(one), branch=True)
            for one in branches[:MOST_KINDS]
            if isinstance(one, dict)
        ]
        return " or ".join(dict.fromkeys(known)) or "anything"
    return "object" if "properties" in schema or "$ref" in schema else "anything"


def limits(schema: json_schema.Schema) -> list[str]:
    found: list[str] = []
    if known := as_list(schema.get("enum")):
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

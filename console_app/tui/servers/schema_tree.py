"""JSON as folding nodes, and a JSON Schema as a tree that people read: a name, what it must be, what it is for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from console_app.domain.safe_text import one_line
from console_app.tui.lineview.lines import Piece, clean
from console_app.tui.lineview.palette import Palette
from console_app.tui.widgets.folding_tree import Node, Paint

OPEN_DEPTH = 3  # levels that are open at first
MOST_OPEN = 30  # things in a list or object that is open at first
MOST_ITEMS = 1000  # of one list or object
LONGEST = 4000  # characters of one text
MOST_KINDS = 4  # of a value that may be one of several
MOST_CHOICES = 12  # values of an enum that are named

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


def json_nodes(value: Any, depth: int = 0) -> list[Node]:
    """The nodes of what is in an object or a list; one for anything else."""
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
            return [
                (one_line(key, 80), palette.syntax["key"]),
                (f"  {begin}{count:,}{end}", palette.muted),
            ]

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


def schema_nodes(schema: Mapping[str, Any]) -> list[Node]:
    """What a schema says of an object's properties, and whatever else it says."""
    return _inside(schema, schema, 0)


def _inside(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> list[Node]:
    schema = _followed(schema, root)
    required = schema.get("required")
    needed = cast("list[Any]", required) if isinstance(required, list) else []
    nodes = [_property(name, one, root, depth, required=name in needed) for name, one in _mapping(schema, "properties")]
    nodes += [_property(f"/{glob}/", one, root, depth) for glob, one in _mapping(schema, "patternProperties")]
    more = schema.get("additionalProperties")
    if isinstance(more, dict) and more:
        nodes.append(_property("any other name", more, root, depth))
    elif more is False:
        nodes.append(_note("no other names"))
    items = schema.get("items")
    if isinstance(items, dict):
        nodes.append(_property("each item", items, root, depth))
    for key, words in _BRANCHES.items():
        branches = schema.get(key)
        if isinstance(branches, list) and branches:
            listed = cast("list[Any]", branches)
            nodes.append(_branches(words, listed, root, depth))
    return nodes


def _branches(words: str, branches: Sequence[Any], root: Mapping[str, Any], depth: int) -> Node:
    def below() -> list[Node]:
        return [_property(f"{at}", one, root, depth + 1) for at, one in enumerate(branches, 1)]

    return Node(lambda palette: [(words, palette.accent)], below, open=depth < OPEN_DEPTH)


def _property(name: str, schema: Any, root: Mapping[str, Any], depth: int, *, required: bool = False) -> Node:
    if not isinstance(schema, dict):
        words = "anything" if schema is not False else "nothing"
        return Node(lambda palette: [(one_line(name, 80), palette.strong), (f"  {words}", palette.muted)])
    own = cast("dict[str, Any]", schema)
    found = _followed(own, root)

    def paint(palette: Palette) -> Sequence[Piece]:
        about = own.get("description") or found.get("description") or found.get("title")
        return [
            (one_line(name, 80), palette.strong),
            (f"  {type_words(found)}", palette.secondary),
            (" · required" if required else "", palette.warning),
            ("".join(f" · {one}" for one in limits(found)), palette.muted),
            (f"\n{clean(about[:LONGEST])}" if isinstance(about, str) and about else "", palette.base),
        ]

    folds = any(key in found for key in ("properties", "patternProperties", "items", *_BRANCHES)) or bool(
        isinstance(found.get("additionalProperties"), dict) and found["additionalProperties"]
    )
    below: Callable[[], Sequence[Node]] | None = (lambda: _inside(found, root, depth + 1)) if folds else None
    return Node(paint, below, open=folds and depth < OPEN_DEPTH - 1)


def type_words(schema: Mapping[str, Any], *, branch: bool = False) -> str:
    """What a value must be, in a word or two. Of a `branch` its own branches are not looked at."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return " or ".join(one_line(str(kind), 20) for kind in cast("list[Any]", kinds))
    if kinds == "array" and isinstance(schema.get("items"), dict):
        inner = cast("dict[str, Any]", schema["items"]).get("type")
        return f"list of {one_line(inner, 20)}s" if isinstance(inner, str) else "list"
    if isinstance(kinds, str):
        return {"array": "list", "null": "nothing"}.get(kinds, one_line(kinds, 20))
    if "enum" in schema or "const" in schema:
        return "value"
    branches = None if branch else schema.get("anyOf") or schema.get("oneOf")
    if isinstance(branches, list) and branches:
        listed = cast("list[Any]", branches)
        known = [cast("dict[str, Any]", one) for one in listed[:MOST_KINDS] if isinstance(one, dict)]
        inner = [type_words(one, branch=True) for one in known]
        return " or ".join(dict.fromkeys(inner)) or "anything"
    return "object" if "properties" in schema or "$ref" in schema else "anything"


def limits(schema: Mapping[str, Any]) -> list[str]:
    """What else a value must be, each in a few words."""
    found: list[str] = []
    choices = schema.get("enum")
    if isinstance(choices, list):
        listed = cast("list[Any]", choices)
        more = f" and {len(listed) - MOST_CHOICES:,} more" if len(listed) > MOST_CHOICES else ""
        found.append(" | ".join(_brief(one) for one in listed[:MOST_CHOICES]) + more)
    found += [_limit(words, schema[key]) for key, words in _LIMITS.items() if key in schema]
    return [*found, *(word for key, word in _MARKS.items() if schema.get(key))]


def _limit(words: str, value: Any) -> str:
    several = "s" if words.endswith(("character", "item")) and value != 1 else ""
    return words.format(_brief(value)) + several


def _brief(value: Any) -> str:
    try:
        text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        text = "…"
    return one_line(text, 60)


def _followed(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where a `$ref` within the schema leads; what can't be followed stays as it is."""
    for _ in range(10):
        ref = schema.get("$ref")
        if not isinstance(ref, str) or not ref.startswith("#"):
            return schema
        found: Any = root
        for part in ref.removeprefix("#").strip("/").split("/") if ref != "#" else ():
            key = part.replace("~1", "/").replace("~0", "~")
            found = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
        if not isinstance(found, dict):
            return schema
        schema = {**cast("dict[str, Any]", found), **{key: one for key, one in schema.items() if key != "$ref"}}
    return schema


def _mapping(schema: Mapping[str, Any], key: str) -> list[tuple[str, Any]]:
    value = schema.get(key)
    return list(cast("dict[str, Any]", value).items())[:MOST_ITEMS] if isinstance(value, dict) else []


def _note(text: str) -> Node:
    return Node(lambda palette: [(text, palette.muted)])

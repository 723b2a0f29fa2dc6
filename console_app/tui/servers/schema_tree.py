"""JSON as folding nodes, and a JSON Schema as a tree that people read: a name, what it must be, what it is for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

from console_app.domain import one_line
from console_app.domain import schema as json_schema
from console_app.domain.schema import words
from console_app.tui.lineview.lines import Piece, clean
from console_app.tui.lineview.palette import Palette
from console_app.tui.widgets.folding_tree import Node, Paint

OPEN_DEPTH = 3  # levels that are open at first
MOST_OPEN = 30  # things in a list or object that is open at first
MOST_ITEMS = 1000  # of one list or object
LONGEST = 4000  # characters of one text


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
        for place in words.inside(schema, root)
    ]


def _heading(place: words.SchemaPart, root: json_schema.Schema, depth: int) -> Node:
    if not place.below:
        return _note(place.name)
    return Node(
        lambda palette: [(place.name, palette.accent)],
        lambda: [_place(one, root, depth + 1) for one in place.below],
        open=depth < OPEN_DEPTH,
    )


def _place(place: words.SchemaPart, root: json_schema.Schema, depth: int) -> Node:
    own, found = json_schema.as_schema(place.schema), json_schema.followed(json_schema.as_schema(place.schema), root)

    def paint(palette: Palette) -> Sequence[Piece]:
        said = ((own, "description"), (found, "description"), (found, "title"))
        about = next(filter(None, (json_schema.text(one, word) for one, word in said)), "")
        return [
            (one_line(place.name, 80), palette.strong),
            (f"  {words.type_words(found) if place.schema is not False else 'nothing'}", palette.secondary),
            (" · required" if place.required else "", palette.warning),
            ("".join(f" · {one}" for one in words.limits(found)), palette.muted),
            (f"\n{clean(about[:LONGEST])}" if about else "", palette.base),
        ]

    folds = bool(words.inside(found, root))
    below: Callable[[], Sequence[Node]] | None = (lambda: schema_nodes(found, root, depth + 1)) if folds else None
    return Node(paint, below, open=folds and depth < OPEN_DEPTH - 1)


def _note(text: str) -> Node:
    return Node(lambda palette: [(text, palette.muted)])

"""A JSON Schema, and JSON, as a tree: what servers send is odd, deep and endless, and none of it stops the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.console.reports.wire_text import redacted
from console_app.domain.schema.words import limits, type_words
from console_app.tui.servers.folding_tree import Node
from console_app.tui.servers.tree_dialog import json_nodes, schema_nodes
from tests.each import each
from tests.tui.lineview.scenes import PALETTE

WORDS = st.sampled_from(["type", "properties", "items", "$ref", "anyOf", "enum", "description", "required", "a", "#"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["#", "#/a", "object", "array"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=25,
)


def lines(nodes: Sequence[Node], most: int = 300) -> list[str]:
    """The text of the nodes and of all below them, up to so many."""
    found: list[str] = []
    waiting = list(reversed(nodes))
    while waiting and len(found) < most:
        node = waiting.pop()
        found.append("".join(text for text, _ in node.paint(PALETTE)))
        waiting += reversed(node.nodes)
    return found


@given(st.dictionaries(WORDS, JSON, max_size=6))
def test_whatever_a_schema_says_it_is_shown(schema: dict[str, Any]) -> None:
    lines(schema_nodes(schema))
    type_words(schema)
    limits(schema)


@given(JSON)
def test_any_json_is_a_tree_and_hides_nothing_that_is_no_secret(value: Any) -> None:
    lines(json_nodes(value))
    assert redacted(value, lambda text: text) == value


def test_a_schema_that_refers_to_itself_opens_as_deep_as_one_likes() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#/nowhere"}}}
    assert lines(schema_nodes(tree), 20).count("left  object") >= 10
    loop = {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$ref": "#/$defs/x"}}}
    assert lines(schema_nodes(loop)) == ["a  object"]


@each(
    ("schema", "words"),
    [
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "array", "items": {"type": "integer"}}, "list of integers"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or nothing"),
        ({"enum": [1, 2]}, "value"),
        ({}, "anything"),
    ],
)
def test_types_are_said_in_words(schema: dict[str, Any], words: str) -> None:
    assert type_words(schema) == words


def test_long_texts_and_lists_are_shown_by_their_beginning() -> None:
    shown = lines(json_nodes({"text": "x" * 10_000, "many": list(range(5000))}), 3000)
    assert "… 6,000 more characters" in shown[0]
    assert shown[-1] == "… 4,000 more"

"""JSON Schema as it is read: whatever a server writes, every reader is done with it, and they agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from console_app.domain.schema import forms as fields
from console_app.domain.schema import reading, words
from tests.each import each

WORDS = (
    *("type", "properties", "required", "items", "$ref", "$defs", "anyOf", "oneOf", "allOf", "enum", "const", "not"),
    *("additionalProperties", "patternProperties", "prefixItems", "if", "then", "default", "description", "a"),
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["#", "#/$defs/a", "object"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=25,
)
SCHEMAS = st.dictionaries(st.sampled_from(WORDS), ODD, max_size=6)
READERS: dict[str, Callable[[Any], Any]] = {
    "members": lambda schema: (reading.properties(schema), reading.required(schema), reading.is_closed(schema)),
    "types": lambda schema: reading.types(schema, schema),
    "choices": reading.choices,
    "followed": lambda schema: reading.followed(schema, schema),
    "resolved": lambda schema: reading.resolved(schema, schema),
    "words in it": reading.words_in,
    "references": reading.references,
    "faults": lambda schema: list(reading.faults(schema)),
    "arguments": lambda schema: reading.arguments_problem(schema, {"a": 1}),
    "without members": lambda schema: reading.without_members(schema, frozenset("a")),
    "form of a tool": fields.form_of,
    "form of a question": fields.fields_asked,
    "words": lambda schema: (words.inside(schema, schema), words.type_words(schema), words.limits(schema)),
}


@example(schema={"$ref": "#"})
@settings(max_examples=100)
@given(schema=SCHEMAS)
def test_a_schema_of_any_shape_is_read(schema: dict[str, Any]) -> None:
    for name, read in READERS.items():
        try:
            read(schema)
        except Exception as error:
            error.add_note(f"read as: {name}")
            raise


@given(SCHEMAS)
def test_a_schema_changed_nowhere_is_the_same_and_each_part_is_changed_once(schema: dict[str, Any]) -> None:
    assert reading.mapped(schema, dict) == schema
    marked = reading.mapped(schema, lambda one: {**one, "marked": True})
    assert "marked" in reading.words_in(marked)
    assert reading.words_in(marked) - {"marked"} == reading.words_in(schema)


def test_what_is_changed_are_schemas_and_no_values_or_names() -> None:
    schema = reading.object_of({"format": {"type": "string", "format": "uri", "default": {"format": "a"}}}, ["format"])

    def without(one: dict[str, Any]) -> dict[str, Any]:
        return {word: value for word, value in one.items() if word != "format"}

    changed = reading.object_of({"format": {"type": "string", "default": {"format": "a"}}}, ["format"])
    assert reading.mapped(schema, without) == changed
    assert reading.words_in(schema) == {"type", "properties", "required", "format", "default"}


@each(
    ("schema", "kinds"),
    [
        ({"type": "integer"}, ("integer",)),
        ({"type": ["string", "null"]}, ("string", "null")),
        ({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a"}]}, ("null", "array")),
        ({"enum": [1, "a", None]}, ("integer", "string", "null")),
        ({"const": 0.5}, ("number",)),
        ({"$ref": "#"}, ("object",)),
        ({"$ref": "elsewhere#/a"}, ()),
        (True, ()),
    ],
)
def test_the_types_of_a_value_are_found_behind_references_branches_and_choices(
    schema: Any, kinds: tuple[str, ...]
) -> None:
    assert reading.types(schema, {"type": "object", "$defs": {"a": {"type": "array"}}}) == kinds


@each(
    ("arguments", "problem"),
    [
        ({"n": 1}, ""),
        ({"n": 2.0, "kind": "a"}, ""),
        ({}, "“n” is required"),
        ({"n": "1"}, "“n” must be integer, not string"),
        ({"n": True}, "“n” must be integer, not boolean"),
        ({"n": 1, "kind": "c"}, '“kind” must be one of "a", "b"'),
        ({"n": 1, "more": 1}, "“more” is not an argument of this tool"),
    ],
)
def test_arguments_that_do_not_fit_are_told_in_one_sentence(arguments: dict[str, Any], problem: str) -> None:
    members = {"n": {"type": "integer"}, "kind": {"enum": ["a", "b"]}}
    schema = {**reading.object_of(members, ["n"]), "additionalProperties": False}
    assert reading.arguments_problem(schema, arguments) == problem


@each("name", ["password", "api_key", "pin", "token"])
def test_a_secret_is_one_in_every_form(name: str) -> None:
    schema = reading.object_of({name: {"type": "string"}, "city": {"type": "string"}})
    for form in (fields.form_of(schema).fields, fields.fields_asked(schema)):
        assert [field.secret for field in form] == [True, False]

"""The forms of MCP servers: what their schemas ask for, propose and refuse."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.schema import forms
from tests.each import each

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2, "maxLength": 5, "default": "Ada"},
        "mail": {"type": "string", "format": "email"},
        "age": {"type": "integer", "minimum": 18, "maximum": 120, "default": 30},
        "rate": {"type": "number", "default": 0.5},
        "sure": {"type": "boolean", "default": True},
        "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"], "default": "m"},
        "colour": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0"}]},
        "days": {"type": "array", "items": {"enum": ["mo", "tu", "we"]}, "minItems": 1, "maxItems": 2},
        "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "default": ["a"]},
    },
    "required": ["name", "days"],
}


def test_a_schema_becomes_fields_in_its_order() -> None:
    fields = {field.name: field for field in forms.fields_asked(SCHEMA)}
    assert list(fields) == list(SCHEMA["properties"])
    assert [field.kind for field in fields.values()] == [
        *("text", "text", "integer", "number", "switch", "choice", "choice", "choices", "choices"),
    ]
    assert fields["name"].title == "Your name"
    assert fields["name"].required
    assert not fields["age"].required
    assert [(fields[name].choices, fields[name].labels) for name in ("size", "colour", "tags")] == [
        (("s", "m"), ("Small", "Medium")),
        (("#f00", "#0f0"), ("Red", "#0f0")),
        (("a",), ("A",)),
    ]


def test_defaults_are_proposed() -> None:
    assert {field.name: field.default for field in forms.fields_asked(SCHEMA) if field.default is not None} == {
        "name": "Ada",
        "age": 30,
        "rate": 0.5,
        "sure": True,
        "size": "m",
        "tags": ["a"],
    }


@each(
    ("name", "value", "problem"),
    [
        ("name", None, "required"),
        ("name", "A", "must be at least 2 characters"),
        ("name", "Augusta", "must be at most 5 characters"),
        ("mail", "nobody", "must be an e-mail address"),
        ("mail", "", ""),
        ("age", 17, "must be at least 18"),
        ("age", 20.5, "must be a whole number"),
        ("age", 20.0, ""),
        ("age", True, "must be a number"),
        ("rate", float("nan"), "must be a number"),
        ("sure", "yes", "must be true or false"),
        ("size", "xl", "is none of the choices"),
        ("days", [], "needs at least 1"),
        ("days", ["mo", "fr"], "has something that is none of the choices"),
        ("days", ["mo"], ""),
    ],
)
def test_a_value_that_does_not_fit_says_why(name: str, value: object, problem: str) -> None:
    found = forms.problems(SCHEMA, {"name": "Ada", "days": ["mo"]} | {name: value})
    assert found == ({name: problem} if problem else {})


@each(
    ("form", "good", "bad"),
    [("date", "2026-02-28", "2026-02-30"), ("date-time", "2026-02-28T10:00:00Z", "noon"), ("uri", "a:b", "nowhere")],
)
def test_formats_of_texts(form: str, good: str, bad: str) -> None:
    schema = {"properties": {"it": {"type": "string", "format": form}}}
    assert forms.problems(schema, {"it": good}) == {}
    assert forms.problems(schema, {"it": bad}).keys() == {"it"}


def test_only_what_the_form_asks_for_is_sent() -> None:
    content = {"name": "Ada", "age": 30.0, "mail": "", "rate": None, "secret": "x", "days": ["mo"]}
    assert forms.cleaned(SCHEMA, content) == {"name": "Ada", "age": 30, "days": ["mo"]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["type", "enum", "oneOf", "anyOf", "items", "default", "minLength", "minimum", "format", "title"]
)


@given(st.dictionaries(st.text(max_size=4), st.dictionaries(KEYS, JSON | st.sampled_from(["string", "array"]))), JSON)
def test_no_schema_breaks_the_form(properties: dict[str, Any], value: object) -> None:
    schema = {"properties": properties, "required": list(properties)[:1]}
    fields = forms.fields_asked(schema)
    assert len(fields) == len(properties)
    forms.problems(schema, dict.fromkeys(properties, value))


@given(JSON)
def test_no_answer_to_a_schema_of_any_shape_breaks_the_form(schema: Any) -> None:
    forms.fields_asked(schema if isinstance(schema, dict) else {"properties": schema, "required": schema})

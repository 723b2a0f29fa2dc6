"""Rules as people write them: what they may look like, and what they match."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.rules import RuleText, arguments_match, literal, parse_rule, speaks_of, tool_pattern
from tests.each import each


@each(
    ("text", "pattern", "arguments"),
    [
        ("files.*", "files.*", {}),
        (" files.write_file(path=docs/*) ", "files.write_file", {"path": "docs/*"}),
        ("git.commit( message = fix this , amend=false )", "git.commit", {"message": "fix this", "amend": "false"}),
        ('a.b(x="1, 2)", "odd name"=")")', "a.b", {"x": "1, 2)", "odd name": ")"}),
        ("a.b(x=)", "a.b", {"x": ""}),
        ('a.b(x="1", y=1, z="two")', "a.b", {"x": '"1"', "y": "1", "z": "two"}),
        ("odd.tool[(]x)", "odd.tool[(]x)", {}),
    ],
)
def test_a_rule_is_read(text: str, pattern: str, arguments: dict[str, str]) -> None:
    assert parse_rule(text) == RuleText(pattern, arguments)


@each(
    "text", ["", "  ", "(path=x)", "two words", "a.b(", "a.b(x)", "a.b(x=1", "a.b(x=1 y=2", 'a.b(x="1" 2)', 'a.b("x=1)']
)
def test_a_rule_that_cant_be_read_says_why(text: str) -> None:
    with pytest.raises(ValueError, match="“"):
        parse_rule(text)


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=3))
def test_a_rule_is_written_as_it_can_be_read_again(arguments: dict[str, str]) -> None:
    rule = RuleText("files.write_*", arguments)
    assert parse_rule(str(rule)) == rule


@given(st.text(min_size=1), st.text(min_size=1))
def test_the_rule_for_one_tool_matches_that_tool(server: str, tool: str) -> None:
    rule = parse_rule(tool_pattern(server, tool))
    assert speaks_of(rule.pattern, server, tool, strictly=True)
    assert not rule.arguments
    whole = parse_rule(tool_pattern(server))
    assert speaks_of(whole.pattern, server, tool, strictly=True)
    assert not speaks_of(whole.pattern, f"{server}.evil", tool, strictly=True)
    assert not speaks_of(rule.pattern, server, f"{tool}.evil", strictly=True)


def test_a_tool_called_star_does_not_allow_its_siblings() -> None:
    assert not speaks_of(tool_pattern("evil", "*"), "evil", "delete", strictly=True)
    assert not speaks_of(tool_pattern("evil", "?"), "evil", "x", strictly=True)


@each(
    ("pattern", "server", "tool", "allowed", "denied"),
    [
        ("calculator.*", "calculator", "add", True, True),
        ("calculator.*", "calculator", "trig.sin", True, True),
        ("calculator.*", "calculator.evil", "add", False, True),
        ("a.b.*", "a", "b.c", True, True),
        ("a.b.*", "a.b", "c", False, True),
        ("a[.]b.*", "a.b", "c", True, True),
        ("a[.]b.*", "a", "b.c", False, True),
        ("*", "a.b", "c", True, True),
        ("*.read_*", "a.b", "read_x", True, True),
        ("*.read_*", "a", "b.read_x", False, True),
        ("files", "files", "any", False, True),
        ("files*", "files", "any", True, True),
        ("*any", "x", "any", False, True),
        ("*any", "many", "x", False, True),
        ("files", "files.x", "any", False, False),
        ("files.l\u00f6sche", "files", "lo\u0308sche", False, True),
        ("fu\u0308r.*", "f\u00fcr", "any", False, True),
        ("files.Read", "files", "read", False, False),
    ],
)
def test_which_of_server_and_tool_a_dot_belongs_to_is_never_in_doubt_for_what_allows(
    pattern: str, server: str, tool: str, allowed: bool, denied: bool
) -> None:
    assert speaks_of(pattern, server, tool, strictly=True) is allowed
    assert speaks_of(pattern, server, tool, strictly=False) is denied


@each(
    ("glob", "value", "allowed", "denied"),
    [
        ("docs/*", "docs/a.md", True, True),
        ("docs/*", "docs/../secret", False, True),
        ("/etc/*", "/tmp/../etc/passwd", False, True),
        ("/etc/*", "//etc/passwd", False, True),
        ("/etc/*", "//etc/../tmp", False, False),
        ("docs/*", "docs\\..\\secret", False, False),
        ("secret/*", "docs\\..\\secret\\a", False, True),
        ("secret/*", "./secret//a", False, True),
        ("docs/*", ["docs/a", "src/b"], False, True),
        ("docs/*", ["docs/a", "docs/b"], True, True),
        ("*", [], True, True),
        ("true", True, True, True),
        ("3", 3, True, True),
        ('{"a": 1}', {"a": 1}, True, True),
        ("https://example.com/*", "https://example.com/a", True, True),
        ("https://example.com/*", "https://example.com/../evil", False, True),
        ("true", "true", False, True),
        ("true", "True", False, True),
        ("true", 1, False, True),
        ("true", " yes ", False, True),
        ("true", "T", False, True),
        ("false", "n", False, True),
        ("true", [[True]], False, True),
        ("true", False, False, False),
        ("true", "truest", False, False),
        ("false", 0, False, True),
        ("1", True, False, True),
        ("1", 1.0, True, True),
        ("1", "1", False, True),
        ("10", "1e1", False, True),
        ("1", 11, False, False),
        ('"1"', "1", True, True),
        ('"1"', 1, False, True),
        ("null", None, True, True),
        ("null", "null", False, True),
        ("rm *", ["rm", "-rf"], False, True),
        ("rm *", {"run": [["ls"], ["rm", "-rf"]]}, False, True),
        ("rm *", [["ls"]], False, False),
        ("[1, 2]", [1.0, 2], True, True),
        ('{"a": true}', {"a": 1}, False, False),
        ("x", ["y"] * 20_000, False, True),
        ("https://example.com/a/*", "https://example.com/a/%2e%2E/b", False, True),
        ("docs/*", "docs/100%", True, True),
        ("DROP *", "drop table users", False, True),
        ("drop *", "  DROP\n\ttable users", False, True),
        ("rm -rf *", "rm  -rf\t/", False, True),
        ("/etc/*", "/ETC/passwd", False, True),
        ("/etc/*", "file:///etc/passwd", False, True),
        ("/etc/*", "file:/tmp/../etc/passwd", False, True),
        ("/etc/*", "FILE://localhost/%65tc/passwd", False, True),
        ("/etc/*", "/%65tc/passwd", False, True),
        ("/etc/*", "profile:///etc/passwd", False, False),
        ("caf\u00e9/*", "cafe\u0301/menu", False, True),
        ("cafe\u0301/*", "caf\u00e9/menu", False, True),
        ("stra\u00dfe", "STRASSE", False, True),
        ("secret", "\uff53\uff45\uff43\uff52\uff45\uff54", False, True),
        ("secret", "secrets", False, False),
        ("[A-C]*", "bread", False, True),
    ],
)
def test_allowing_is_strict_and_denying_is_wide(glob: str, value: Any, allowed: bool, denied: bool) -> None:
    assert arguments_match({"x": glob}, {"x": value}, strictly=True) is allowed
    assert arguments_match({"x": glob}, {"x": value}, strictly=False) is denied


def test_a_number_that_no_text_holds_is_denied_and_never_allowed() -> None:
    for value in (10**5000, {"a": [10**5000]}):
        assert not arguments_match({"x": "1"}, {"x": value}, strictly=True)
        assert arguments_match({"x": "1"}, {"x": value}, strictly=False)


@each(
    ("path", "arguments", "allowed", "denied"),
    [
        ("edits.0.path", {"edits": [{"path": "docs/a"}, {"path": "src/b"}]}, True, True),
        ("edits.*.path", {"edits": [{"path": "docs/a"}, {"path": "src/b"}]}, False, True),
        ("edits.*.path", {"edits": [{"path": "docs/a"}, {"path": "docs/b"}]}, True, True),
        ("edits.path", {"edits": [{"path": "docs/a"}]}, False, True),
        ("edits.1.path", {"edits": [{"path": "docs/a"}]}, False, False),
        ("edits.0.path", {"edits": {"0": {"path": "docs/a"}}}, True, True),
        ("edits.0.path", {"edits": '[{"path": "docs/a"}]'}, False, True),  # can't be looked into
        ("edits.0.path", {"edits": None}, False, False),
        ("edits.0.path", {}, False, False),
        ("a.b", {"a.b": "docs/x"}, True, True),
        ("a.b", {"a.b": "docs/x", "a": {"b": "src"}}, False, True),
    ],
)
def test_a_value_within_another_is_named_by_its_path(
    path: str, arguments: dict[str, Any], allowed: bool, denied: bool
) -> None:
    assert arguments_match({path: "docs/*"}, arguments, strictly=True) is allowed
    assert arguments_match({path: "docs/*"}, arguments, strictly=False) is denied


_FORCE = {"type": "boolean", "default": True}
_TREE: dict[str, Any] = {"properties": {"force": _FORCE, "child": {"$ref": "#"}}}


@each(
    ("schema", "arguments", "denied"),
    [
        ({"properties": {"a": {"properties": {"force": _FORCE}}}}, {"a": {}}, True),
        ({"properties": {"a": {"properties": {"force": _FORCE}}}}, {"a": {"force": False}}, False),
        ({"properties": {"a": {"properties": {"force": _FORCE}}}}, {}, True),
        ({"properties": {"a": {"default": {"force": True}}}}, {}, True),
        ({"properties": {"a": {"default": {"force": True}}}}, {"a": {"force": False}}, False),
        ({"properties": {"a": {"default": {}, "properties": {"force": _FORCE}}}}, {}, True),
        ({"properties": {"a": {"default": {"force": False}, "properties": {"force": _FORCE}}}}, {}, False),
        ({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"properties": {"force": _FORCE}}}}, {}, True),
        ({"properties": {"a": {"anyOf": [{"type": "null"}, {"properties": {"force": _FORCE}}]}}}, {"a": {}}, True),
        ({"properties": {"a": {"items": {"properties": {"force": _FORCE}}}}}, {"a": [{"force": False}, {}]}, True),
        ({"properties": {"a": {"items": {"properties": {"force": _FORCE}}}}}, {"a": [{"force": False}]}, False),
        ({"properties": {"a": {"items": {"properties": {"force": _FORCE}}}}}, {"a": []}, False),
        ({"properties": {"a.force": _FORCE}}, {}, True),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, {}, False),
        ({"properties": {"a": _TREE}}, {}, True),
        ({"properties": {"a": {"$ref": "elsewhere.json"}, "b": 3}}, {}, False),
        ({"properties": [_FORCE]}, {}, False),
    ],
)
def test_a_default_of_what_a_call_leaves_out_is_denied_and_never_allowed(
    schema: dict[str, Any], arguments: dict[str, Any], denied: bool
) -> None:
    assert arguments_match({"a.force": "true"}, arguments, strictly=False, schema=schema) is denied
    assert not arguments_match({"a.force": "true"}, arguments, strictly=True, schema=schema)


def test_a_default_below_what_a_rule_names_is_denied_in_a_schema_that_holds_itself_too() -> None:
    assert arguments_match({"child": "true"}, {"child": {}}, strictly=False, schema=_TREE)
    assert not arguments_match({"child": "true"}, {"child": {"force": False}}, strictly=False, schema=_TREE)
    assert not arguments_match({"child": "true"}, {}, strictly=False, schema=_TREE)


def test_a_schema_that_branches_without_end_is_denied() -> None:
    wide: dict[str, Any] = {}
    for _ in range(8):
        wide = {"anyOf": [{"properties": {"a": wide}} for _ in range(20)]}
    path = ".".join("a" * 8)
    assert arguments_match({path: "true"}, {}, strictly=False, schema=wide)
    assert not arguments_match({path: "true"}, {}, strictly=True, schema=wide)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.text(), _VALUES)
def test_what_allows_matches_nothing_that_the_same_pattern_would_not_deny(pattern: str, value: Any) -> None:
    allowed = arguments_match({"x": pattern}, {"x": value}, strictly=True)
    assert not allowed or arguments_match({"x": pattern}, {"x": value}, strictly=False)


@given(st.text())
def test_the_pattern_for_one_text_matches_that_text_and_no_other_type(value: str) -> None:
    assert arguments_match({"x": literal(value)}, {"x": value}, strictly=True)
    for other in (1, True, False, None, 0):
        assert not arguments_match({"x": literal(value)}, {"x": other}, strictly=True)

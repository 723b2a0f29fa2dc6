"""Rules as people write them: what they may look like, and what they match."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.rules import RuleText, argument_matches, exact, parse_rule


@pytest.mark.parametrize(
    ("text", "pattern", "arguments"),
    [
        ("files.*", "files.*", {}),
        (" files.write_file(path=docs/*) ", "files.write_file", {"path": "docs/*"}),
        ("git.commit( message = fix this , amend=false )", "git.commit", {"message": "fix this", "amend": "false"}),
        ('a.b(x="1, 2)", "odd name"=")")', "a.b", {"x": "1, 2)", "odd name": ")"}),
        ("a.b(x=)", "a.b", {"x": ""}),
        ("odd.tool[(]x)", "odd.tool[(]x)", {}),
    ],
)
def test_a_rule_is_read(text: str, pattern: str, arguments: dict[str, str]) -> None:
    assert parse_rule(text) == RuleText(pattern, arguments)


@pytest.mark.parametrize(
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
    label = f"{server}.{tool}"
    rule = parse_rule(exact(label))
    assert fnmatchcase(label, rule.pattern)
    assert not rule.arguments


def test_a_tool_called_star_does_not_allow_its_siblings() -> None:
    assert not fnmatchcase("evil.delete", exact("evil.*"))
    assert not fnmatchcase("evil.x", exact("evil.?"))


@pytest.mark.parametrize(
    ("glob", "value", "allowed", "denied"),
    [
        ("docs/*", "docs/a.md", True, True),
        ("docs/*", "docs/../secret", False, True),
        ("/etc/*", "/tmp/../etc/passwd", False, True),
        ("docs/*", "docs\\..\\secret", False, False),
        ("docs/*", ["docs/a", "src/b"], False, True),
        ("docs/*", ["docs/a", "docs/b"], True, True),
        ("*", [], True, True),
        ("true", True, True, True),
        ("3", 3, True, True),
        ('{"a": 1}', {"a": 1}, True, True),
        ("https://example.com/*", "https://example.com/a", True, True),
        ("https://example.com/*", "https://example.com/../evil", False, True),
    ],
)
def test_allowing_is_strict_and_denying_is_wide(glob: str, value: Any, allowed: bool, denied: bool) -> None:
    assert argument_matches(glob, value, strictly=True) is allowed
    assert argument_matches(glob, value, strictly=False) is denied

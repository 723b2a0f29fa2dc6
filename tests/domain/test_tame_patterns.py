"""Patterns that strangers wrote: the plain ones are matched, those that could take for ever are not."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.schema.forms import Field
from console_app.domain.schema.tame_patterns import matches
from tests.each import each


@each(
    ("pattern", "value", "found"),
    [
        (r"^[A-Z]{3}-\d+$", "ABC-12", True),
        (r"^[A-Z]{3}-\d+$", "abc", False),
        (r"^[\w.]+@[\w.]+\.[a-z]{2,}$", "ada@example.org", True),
        (r"^(?:\+49)?\d*$", "+49170", True),
        (r"^(red|green)$", "blue", False),
        (r"[+*(]", "+", True),
    ],
)
def test_plain_patterns_are_matched(pattern: str, value: str, found: bool) -> None:
    assert matches(pattern, value) is found


@each(
    "pattern",
    [
        *(
            r"(a+)+$",
            r"(a|a)*$",
            r"(a*)*b",
            r"((a+))+",
            r"(.*a){20}",
            r"a*a*a*a*b",
            r"(a+)\1+",
            r"(?:a+){2,}",
            "(",
            "[",
        ),
        *(r"(?P<x>a+)(?P=x)", r"[a]+[b]+[c]+[d]+", "a?" * 60 + "a" * 60, "(a?){60}b", "(a|a)" * 60),
    ],
)
def test_what_could_take_for_ever_or_is_no_pattern_is_not_tried(pattern: str) -> None:
    assert matches(pattern, "a" * 60 + "!") is None


def test_a_long_value_is_not_tried() -> None:
    assert matches("a+b", "a" * 10_000) is None


def test_a_form_with_such_a_pattern_leaves_the_judgement_to_its_server() -> None:
    assert Field("f", "text", schema={"pattern": r"(a+)+$"}).problem("a" * 40 + "!") == ""


@given(st.text(alphabet="ab+*?{}2,()|[]\\^$.", max_size=14), st.text(alphabet="ab!", max_size=60))
def test_any_pattern_gives_an_answer_in_time_and_the_right_one(pattern: str, value: str) -> None:
    found = matches(pattern, value)
    if found is not None:
        assert found == (re.search(pattern, value) is not None)

"""Arguments as lines: nothing in a value looks like a name, a mark or a line of ours, and what changed is marked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from console_app.domain.displayed import argument_lines, difference_lines, hidden_characters
from console_app.domain.safe_text import is_safe
from console_app.tui.asking.approval_board import rows
from console_app.tui.asking.arguments_editor import written

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.text(), VALUES, max_size=4)


@given(ARGUMENTS, st.integers(20, 120))
def test_every_row_fits_and_is_safe(arguments: dict[str, object], width: int) -> None:
    for row in rows(argument_lines(arguments), width):
        assert cell_len(row.name) + cell_len(row.text) + 5 <= width + max(24, 8)
        assert is_safe(row.text)
        assert is_safe(row.name)
        assert "\n" not in row.text + row.name
        assert not (row.name and row.wrapped)


def test_a_value_can_not_look_like_another_argument() -> None:
    shown = argument_lines({"a": "x\npath  │ safe.txt", "path": "/etc/passwd"})
    assert [(line.name, line.text) for line in shown] == [
        ("a", "x"),
        ("", "path  │ safe.txt"),
        ("path", "/etc/passwd"),
    ]
    wrapped = rows(argument_lines({"a": "x" * 8 + "path  safe"}), 14)
    assert [(row.name, row.text, row.wrapped) for row in wrapped] == [
        ("a", "xxxxxxxx", False),
        ("", "path  sa", True),
        ("", "fe", True),
    ]


def test_what_cant_be_seen_is_told_and_survives_editing() -> None:
    assert hidden_characters({"a": {"b": ["\u202e"]}})
    assert hidden_characters({"\u200b": 1})
    assert not hidden_characters({"a": "line\nline\t"})
    assert written({"a": "x\u202ey"}) == '{\n  "a": "x\\u202ey"\n}'


@given(st.text(), st.integers(20, 120))
def test_any_difference_is_rows_that_fit_and_are_safe(difference: str, width: int) -> None:
    for row in rows(difference_lines(difference), width):
        assert cell_len(row.name) + cell_len(row.text) + 5 <= width + 24
        assert is_safe(row.text + row.name)
        assert "\n" not in row.text + row.name


def test_a_difference_keeps_its_marks_and_loses_its_headers() -> None:
    lines = difference_lines("--- trusted\n+++ now\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n@@ -9 +9 @@\n-x\n[…]")
    assert [(line.mark, line.text) for line in lines] == [
        *((" ", "same"), ("-", "old"), ("+", "new"), (" ", "⋯"), ("-", "x"), (" ", "[…]")),
    ]
    assert [line.name for line in lines] == ["what it is", "", "", "", "", ""]

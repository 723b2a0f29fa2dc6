"""A text may seem to be a call that was lost, where tools are named by words that answers are full of."""

from __future__ import annotations

from console_app.textcalls import ToolSignature, parse
from console_app.textcalls.mentions import IS_CODE, MISSPELT, NO_SUCH, unread
from tests.each import each

TOOLS = ["python", "run", "search", "get", "files_read_file", "readFile"]
ORDINARY = [
    "name: run\ndescription: builds it\ninputs:\n  path:\n    required: true\n",
    "```yaml\ncontainers:\n- image: x\n  command: python\n  args: [-m, http.server]\n```",
    "Method: GET\nParameters: none",
    "Search: get\n{",
    "type: get >",
    "route: get\n<div>",
    "<tools>\n<tool>get</tool>\n</tools>",
]
LOST = [
    ("Acton: search\nAction Input: words", "search", MISSPELT),
    ("<functon=get><parameter=url>x</parameter></functon>", "get", MISSPELT),
    ("<tol: files_read_file>", "files_read_file", MISSPELT),
    ("do: readFile\nargs: x", "readFile", MISSPELT),
    ('{"name": "serch", "arguments": {"query": "x"}}', "search", NO_SUCH),
    ('{"name": "read_fil", "path": "x"}', "readFile", NO_SUCH),
    ("python(1)", "python", IS_CODE),
]
ENDS = {
    "a header whose recipient is broken": (
        'o=functions.search<|channel|>commentary<|message|>{"q": 1}<|call|>',
        "<|call|>",
    ),
    "a tag of a tool whose opening is broken": (
        "<files_<x>a.py</path>\n</files_read_file>\nThen more.",
        "</files_read_file>",
    ),
}


@each("text", ORDINARY)
def test_settings_and_lists_with_the_name_of_a_tool_are_no_call(text: str) -> None:
    assert unread(text, TOOLS) is None
    assert parse(text, [ToolSignature(name) for name in TOOLS]).problems == ()


def test_people_with_the_name_of_a_tool_are_no_call() -> None:
    assert unread('[{"name": "Python", "age": 35}, {"name": "Rust", "age": 11}]', TOOLS) is None


@each(("text", "name", "why"), LOST)
def test_a_call_of_a_tool_with_such_a_name_is_told_of(text: str, name: str, why: str) -> None:
    found = unread(text, TOOLS)
    assert found is not None
    assert (found.name, found.message) == (name, f"Not taken as a call: {why}.")


@each(("text", "end"), ENDS.values(), ids=ENDS.keys())
def test_the_end_of_a_call_that_was_not_read_is_told_of_unless_it_is_code(text: str, end: str) -> None:
    found = unread(text, TOOLS)
    assert found is not None
    assert found.message == f"The answer holds the end of a call ({end}) and no call."
    assert unread(f"Write `{end}` at its end.", TOOLS) is None
    assert unread(f"```\n{text}\n```", TOOLS) is None

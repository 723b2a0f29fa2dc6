"""`fanout parse` answers with the calls of a text."""

import json

import pytest

from console_app.commands.parse import UnusableInput, report_line, report_text, signatures
from tests.each import each
from tests.textcalls.answers import CORPUS, identical
from tests.textcalls.answers import TOOLS as READERS

TOOLS = [{"name": "ping", "parameters": {"type": "object", "properties": {}}}]


def test_a_text_is_answered_with_its_calls_its_words_and_its_problems() -> None:
    text = 'Hello:\n<tool_call>{"name": "ping"}</tool_call>\n<tool_call>\n{bad}\n</tool_call>'
    answer = report_text(text, signatures(TOOLS))
    assert [(one["name"], one["arguments"], one["form"]) for one in answer["calls"]] == [("ping", {}, "hermes_json")]
    assert answer["content"] == "Hello:"
    assert answer["error"] == "invalid"
    assert answer["dialect"] == "hermes_json"
    assert [one.split(": ")[1] for one in answer["problems"]] == ["asks", "invalid"]
    assert answer["problems"][1].startswith("line 4, column 1: invalid: ")
    assert json.loads(json.dumps(answer)) == answer


def test_every_case_of_the_corpus_is_answered_by_its_line() -> None:
    for case in CORPUS:
        answer = report_line(json.dumps(case), chunk=11)
        assert answer["id"] == case["id"]
        calls = [{key: one[key] for key in ("name", "arguments")} for one in answer["calls"]]
        assert identical(calls, case["expected"]["calls"])
        assert answer["error"] == case["expected"]["error"]


@each("line", ["", "{", "[]", "3", '{"id": 7}', '{"id": 7, "text": "x", "tools": 5}', "[" * 100_000])
def test_a_line_that_is_no_case_is_answered_with_what_is_wrong(line: str) -> None:
    answer = report_line(line)
    assert answer["error"] == "invalid"
    assert len(answer["problems"]) == 1


def test_tools_may_be_written_as_openai_or_mcp_do() -> None:
    openai = [{"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}]
    mcp = [{"name": "b", "inputSchema": {"type": "object"}}]
    assert [tool.name for tool in signatures([*openai, *mcp])] == ["a", "b"]


@each("tools", [{}, [3], [{"parameters": {}}], [{"name": "a", "parameters": []}]])
def test_tools_of_another_form_are_refused_with_a_reason(tools: object) -> None:
    with pytest.raises(UnusableInput):
        signatures(tools)


@each(
    ("text", "told"),
    [
        ('{"path": "a"}\n</tool_call>', "the end of a call"),
        ("<functon=read_file><parameter=path>a</parameter></functon>", "not written as in any dialect"),
        (r"\<function=read\_file>\<parameter=path>a\</parameter>\</function>", "not written as in any dialect"),
        ("A </tool_call> ends a call.", ""),
    ],
)
def test_what_only_seems_to_be_a_call_is_among_the_problems(text: str, told: str) -> None:
    answer = report_text(text, READERS)
    assert answer["calls"] == []
    assert [told in problem for problem in answer["problems"]] == [True] * bool(told)

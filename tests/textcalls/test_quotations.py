"""A call that is quoted runs at no level, in whatever way people quote, singly and one in another."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.textcalls import DIALECTS, ReadingLevel, parse, render_calls
from console_app.textcalls.dialects.table import BY_NAME
from console_app.textcalls.model import ScanResult
from tests.each import each
from tests.textcalls.answers import TOOLS, watched
from tests.textcalls.quotations import LEADS, MACHINES, Machine


@dataclass(frozen=True)
class Written:
    """A call as it is written."""

    name: str
    arguments: dict[str, Any]


CALL = Written("read_file", {"path": "a b"})
CALLS = {row.name: render_calls(row.name, [CALL], TOOLS) for row in DIALECTS if row.form is not None}
ALIKE = [
    {"a fence", "a fence with a language", "a longer fence", "a fence of a transcript", "a fence with a title"},
    {"low quotation marks", "low quotation marks around a block", "curly quotation marks"}
    | {"curly quotation marks around a block"},
    {"quotation marks", "quotation marks on lines", "quotation marks around a block"},
    {"a quotation with a name", "a field of CSV"},
    {"rules with words", "armour", "scissors", "a forwarded message"},
    {"single quotation marks", "three single quotation marks", "a text of TOML"},
    {"single quotation marks", "a here document", "a here document with another word"},
    {name for name, machine in MACHINES.items() if "\n---\n" in machine("")},
]
"""Where one of them stands in another, it ends the other."""
LEVELS: list[ReadingLevel] = ["marked", "all"]


def runs_unasked(result: ScanResult, level: ReadingLevel) -> bool:
    """Whether a call would run without a person's approval: in `auto` what is unmarked always asks."""
    return any(not call.asks and (call.marked or level == "all") for call in result.calls)


@each("level", LEVELS)
@each("machine", MACHINES.values(), ids=MACHINES.keys())
def test_a_quoted_call_of_any_dialect_does_not_run(machine: Machine, level: ReadingLevel) -> None:
    for dialect, call in CALLS.items():
        text = machine(call)
        assert not runs_unasked(parse(text, TOOLS, level=level), level), f"{dialect}:\n{text}"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("between", ["", "\n", "\n\n"], ids=["nothing", "a line break", "a blank line"])
def test_no_quoted_call_runs_where_several_stand_one_behind_the_other(between: str, level: ReadingLevel) -> None:
    for name, machine in MACHINES.items():
        for dialect in sorted(MARKED):
            text = machine(CALLS[dialect].strip("\n") + between + CALLS[dialect])
            result = parse(text, TOOLS, level=level)
            assert all(one.asks or not one.known for one in result.calls), f"{name}, {dialect}:\n{text}"


@each("machine", LEADS.values(), ids=LEADS.keys())
def test_a_call_that_is_led_to_as_to_a_quotation_asks(machine: Machine) -> None:
    for dialect, call in CALLS.items():
        text = machine(call)
        result, _, _ = watched(text, TOOLS, [9], level="marked")
        assert not runs_unasked(result, "marked"), f"{dialect}:\n{text}"
        assert all("maybe quoted" in call.asks for call in result.calls)
        told = [problem for problem in result.problems if problem.name]
        assert result.calls or told or not BY_NAME[dialect].marked, f"{dialect} is lost"


@given(
    dialect=st.sampled_from(sorted(CALLS)),
    inner=st.sampled_from(sorted(MACHINES)),
    outer=st.sampled_from(sorted(MACHINES)),
    level=st.sampled_from(LEVELS),
    size=st.integers(1, 40),
)
def test_a_quotation_in_a_quotation_runs_nothing_in_any_pieces(
    dialect: str, inner: str, outer: str, level: ReadingLevel, size: int
) -> None:
    if inner == outer or any({inner, outer} <= alike for alike in ALIKE):
        return
    text = MACHINES[outer](MACHINES[inner](CALLS[dialect]))
    result, _, _ = watched(text, TOOLS, [size], level=level)
    assert not runs_unasked(result, level)
    assert result == parse(text, TOOLS, level=level)


def test_three_quotation_marks_do_not_end_a_quotation() -> None:
    text = f'It says "text = """\n{CALLS["hermes_json"]}\n"""" there.'
    assert parse(text, TOOLS, level="marked").calls == ()


@each("outer", sorted(MACHINES))
def test_a_block_of_textile_stays_one_in_any_other_quotation(outer: str) -> None:
    for inner in ("a quotation of Textile", "a long block of code of Textile"):
        text = MACHINES[outer](MACHINES[inner](CALLS["anthropic_invoke"]))
        assert not runs_unasked(parse(text, TOOLS, level="marked"), "marked"), text


@pytest.mark.parametrize("level", LEVELS)
def test_a_call_of_python_within_a_line_is_told_of(level: ReadingLevel) -> None:
    result = parse('I will do that now.[read_file(path="a")]', TOOLS, level=level)
    assert (result.calls, [problem.name for problem in result.problems]) == ((), ["read_file"])


@pytest.mark.parametrize("machine", ["quotation marks", "a fence", "inline code", "a list", "details"])
def test_a_quoted_call_of_a_tool_that_exists_is_told_of(machine: str) -> None:
    result = parse(MACHINES[machine](CALLS["hermes_json"].replace("\n", " ")), TOOLS, level="marked")
    assert [problem.name for problem in result.problems] == ["read_file"]


@each(
    "text",
    [
        "Sure. {}",
        "I said “yes”. {}",
        "It's the dog's «bone».\n{}",
        'A 5" nail.\n{}',
        "> quoted\n\nI answer:\n{}",
        "- one\n- two\n{}",
        "Use <b>bold</b>.\n{}",
        "`<pre>` is an element.\n{}",
        "The tests fail.\n\n{}\n",
        "I'll look\n{}",
        "See src/*.py and vector<int>.\n{}",
        "<answer>\n{}\n</answer>",
        "I'll look it up:\n{}",
        "The page is long. Let me read it:\n\n{}",
        "**Let me read it:**\n{}",
        "Ich lese die Datei:\n{}",
        "让我查一下：\n{}",
        "I read:\n\n---\n\nNothing yet. I try again.\n{}",
        "It is done.\n\n---\n\nI go on.\n\n{}\n",
        "Sure! {}",
        "(It is here.) {}",
        "[1] It is here [2].\n{}",
        "Title\n=====\n\nI look.\n{}",
        "| a |\n|---|\n| b |\n\nI look.\n{}",
    ],
)
def test_what_only_looks_like_a_quotation_hides_no_call(text: str) -> None:
    assert [call.asks for call in parse(text.format(CALLS["hermes_json"]), TOOLS, level="marked").calls] == [""]


@pytest.mark.parametrize("text", ['if (x) {{ name: "ping", arguments: {{}} }}', '{{ name: "ping", arguments: {{}} }}'])
def test_an_object_of_javascript_is_no_call(text: str) -> None:
    assert parse(text.format(), TOOLS).calls == ()


def test_definitions_that_are_echoed_are_no_calls() -> None:
    assert parse('<tools>\n{"name": "ping", "parameters": {}}\n</tools>', TOOLS).calls == ()


@pytest.mark.parametrize("dialect", ["hermes_json", "qwen3_coder_xml", "fenced_json", "roo_xml", "longcat", "kimi_k2"])
def test_what_reasoning_may_still_take_back_is_provisional(dialect: str) -> None:
    result, _, _ = watched(f"{CALLS[dialect]}\nno\n</think>\nDone.", TOOLS, [3])
    assert (result.calls, result.content) == ((), "Done.")


MARKED = {"hermes_json", "qwen3_coder_xml", "anthropic_invoke", "glm45", "gemma4", "lfm2", "kimi_k2", "mistral_json"}


WORDS = [" and so on.", ". Then it stops.", ", as the page says", " — no"]


@each("after", [*WORDS, " <!-- page -->", " <- here", " [1]"])
@each("before", ["", "Sure. "])
@each("dialect", sorted(MARKED & CALLS.keys()))
def test_a_marked_call_with_words_after_it_on_its_line_is_part_of_a_sentence(
    dialect: str, before: str, after: str
) -> None:
    text = f"{before}{CALLS[dialect]}{after}"
    for level in LEVELS:
        result, screen, _ = watched(text, TOOLS, [5], level=level)
        assert (result.calls, screen.panels) == ((), {})
        assert [problem.name for problem in result.problems] == ["read_file"]
        assert "a b" in screen.text
        assert screen.text.endswith(after)


UNMARKED = ["bare_json_lines", "bare_json_array", "llama3_json", "openai_shape", "nested_function", "roo_xml"]


@each("after", WORDS)
@each("dialect", UNMARKED)
def test_so_is_an_unmarked_one(dialect: str, after: str) -> None:
    result, screen, _ = watched(f"{CALLS[dialect]}{after}", TOOLS, [5])
    assert (result.calls, screen.panels) == ((), {})
    assert [problem.name for problem in result.problems] == ["read_file"]
    assert screen.text == f"{CALLS[dialect]}{after}"


@pytest.mark.parametrize("dialect", ["gemma4", "lfm2"])
def test_text_right_after_the_token_that_ends_a_call_is_what_the_model_says_next(dialect: str) -> None:
    result, _, _ = watched(f"{CALLS[dialect]}Done, as asked.", TOOLS, [2])
    assert (len(result.calls), result.content) == (1, "Done, as asked.")


def test_a_value_that_holds_a_whole_call_and_words_after_it_goes_on() -> None:
    quoted = f"{CALLS['qwen3_coder_xml'].strip()} and so on."
    text = render_calls("qwen3_coder_xml", [Written("write_file", {"path": "a", "content": quoted})], TOOLS)
    result, _, _ = watched(text, TOOLS, [7], level="marked")
    assert [call.arguments for call in result.calls] == [{"path": "a", "content": quoted}]

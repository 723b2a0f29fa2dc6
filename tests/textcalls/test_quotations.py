"""A call that is quoted runs at no level, in whatever way people quote, singly and one in another."""

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.textcalls import FAMILIES, ReadingLevel, parse, render_calls, unread
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
CALLS = {name: render_calls(name, [CALL], TOOLS) for name in FAMILIES}
MARKED_CALLS = {name: CALLS[name] for name, family in FAMILIES.items() if family.marked}
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
    """Tell whether a call would run without a person's approval: in `auto` what is unmarked always asks."""
    return any(not call.asks and (call.marked or level == "all") for call in result.calls)


@each("machine", MACHINES)
def test_a_quoted_call_of_any_dialect_does_not_run(machine: str) -> None:
    """A dialect without markers is read at level `all` alone; the others take turns at both."""
    for number, (dialect, call) in enumerate(CALLS.items(), list(MACHINES).index(machine)):
        level = LEVELS[number % 2] if dialect in MARKED_CALLS else "all"
        text = MACHINES[machine](call)
        assert not runs_unasked(parse(text, TOOLS, level=level), level), f"{dialect}:\n{text}"


@each("level", LEVELS)
@each("between", ["", "\n", "\n\n"], ids=["nothing", "a line break", "a blank line"])
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
        assert all("maybe quoted" in (call.asks or "") or not call.marked for call in result.calls)
        told = [problem for problem in result.problems if problem.name]
        assert result.calls or told or dialect not in MARKED_CALLS, f"{dialect} is lost"


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


@each("machine", MACHINES.values(), ids=MACHINES.keys())
def test_a_quoted_call_of_a_tool_that_exists_asks_or_is_told_of(machine: Machine) -> None:
    text = machine(CALLS["hermes_json"].replace("\n", " "))
    result = parse(text, TOOLS, level="marked")
    told = [problem.name for problem in result.problems if problem.name] or unread(text, ["read_file"])
    assert result.calls or told or "\\" in text


LEADING = {
    "I said “yes” to it.\n{}": "",
    "It's the dog's «bone».\n{}": "",
    "> quoted\n\nI answer.\n{}": "",
    "- one\n- two\n\nI look now.\n{}": "",
    "Use <b>bold</b> here.\n{}": "",
    "`<pre>` is an element.\n{}": "",
    "The tests fail.\n\n{}\n": "",
    "See src/*.py and vector<int>.\n{}": "",
    "**I read it now.**\n{}": "",
    "Ich lese die Datei.\n{}": "",
    "让我查一下。\n{}": "",
    "I read it.\n\n---\n\nI go on.\n\n{}\n": "",
    "(It is here.)\n{}": "",
    "Sure. {}": "other text stands before it on its line",
    "I'll look\n{}": "the line before it is no whole sentence",
    "I'll look it up:\n{}": "the line before it is no whole sentence",
    "Zum Beispiel:\n{}": "the line before it is no whole sentence",
    ".. code::\n\n{}": "the line before it is no whole sentence",
    "Sure.\n{}": "",
    "e.g.\n{}": "the line before it is no whole sentence",
    "<answer>\nI look now.\n{}": "it stands in an element that is open",
    "<do-not-run>I look now.\n{}": "it stands in an element that is open",
    "I look now.\n  {}": "it is indented",
}
"""Why a call that ends an answer behind such a text asks, where nobody knows how its model writes."""


@each(("text", "why"), LEADING.items(), ids=LEADING.keys())
@each("level", LEVELS)
def test_what_leads_to_a_call_makes_it_ask_unless_it_is_whole_sentences(
    text: str, why: str, level: ReadingLevel
) -> None:
    call = CALLS["hermes_json"]
    read = [one.asks for one in parse(text.format(call), TOOLS, level=level).calls]
    assert read == [f"maybe quoted: {why}" if why else None]


BEHIND = [
    "</do-not-run>",
    "\n</do-not-run>",
    "\u200b",
    "\n\u202e",
    "\u2066x",
    " and so on.",
    ". Then it stops.",
    "\nThen.",
]


@each("behind", BEHIND, ids=ascii)
@each("level", LEVELS)
def test_whatever_stands_behind_a_marked_call_makes_it_ask(behind: str, level: ReadingLevel) -> None:
    for dialect, call in MARKED_CALLS.items():
        result, _, _ = watched(call.rstrip() + behind, TOOLS, [5], level=level)
        assert [one.asks for one in result.calls] == ["maybe quoted: text follows it"], dialect


@each("text", ['if (x) {{ name: "ping", arguments: {{}} }}', '{{ name: "ping", arguments: {{}} }}'])
def test_an_object_of_javascript_is_no_call(text: str) -> None:
    assert parse(text.format(), TOOLS).calls == ()


def test_definitions_that_are_echoed_are_no_calls() -> None:
    assert parse('<tools>\n{"name": "ping", "parameters": {}}\n</tools>', TOOLS).calls == ()


@each("dialect", ["hermes_json", "qwen3_coder_xml", "fenced_json", "roo_xml", "longcat", "kimi_k2"])
def test_what_reasoning_may_still_take_back_is_provisional(dialect: str) -> None:
    result, _, _ = watched(f"{CALLS[dialect]}\nno\n</think>\nDone.", TOOLS, [3])
    assert (result.calls, result.content) == ((), "Done.")


MARKED = {"hermes_json", "qwen3_coder_xml", "anthropic_invoke", "glm45", "gemma4", "lfm2", "kimi_k2", "mistral_json"}


WORDS = [" and so on.", ". Then it stops.", ", as the page says", " — no"]


UNMARKED = ["bare_json_lines", "bare_json_array", "llama3_json", "openai_shape", "nested_function"]


@each("after", WORDS)
@each("dialect", UNMARKED)
def test_an_unmarked_call_asks_with_words_after_it_on_its_line_and_is_text_between_words(
    dialect: str, after: str
) -> None:
    result, _, _ = watched(f"{CALLS[dialect]}{after}", TOOLS, [5])
    assert [one.asks for one in result.calls] == ["maybe quoted: it is part of a sentence"]
    text = f"It is {CALLS[dialect]}{after}"
    result, screen, _ = watched(text, TOOLS, [5])
    assert (result.calls, screen.panels, screen.text) == ((), {}, text)
    assert [problem.name for problem in result.problems] == ["read_file"]


@each("dialect", ["gemma4", "lfm2"])
def test_text_right_after_the_token_that_ends_a_call_is_what_the_model_says_next(dialect: str) -> None:
    result, _, _ = watched(f"{CALLS[dialect]}Done, as asked.", TOOLS, [2])
    assert (len(result.calls), result.content) == (1, "Done, as asked.")


def test_a_value_that_holds_a_whole_call_and_words_after_it_goes_on() -> None:
    quoted = f"{CALLS['qwen3_coder_xml'].strip()} and so on."
    text = render_calls("qwen3_coder_xml", [Written("write_file", {"path": "a", "content": quoted})], TOOLS)
    result, _, _ = watched(text, TOOLS, [7], level="marked")
    assert [call.arguments for call in result.calls] == [{"path": "a", "content": quoted}]

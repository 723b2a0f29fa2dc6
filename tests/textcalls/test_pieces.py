"""An answer reads the same in any pieces, whatever it is a mixture of; and what was called final stays."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console_app.textcalls import ParsedCall, ReadingLevel, Scanner, render_calls
from console_app.textcalls.framing import DEPTH_CAP
from console_app.textcalls.model import CallFinal, ScanResult
from console_app.textcalls.openers import KIND_OF
from tests.each import each
from tests.textcalls.answers import CORPUS, TOOLS, tools_of
from tests.textcalls.quotations import MACHINES
from tests.textcalls.test_quotations import CALLS, LEVELS

ENDS = "</parameter>\n</function>\n</tool_call>"
GLUE = [
    "\n",
    "\n\n",
    "",
    " ",
    "\nI wait.\n",
    "</think>",
    " and so on.",
    "\n(END)\n",
    "\n---\n",
    "```\n",
    "\n> ",
    '"',
    ENDS,
]


def read(
    text: str, size: int, level: ReadingLevel, thought: bool, tools: Any = TOOLS
) -> tuple[ScanResult, dict[int, ParsedCall]]:
    """The result of reading in pieces of `size`, and the calls that were final before the end."""
    scanner, final = Scanner(tools, level=level), dict[int, ParsedCall]()
    if thought:
        scanner.reasoned("I think.")
    for start in range(0, len(text), size):
        for event in scanner.feed(text[start : start + size]):
            if isinstance(event, CallFinal):
                assert event.call.index not in final, "a call is final once"
                final[event.call.index] = event.call
    return scanner.finish(), final


def check(text: str, size: int, level: ReadingLevel, thought: bool, tools: Any = TOOLS) -> None:
    result, final = read(text, size, level, thought, tools)
    assert result == read(text, len(text) + 1, level, thought, tools)[0]
    assert final.items() <= {call.index: call for call in result.calls}.items()


@st.composite
def mixtures(draw: st.DrawFn) -> str:
    """Calls of some dialects one after the other: quoted, cut, with other marks between them or in them."""
    dialects = draw(st.lists(st.sampled_from(sorted(CALLS)), min_size=1, max_size=2))
    parts: list[str] = []
    for _ in range(draw(st.integers(1, 5))):
        call = CALLS[draw(st.sampled_from(dialects))]
        at = draw(st.integers(0, len(call)))
        match draw(st.sampled_from(["whole", "whole", "whole", "cut", "rest", "quoted", "with a mark", "mark"])):
            case "cut":
                call = call[:at]
            case "rest":
                call = call[at:]
            case "quoted":
                call = MACHINES[draw(st.sampled_from(sorted(MACHINES)))](call)
            case "with a mark":
                call = call[:at] + draw(st.sampled_from(sorted(KIND_OF) + GLUE)) + call[at:]
            case "mark":
                call = draw(st.sampled_from(sorted(KIND_OF)))
            case _:
                pass
        parts += [draw(st.sampled_from(GLUE)), call]
    return "".join((*parts[draw(st.integers(0, 1)) :], draw(st.sampled_from(GLUE))))


@settings(max_examples=400)
@given(text=mixtures(), size=st.integers(1, 40), level=st.sampled_from(LEVELS), thought=st.booleans())
def test_a_mixture_of_calls_reads_the_same_in_any_pieces(
    text: str, size: int, level: ReadingLevel, thought: bool
) -> None:
    check(text, size, level, thought)


@settings(max_examples=400)
@given(
    case=st.sampled_from(CORPUS),
    at=st.floats(0, 1),
    cut=st.integers(0, 12),
    put=st.sampled_from([*sorted(KIND_OF), *GLUE, ""]),
    size=st.integers(1, 40),
    level=st.sampled_from(LEVELS),
    thought=st.booleans(),
)
def test_a_damaged_case_reads_the_same_in_any_pieces(
    case: dict[str, Any], at: float, cut: int, put: str, size: int, level: ReadingLevel, thought: bool
) -> None:
    place = int(at * len(case["text"]))
    text = case["text"][:place] + put + case["text"][place + cut :]
    check(text, size, level, thought, tools_of(case))


P = '{"name": "read_file", "arguments": {"path": "a b"}}'
QWEN = CALLS["qwen3_coder_xml"].strip()
KIMI = CALLS["kimi_k3_xtml"]
TOLD = {
    "a quotation mark behind a call that is part of a sentence": CALLS["claude2_invoke"].strip() + '"',
    "a value that goes on between bars": f"{KIMI}\nl{KIMI[20:]}Then.",
    "a value that goes on in brackets": CALLS["minimax_m3"] + CALLS["minimax_m3"][-60:],
    "a call that waited for being alone": f"{P} {{% raw %}}\n<tool_call>{P}</tool_call>\n{{% endraw %}}\n(END)\n",
    "a call of a tool without parameters in a value": "<invoke><tool_name>e</tool_name><s>a\n<invoke>\n<tool_name>"
    "read_file</tool_name>\n<parameteh></parameter></invoke>",
    "a mark in the first key of an object": '{"nafunctoolsme": "ping", "parameters": {"city<|eot_id|>>',
    "a longer value and another call": f"\n{QWEN}\n/function>\n</tool_call>{ENDS}{QWEN}\n- ",
}


@each("text", TOLD.values(), ids=TOLD.keys())
@each("thought", [False, True])
@each("level", LEVELS)
@each("size", [1, 2, 3, 7, 40])
def test_what_was_once_read_otherwise_in_pieces(text: str, size: int, level: ReadingLevel, thought: bool) -> None:
    check(text, size, level, thought)


def test_a_call_that_became_part_of_a_sentence_does_not_go_on() -> None:
    text = f"Sure. {QWEN} {CALLS['qwen3_coder_xml']} and so on.{ENDS}"
    for size in (1, 7, 1000):
        assert read(text, size, "marked", thought=True)[0].calls == ()


RAW = ["qwen3_coder_xml", "glm45", "minimax_m2", "anthropic_invoke", "seed_oss", "deepseek_v32_dsml", "kimi_k3_xtml"]


@pytest.mark.parametrize("dialect", RAW)
def test_a_call_with_raw_values_is_final_once_the_next_one_was_read(dialect: str) -> None:
    scanner, call = Scanner(TOOLS, level="marked"), CALLS[dialect]
    scanner.reasoned("I think.")
    text, final = f"{call}\n" * 3 + "Then I wait. " * 20, list[tuple[int, int]]()
    for at, char in enumerate(text):
        final += [(at, event.call.index) for event in scanner.feed(char) if isinstance(event, CallFinal)]
    assert [index for _, index in final] == [0, 1]
    for at, index in final:
        assert at < (index + 2) * (len(call) + 1) + 80
    assert len(scanner.finish().calls) == 3


@each("dialect", RAW)
@each("between", ["\nI wait.\n", "\n(END)\n", " and so on.\n"])
def test_a_call_with_raw_values_waits_where_words_follow_it(dialect: str, between: str) -> None:
    text = CALLS[dialect] + between + CALLS[dialect]
    assert read(text, 3, "marked", thought=True)[1] == {}


@pytest.mark.parametrize("dialect", ["mistral_json", "mistral_v11"])
def test_a_call_of_mistral_is_final_where_the_next_one_begins(dialect: str) -> None:
    scanner, call = Scanner(TOOLS, level="marked"), CALLS[dialect]
    text = f"{call}{call}"
    final = [at for at, char in enumerate(text) if any(isinstance(one, CallFinal) for one in scanner.feed(char))]
    assert len(call) <= final[0] < len(call) + 4


LISTS = [
    "nemotron_toolcall",
    "jamba_hunyuan_array",
    "olmo3",
    "mistral_json",
    "pangu",
    "granite3",
    "command_a_action",
    "apertus",
    "llama4_pythonic",
    "lfm2",
]
LISTED = [ParsedCall(0, "list_dir", {"path": path}, "", "", 0, 0) for path in ("a", "b", "c")]


def paths(calls: Iterable[ParsedCall]) -> list[str]:
    return [call.arguments["path"] for call in calls]


@pytest.mark.parametrize("dialect", LISTS)
def test_a_call_of_a_list_is_final_where_the_next_one_begins(dialect: str) -> None:
    text = render_calls(dialect, LISTED, TOOLS)
    for before in ("b", "c"):
        lead = text[: text.rindex(f'"{before}"')]
        begins = lead.rindex("list_dir(") + 9 if "list_dir(" in lead else lead.rindex("{", 0, lead.rindex("{")) + 1
        assert "".join(paths(read(text[:begins], 1, "marked", thought=True)[1].values())) == "abc"[: ord(before) - 97]


@each("size", [1, 5, 1000])
@each("level", LEVELS)
@each("dialect", LISTS)
def test_a_call_of_a_list_that_began_stays_whatever_comes_of_the_list(
    dialect: str, level: ReadingLevel, size: int
) -> None:
    text = render_calls(dialect, LISTED, TOOLS)
    cut, broken = text[: text.rindex('"c"') + 1], text.replace('"c"', '"c" ?')
    for whole in (cut, broken):
        result, _ = read(whole, size, level, thought=True)
        assert paths(result.calls) == ["a", "b"]
        assert result.error in ("truncated", "invalid")
        check(whole, size, level, thought=True)
    said = f"{text} is how it is written."
    assert paths(read(said, size, level, thought=True)[0].calls) == ["a", "b"]
    assert "is how it is written." in read(said, size, level, thought=True)[0].content
    check(said, size, level, thought=True)


@each("dialect", LISTS)
@each("before", ["> ", '"', "- ", "<page>\n", "It is written ", "x = ", "For example:\n"])
def test_a_call_of_a_list_that_is_quoted_is_not_final(before: str, dialect: str) -> None:
    assert read(before + render_calls(dialect, LISTED, TOOLS), 1, "marked", thought=True)[1] == {}


@pytest.mark.parametrize(
    "text",
    [
        '[TOOL_CALLS][{"name": "list_dir", "arguments": {"path": "a",}}, {"name": "ping", "arguments": {}}]',
        '[TOOL_CALLS][{"name": 3}, {"name": "ping", "arguments": {}}]',
        '[TOOL_CALLS][{"name": "directly_answer", "arguments": {}}, {"name": "ping", "arguments": {}}]',
        '[TOOL_CALLS]["x", {"name": "ping", "arguments": {}}, {"name": "ping", "arguments": {}}]',
        '[TOOL_CALLS][{"name": "list_dir", "arguments": "{"}, {"name": "ping", "arguments": {}}]',
        '<tool_calls>[{"name": "ping", "arguments": {}}, {"name": "ping", "arguments": {}}]',
    ],
)
def test_a_call_of_a_list_waits_for_its_end_where_something_is_not_sure(text: str) -> None:
    scanner = Scanner(TOOLS, level="marked")
    assert not [event for char in text for event in scanner.feed(char) if isinstance(event, CallFinal)]
    for size in (1, 3, 1000):
        check(text, size, "marked", thought=False)


CORES = ['"b"', "[1]", '{"c": [2, "d"]}', '{"c": {"d": {"e": [{"f": 1}]}}}']


@pytest.mark.parametrize(("core", "levels"), zip(CORES, (0, 1, 2, 5), strict=True), ids=CORES)
def test_a_value_nests_as_deep_as_may_be_and_no_deeper_whatever_is_passed_over_at_once(core: str, levels: int) -> None:
    for more in (0, 1):
        deep = DEPTH_CAP - len("{{") - levels + more
        value = '{"a":' * deep + core + "}" * deep
        text = f'<tool_call>{{"name": "ping", "arguments": {{"a": {value}}}}}</tool_call>'
        result = read(text, len(text), "all", thought=False)[0]
        assert (result.error, len(result.calls)) == (("invalid", 0) if more else (None, 1))
        assert result == read(text, 1, "all", thought=False)[0]

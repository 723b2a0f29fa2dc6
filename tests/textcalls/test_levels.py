"""Which calls count at which level: every case of the corpus, and every row of the table."""

from typing import Any

from console_app.textcalls import Scanner, parse
from console_app.textcalls.model import ReadingLevel
from tests.each import each
from tests.examples import turns
from tests.textcalls.answers import CORPUS, TOOLS, folded, tools_of, watched
from tests.textcalls.test_quotations import CALLS, MARKED_CALLS

P = '{"name": "ping", "arguments": {}}'
TAGGED = f"<tool_call>\n{P}\n</tool_call>"


@each("dialect", CALLS.keys(), ids=CALLS.keys())
def test_a_call_is_marked_where_its_opener_is_one_that_nobody_writes_by_accident(dialect: str) -> None:
    assert [one.marked for one in parse(CALLS[dialect], TOOLS).calls] == [dialect in MARKED_CALLS]


IN_PIECES = turns(CORPUS, ([1], [7], [5, 1, 13, 2]))
IDS = [f"{case['id']}-{sizes}" for case, sizes in IN_PIECES]


@each(("case", "sizes"), IN_PIECES, IDS)
def test_at_level_none_there_are_no_calls_and_no_news_of_any(case: dict[str, Any], sizes: list[int]) -> None:
    tools = tools_of(case)
    whole, _, streamed = watched(case["text"], tools, [max(1, len(case["text"]))], level="none")
    assert whole.calls == ()
    assert whole.error is None
    assert "".join(call["name"] for call in case["expected"]["calls"][:1]) in whole.content + whole.reasoning
    result, screen, shown = watched(case["text"], tools, sizes, level="none")
    assert (result, shown) == (whole, streamed)
    assert screen.panels == {}


@each(("case", "sizes"), IN_PIECES, IDS)
def test_at_level_marked_what_no_marker_opened_asks(case: dict[str, Any], sizes: list[int]) -> None:
    tools = tools_of(case)
    whole, _, streamed = watched(case["text"], tools, [max(1, len(case["text"]))], level="marked")
    every = parse(case["text"], tools)
    assert {call.raw for call in whole.calls} <= {call.raw for call in every.calls}
    assert all(call.marked or call.asks for call in whole.calls)
    result, screen, shown = watched(case["text"], tools, sizes, level="marked")
    assert (result, shown) == (whole, streamed)
    assert screen.panels == {call.index: call.name for call in result.calls}
    assert folded(screen.text) == folded(result.content)


ALONE: dict[str, tuple[str, int]] = {
    "an unmarked one": (P, 1),
    "two unmarked ones": (f"{P}\n{P}", 2),
    "a fence": (f"```json\n{P}\n```", 1),
    "a fence and white space": (f"\n```json\n{P}\n```\n\n", 1),
    "a marked and an unmarked one": (f"{TAGGED}\n{P}", 2),
    "one and words": (f"{P}\nthere", 1),
    "two, much later words": (f"{P}\n{P}\n\n\n.", 2),
    "words and one": (f"So:\n{P}", 1),
    "one of a tool there isn't": (P.replace("ping", "pong"), 0),
    "one whose arguments are too many": (P.replace("{}", '{"x": 1}'), 0),
    "one that lacks an argument": ('{"name": "get_weather", "arguments": {"days": 3}}', 0),
    "one with an argument of another type": ('{"name": "get_weather", "arguments": {"city": ["A"]}}', 0),
    "one that was cut off": (P[:-1], 0),
    "a name and words that go on": ("<ping></ping> is the tag.", 1),
}


@each(("text", "count"), ALONE.values(), ids=ALONE.keys())
@each("size", [1, 4, 1000])
def test_unmarked_calls_count_only_where_they_fit_and_ask(text: str, count: int, size: int) -> None:
    result, screen, _ = watched(text, TOOLS, [size], level="marked")
    assert len(result.calls) == count
    assert screen.text.strip() == result.content
    assert all(one.asks or one.marked for one in result.calls)
    assert count or result.content == text.strip()


@each(
    ("text", "why"),
    [
        ('{"name": "no_such", "arguments": {}}', "no tool has this name"),
        ('{"name": "ping", "arguments": {"a', "the answer ended inside the call"),
        ('{"name": "ping", "arguments": {a b}}', "a colon is missing after a key"),
        ('{"name": "ping", "arguments": {"a": 1}}', "its arguments do not fit the tool"),
    ],
)
def test_why_an_unmarked_call_does_not_count_is_told(text: str, why: str) -> None:
    (problem,) = parse(text, TOOLS, level="marked").problems
    assert why in problem.message


def test_a_marked_call_beside_an_unmarked_one_and_words_is_a_call_of_its_own() -> None:
    result = parse(f"{P}\nI look now.\n{TAGGED}", TOOLS, level="marked")
    assert [(call.marked, bool(call.asks)) for call in result.calls] == [(False, True), (True, False)]


def test_a_dialect_that_reads_like_a_marked_one_is_not_marked_by_it() -> None:
    scanner = Scanner(TOOLS, "hermes_json", "marked")
    scanner.feed(f"I look now.\n<tools>\n{P}\n</tools>\n")
    assert [(call.marked, bool(call.asks)) for call in scanner.finish().calls] == [(False, True)]


CODE = "the code in a tool_code block is no call of a tool"


@each("code", ["x = 1 + 2", "import os", "for name in x: ping()", "print(x)"])
@each("level", ["marked", "all"])
@each("size", [1, 1000])
def test_code_that_calls_nothing_is_told_of(code: str, level: ReadingLevel, size: int) -> None:
    result, _, _ = watched(f"```tool_code\n{code}\n```\n", TOOLS, [size], level=level)
    assert result.calls == ()
    assert [problem.message.lower() for problem in result.problems] == [f"{CODE}."]


def test_code_that_calls_a_tool_is_told_of_once_or_not_at_all() -> None:
    call = "```tool_code\nping()\n```"
    assert [call.name for call in parse(call, TOOLS).calls] == ["ping"]
    assert parse(call, TOOLS).problems == ()
    assert [one.asks for one in parse(f"So:\n{call}", TOOLS, level="marked").calls] != [None]


def test_code_in_a_tag_is_told_of() -> None:
    result = parse("<tool_code>\nping()\n</tool_code>", TOOLS, level="marked")
    assert [(problem.kind, problem.name) for problem in result.problems] == [("ignored", "ping")]


@each("tag", ["tool_code", "tool_call", "function", "call", "invoke"])
def test_a_stray_tag_of_calls_leaves_the_call_after_it_one(tag: str) -> None:
    for text in (f"<{tag}>\n[TOOL_CALLS][{P}]", f"</{tag}>\n<|tool_call>call:ping{{}}<tool_call|>"):
        assert [call.name for call in parse(text, TOOLS, level="marked").calls] == ["ping"], text

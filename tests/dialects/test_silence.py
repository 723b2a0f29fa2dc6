"""No call is lost in silence: one that is broken, in whichever way, runs or is told of."""

from collections.abc import Callable

import pytest

from console_app.dialects import DIALECTS, ReadingLevel, parse, render_calls
from tests.dialects.answers import TOOLS
from tests.dialects.test_quotations import CALL, CALLS

MARKED = {row.name: CALLS[row.name] for row in DIALECTS if row.marked and row.name in CALLS}
TOOL = "read_file"
AFTER = "\n\nAnd then I stop here."


def cut(at: Callable[[str], int], after: str = "") -> Callable[[str], str]:
    return lambda call: call[: at(call)] + after


def name_end(call: str) -> int:
    return call.index(TOOL) + len(TOOL)


BROKEN: dict[str, Callable[[str], str]] = {
    "cut after its name": cut(name_end),
    "cut after its name, and text": cut(name_end, AFTER),
    "cut in its values": cut(lambda call: len(call) * 3 // 4),
    "cut in its values, and text": cut(lambda call: len(call) * 3 // 4, AFTER),
    "cut before its last letter": cut(lambda call: len(call) - 1),
    "cut before its last letter, and text": cut(lambda call: len(call) - 1, AFTER),
    "begun twice": lambda call: call[: len(call) // 2] + call,
    "one in the value of another": lambda call: call.replace("a b", call),
    "of a tool there isn't": lambda call: call.replace(TOOL, "read_fill"),
    "without its name": lambda call: call.replace(TOOL, ""),
    "without quotation marks": lambda call: call.replace('"', ""),
    "without the strokes of its ends": lambda call: call.replace("</", "<"),
    "with the ends of another": lambda call: call.replace("</tool_call>", "</call>").replace("</invoke>", "</call>"),
    "in capital letters": lambda call: call.upper().replace(TOOL.upper(), TOOL).replace("FUNCTIONS.", "functions."),
    "in quotation marks": lambda call: f'He wrote "{call}" there.',
    "within a sentence": lambda call: f"I say {call} here.",
    "with a value missing": lambda call: call.replace("a b", ""),
    "with brackets missing": lambda call: call.replace("}", ""),
    "with brackets too many": lambda call: call.replace("}", "}}"),
    "with its lines joined": lambda call: call.replace("\n", ""),
}


@pytest.mark.parametrize("level", ["marked", "all"])
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_call_of_any_marked_dialect_runs_or_is_told_of(
    broken: Callable[[str], str], level: ReadingLevel
) -> None:
    for dialect, call in MARKED.items():
        result = parse(broken(call), TOOLS, level=level)
        told = [one for one in result.problems if one.kind in ("invalid", "truncated") or one.name]
        assert result.calls or told, f"{dialect}:\n{broken(call)}"


@pytest.mark.parametrize(
    "text",
    [
        "<read_file",
        f"<read_file{AFTER}",
        f"Action: read_file{AFTER}",
        'He wrote "Action: read_file\nAction Input: {}" there.',
        "I call <|tool_call_begin|> functions.read_file and more.",
    ],
)
def test_what_is_half_a_call_of_an_unmarked_dialect_is_told_of(text: str) -> None:
    assert [one.name for one in parse(text, TOOLS).problems] == [TOOL]


@pytest.mark.parametrize("dialect", sorted(MARKED))
def test_the_second_of_two_calls_is_told_of_where_it_was_cut(dialect: str) -> None:
    text = render_calls(dialect, [CALL, CALL], TOOLS)
    result = parse(text[: text.rindex("a b") + 1], TOOLS)
    assert result.error in ("truncated", "invalid")
    assert result.problems

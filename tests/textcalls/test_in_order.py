"""The text of an answer is shown once and in its order, however the answer arrives."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from console_app.textcalls import ReadingLevel, Scanner
from console_app.textcalls.model import Rewritten, ScanEvent, VisibleText
from tests.each import each
from tests.examples import examples
from tests.textcalls.answers import TOOLS
from tests.textcalls.test_quotations import CALLS

OBJECT = '{"name": "read_file", "arguments": {"path": "a b"}}'
OTHERS = [
    "I look.", "So:", "ファイルを読みます。", "(END)", "- a point", "1. a",
    "> quoted", "Observation: x", '"', "`", "<pre>",
    "```\nx\n```", '```json\n{"a": 1}\n```', "````\n```\nx\n", "```python\nread_file\n", f"```json\n{OBJECT}\n```",
    "<answer>", "</answer>", "<tool_use>", "</tool_use>", "<tool_call>", "<think>a</think>", "<think>b", OBJECT[:30],
]  # fmt: skip
"""Sentences, fences, and what nothing closes."""
PIECES = st.sampled_from([*sorted(CALLS.values()), *OTHERS, *OTHERS])
BETWEEN = st.sampled_from(["\n", "\n\n", " ", ""])
LEVELS = st.sampled_from(["none", "marked", "all"])


def events_of(text: str, size: int, level: ReadingLevel) -> tuple[list[ScanEvent], str]:
    """Return the events of reading in pieces of `size`, and the text of the answer at its end."""
    scanner, events = Scanner(TOOLS, level=level), list[ScanEvent]()
    for start in range(0, len(text), size):
        events += scanner.feed(text[start : start + size])
    result = scanner.finish()
    return [*events, *scanner.tail_events], result.content


@examples(600)
@given(parts=st.lists(st.tuples(PIECES, BETWEEN), min_size=1, max_size=6), size=st.integers(1, 60), level=LEVELS)
def test_what_is_shown_is_the_text_of_the_answer_once_and_in_its_order(
    parts: list[tuple[str, str]], size: int, level: ReadingLevel
) -> None:
    events, content = events_of("".join(piece + between for piece, between in parts), size, level)
    assert not [event for event in events if isinstance(event, Rewritten)], "nothing that was shown is taken back"
    assert "".join(event.text for event in events if isinstance(event, VisibleText)).strip() == content


@each("behind", CALLS)
def test_an_object_that_nothing_closes_takes_no_marks_from_the_call_behind_it(behind: str) -> None:
    """Else the call before it, which may hold its own marks, runs with all between as its value."""
    before = CALLS["deepseek_v41_dsml"]
    for gap, end in product(["\n", " "], ["\n", " ", ""]):
        events, content = events_of(f"{before}{gap}{OBJECT[:30]}{end}{CALLS[behind]}\n", 7, "marked")
        assert not [event for event in events if isinstance(event, Rewritten)]
        assert "".join(event.text for event in events if isinstance(event, VisibleText)).strip() == content

"""How much is done at once while an answer is read: counted in calls of functions, which no machine's speed changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from console_app.providers.text_protocol.reading import SLICE
from console_app.textcalls import Scanner, ToolSignature, parse
from console_app.textcalls.openings.position import Structure
from console_app.textcalls.scanner import LOOSE, UNREAD
from console_app.textcalls.source import WINDOW, Source
from tests.each import each
from tests.textcalls.answers import TOOLS
from tests.textcalls.test_size import OPENERS, repeated
from tests.work import work

MOST = 60_000
"""Calls of functions in one slice: ten milliseconds of work or less on an ordinary machine."""
MOST_ENDED = 360_000
"""In a slice that ends what waited for it: 25 milliseconds or less. More is read in a thread."""


def most_at_once(text: str, tools: Sequence[ToolSignature] = TOOLS, calls: int | None = None) -> int:
    """How many functions one slice of the answer calls at most, the patterns that it needs being compiled, but for
    those of other tools than `TOOLS`. The answer makes so many calls.
    """
    parse(text[:3_000] + text[-100:], TOOLS, SLICE)
    scanner, most = Scanner(tools), 0
    for start in range(0, len(text), SLICE):
        most = max(most, work(partial(scanner.feed, text[start : start + SLICE])))
    assert calls is None or len(scanner.finish().calls) == calls
    return most


@each("opener", OPENERS, ids=repr)
def test_openers_without_end_are_read_through_and_a_slice_of_them_is_little_work(opener: str) -> None:
    text = repeated(opener, 20_000)  # what grew with 60,000 of them to MOST would have come to a third
    assert most_at_once(text, calls=0) < MOST // 3


MANY = [ToolSignature(f"a_server_with_a_long_name_{n:04d}_reads_a_file") for n in range(3000)]


@each("text", ["<tool_calls>\n<{}>\n", ">>>{}\n{{}}", "<{}><path>a</path></{}>", "<tool_call>x\n"])
def test_a_mark_is_little_work_where_there_are_thousands_of_tools(text: str) -> None:
    assert most_at_once(text.replace("{}", MANY[-1].name), MANY) < MOST


ENDED = {
    "a string with the end of its call in it": ("<tool_call>{'</tool_call>", "{ ", "'x\n"),
    "inline code": ("`", "word {", "\n\nx"),
    "a fence": ("```json\n", "<tool_call>x y\n", "```\n"),
    "a list of calls": ("[TOOL_CALLS][", '{"name": "ping", "arguments": {}},', "]\n"),
    "a value to be mended": ("<tool_call>{'name': \"ping\", 'arguments': {'x': [", "1,", "1]}}</tool_call>\n"),
    "literals of Python": ('<|python_start|>[read_file(path="a", x=[', "1,", "1])]<|python_end|>\n"),
}


@each(("head", "piece", "end"), ENDED.values(), ids=ENDED.keys())
def test_what_is_read_as_a_whole_is_little_work_or_much_by_its_own_account(head: str, piece: str, end: str) -> None:
    assert most_at_once(head + repeated(piece, UNREAD - SLICE - len(head)) + end) < MOST_ENDED
    scanner = Scanner(TOOLS)
    scanner.feed(head + repeated(piece, UNREAD + 1))
    assert scanner.work(end) == "much"


def test_text_whose_structure_was_not_followed_is_some_work_once_something_may_open_in_it() -> None:
    scanner = Scanner(TOOLS)
    scanner.feed("A word.\n")
    for _ in range(LOOSE // 100 + 1):
        scanner.feed('He said "so" and went on with it. ' * 3)
    assert (scanner.work("and on"), scanner.work("<tool_call>")) == ("none", "some")


@each("before", [0, 10, WINDOW - 9, WINDOW - 2, WINDOW, WINDOW + 5, 3 * WINDOW])
@each("fill", ["a b\n", "word "], ids=["lines", "one line"])
def test_what_stands_at_the_edge_of_a_window_is_found(before: int, fill: str) -> None:
    text = repeated(fill, before)
    src = Source()
    src.feed(f"{text}\n<blockquote>{text}</blockquote> x")
    structure, inside = Structure(src), before * 2 + 13
    assert structure.at(inside).inside == "in an element that is open"
    assert structure.at(inside + len("</blockquote>")).inside == ""

"""Long answers: reading takes as long as they are. What took the square of it would meet the time limit of a test."""

import subprocess
import sys
import time

import pytest

from console_app.textcalls import parse
from console_app.textcalls.model import ScanResult, VisibleText
from console_app.textcalls.openings.scan_state import MOST_CALLS
from console_app.textcalls.scanner import LONGEST_ANSWER, Scanner
from console_app.textcalls.source import Source
from tests.each import each
from tests.examples import EXPLORING, spread
from tests.textcalls.answers import TOOLS
from tests.work import work

LONG = 250_000


def repeated(piece: str, length: int) -> str:
    return (piece * (length // len(piece) + 1))[:length]


@each("chunk", [None, 64])
def test_a_long_text_stays_words(chunk: int | None) -> None:
    text = repeated("Some words of prose, with a < b and {x} and [a link](url).\n", LONG)
    assert parse(text, TOOLS, chunk).content == text.strip()


@each("chunk", [None, 64])
def test_one_long_argument_comes_whole(chunk: int | None) -> None:
    content = repeated("if a < b: </x> {}\n", LONG).rstrip()
    text = (
        "<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n"
        f"<parameter=content>\n{content}\n</parameter>\n</function>\n</tool_call>"
    )
    assert parse(text, TOOLS, chunk).calls[0].arguments == {"path": "a", "content": content}


def test_a_long_json_string_comes_whole() -> None:
    text = f'<tool_call>{{"name": "read_file", "arguments": {{"path": "{repeated("abc ", LONG)}"}}}}</tool_call>'
    assert parse(text, TOOLS).calls[0].arguments == {"path": repeated("abc ", LONG)}


@each(
    "call",
    [
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "f"}}\n</tool_call>',
        "<function=read_file>\n<parameter=path>\nf\n</parameter>\n</function>",
        '{"name": "read_file", "arguments": {"path": "f"}}',
        'read_file(path="f")',
        '<|tool_call>call:read_file{path:<|"|>f<|"|>}<tool_call|>',
    ],
    ids=["hermes", "qwen", "bare", "python", "gemma"],
)
def test_a_thousand_calls_in_one_answer_are_all_read(call: str) -> None:
    result = parse("\n".join([call] * 1_000), TOOLS)
    assert len(result.calls) == 1_000
    assert result.error is None


@each("call", ['read_file(path="f")', '{"name": "read_file", "arguments": {"path": "f"}}'])
def test_the_panels_of_calls_that_are_complete_are_not_fed_again(call: str) -> None:
    def reading(count: int) -> int:
        text, found = f"[{', '.join([call] * count)}]", list[ScanResult]()
        done = work(lambda: found.append(parse(text, TOOLS, 4)))
        assert len(found[0].calls) == count
        return done

    reading(10)  # compiles the patterns
    assert reading(300) < 5 * reading(100)


OPENERS = [
    "{", "[", "<", "{[", "<{[", '{"', '{"a":', '{"name":', '[{"name":', "\n{", "`", "``` ", "\n```\n",
    "\n```json\n", "<tool_call>", '<tool_call>{"', "<tool_call>{'</tool_call>",
    "<tool_call>{//</tool_call>", "\n<tool_call>x y", "<function=a>", '<invoke name="a">',
    "<function=a><parameter=b>", "<function=a><parameter=b></parameter>", "<read_file>",
    "<read_file><path>", "</think>", "<think>", "[TOOL_CALLS]a{", "\nAction:\n", "<|channel|>",
    '<|tool_call>call:a{b:<|"|>', "`a ``b ", "\nread_file(", "[read_file(", "</s>", '\\"', "\n> ",
    "]<]minimax[>[", "<|open|>call", "\n~~~\n", '<tool_call>{"a":1}', " ", "\n",
]  # fmt: skip


@each("opener", OPENERS[::3], ids=repr)
def test_openers_without_end_are_read_through_in_small_pieces(opener: str) -> None:
    assert parse(repeated(opener, 6_000), TOOLS, chunk=3).calls == ()


LONG_RUNS = [
    *(
        written.format("1" * 50_000 + "x")
        for written in (
            '<tool_call>{{"name": "read_file", "arguments": {{"path": {}}}}}</tool_call>',
            "<tool_call>read_file(start_line={})</tool_call>",
            "<|tool_call>call:read_file{{path:{}}}<tool_call|>",
        )
    ),
    *(
        opening + blank * 100_000
        for opening in ("<tool_call>", '<invoke name="read_file" ', "\n<function=read_file>x")
        for blank in (" ", "\n", "\r\n", "\n    ")
    ),
]


@each("text", LONG_RUNS, ids=lambda text: repr(text[:70]))
def test_a_run_of_one_sign_is_gone_through_once(text: str) -> None:
    assert parse(text, TOOLS).calls == ()


def test_a_flood_of_openers_is_given_up_and_told_of() -> None:
    result = parse(repeated("\n~~~\n", 250_000), TOOLS)
    assert result.calls == ()
    assert [problem.kind for problem in result.problems] == ["ignored"]
    assert "the rest of the answer is not read" in result.problems[0].message.lower()


@each("chunk", [None, 100_000])
def test_an_answer_without_end_is_read_for_calls_up_to_a_length(chunk: int | None) -> None:
    call = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>\n'
    text = call + repeated("words ", LONGEST_ANSWER) + "\n" + call
    result = parse(text, TOOLS, chunk)
    assert len(result.calls) == 1
    assert result.content.endswith("</tool_call>")
    assert [(one.kind, one.start) for one in result.problems] == [("ignored", LONGEST_ANSWER)]
    assert "longer than" in result.problems[0].message


@each("opening", ["", "<think>\n", '<tool_call>\n{"name": "read_file", "arguments": {"path": "'])
def test_what_goes_beyond_the_longest_answer_is_shown_as_it_comes(opening: str) -> None:
    scanner = Scanner(TOOLS)
    scanner.feed(opening + repeated("words ", LONGEST_ANSWER))
    for _ in range(3):
        assert [event.text for event in scanner.feed("more ") if isinstance(event, VisibleText)][-1:] == ["more "]


def test_a_call_that_the_longest_answer_cuts_does_not_run() -> None:
    text = (
        f'<tool_call>\n{{"name": "read_file", "arguments": {{"path": "{repeated("a ", LONGEST_ANSWER)}"}}}}</tool_call>'
    )
    result = parse(text, TOOLS, 500_000)
    assert (result.calls, result.error) == ((), "truncated")


PING = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>\n'


def test_an_answer_of_too_many_calls_runs_those_that_were_read_and_says_so() -> None:
    text = PING * (MOST_CALLS + 2)
    result = parse(text, TOOLS, 50_000)
    assert len(result.calls) == MOST_CALLS
    assert [one.message for one in result.problems] == [
        f"The rest of the answer is not read for calls: it holds more than {MOST_CALLS} of them."
    ]
    assert not EXPLORING or result == parse(text, TOOLS)


LISTS = ["<TOOLCALL>[{}]</TOOLCALL>", "```json\n[{}]\n```", "<tool_call>[{}]</tool_call>", "[TOOL_CALLS][{}]"]


@each("form", spread(LISTS, 2))
def test_too_many_calls_in_one_place_run_not_at_all_and_are_told_of(form: str) -> None:
    member = '{"name": "ping", "arguments": {}}'
    result = parse(form.format(", ".join([member] * (MOST_CALLS + 1))), TOOLS)
    assert result.calls == ()
    assert any(str(MOST_CALLS) in problem.message for problem in result.problems)


def seconds(text: str, chunk: int | None = None, *, times: int = 3) -> float:
    """Processor time that reading takes, the least of three times."""

    def once() -> float:
        begun = time.process_time()
        parse(text, TOOLS, chunk)
        return time.process_time() - begun

    return min(once() for _ in range(times))


QWEN = "<tool_call>\n<function=write_file>\n<parameter=path>\n"
GROWING = {
    "a value with the ends of calls in it": (QWEN, "</parameter></function>x", "</parameter></function></tool_call>"),
    "a value with its own ends in it": (QWEN, "</parameter>x", ""),
    "half a call in a value": (QWEN, "<function=write_file><parameter=path>", ""),
    "a nested value": ('<tool_call>{"name": "ping", "arguments": ', '{"a":', ""),
    "objects that are none": ('<tool_call>{"name": "ping", "arguments": {', '"a":{},', ""),
    "nested data": ("", '{"a":', ""),
    "objects in prose": ("", '{"name":{"a":"b"', ""),
    "half tags": ("", "<a ", ""),
    "tags without an end": ("", "\n<a>", ""),
    "fences": ("", "\n```\nx\n", ""),
    "quotations": ("", "\n> “<tool_call>", ""),
    "inline code": ("", "`a ``b ", ""),
    "empty lists of calls": ("", "<tool_call>[]</tool_call>", ""),
    "ends of reasoning": ("", "a</think>", ""),
    "tags after a value that may go on": (f"{QWEN}a\n</parameter>\n</function>\n</tool_call>\n", "<a>", ""),
    "code after a value that may go on": (f"{QWEN}a\n</parameter>\n</function>\n</tool_call>\n", "`a` ", ""),
    "calls in sentences": ("", f"a {PING.strip()} b\n", ""),
}


@each(("head", "piece", "end"), GROWING.values(), ids=GROWING.keys())
def test_four_times_the_text_takes_about_four_times_as_long(head: str, piece: str, end: str) -> None:
    few, many = (head + repeated(piece, size) + end for size in (10_000, 40_000))
    small, large = seconds(few, times=1), seconds(many, times=1)
    if large >= 10 * max(small, 0.003):  # something else may have slowed it down once
        large = seconds(many)
    assert large < 10 * max(small, 0.003), f"{small:.3f} s, then {large:.3f} s"


WIDE: dict[str, tuple[str, str, str]] = {
    "the name of a recipient": ("to=functions.", "a", " <b>\n"),
    "blanks between a call and words": (PING.strip(), " ", "a\n"),
    "blanks between a call and another": (PING.strip(), "\t", PING),
    "blanks before the name of a call": ("<invoke name=", "\n", "x\n"),
    "blanks before the name of a call in an element": ("<invoke>\n<tool_name>", "\n", "x\n"),
    "blanks behind the name of a call": ("<tool_call>ping", " ", "x\n"),
    "blanks before the name of a call in MiniMax's coat": (
        "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=",
        " ",
        "x\n",
    ),
}


@each(("head", "piece", "end"), WIDE.values(), ids=WIDE.keys())
def test_what_a_decision_looks_at_is_gone_through_once(head: str, piece: str, end: str) -> None:
    texts = [repeated(head + piece * width + end, 20_000) for width in (30, 480)]
    narrow, wide = (seconds(text, 16, times=1) for text in texts)
    if wide >= 4 * max(narrow, 0.004):  # something else may have slowed it down once
        narrow, wide = (seconds(text, 16) for text in texts)
    assert wide < 4 * max(narrow, 0.004), f"{narrow:.3f} s, then {wide:.3f} s"


def test_what_is_loaded_ahead_has_compiled_what_the_first_answer_needs() -> None:
    program = (
        "from console_app.textcalls import prepare\n"
        "from console_app.textcalls.openings.openers import HELD, LEAD, TOKEN\n"
        "def compiled(): return ['pattern' in vars(one) for one in (HELD, LEAD, TOKEN)]\n"
        "before = compiled()\n"
        "prepare()\n"
        "print(*before, *compiled())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] * 3 + ["True"] * 3


@pytest.mark.parametrize("piece", [f"a {PING.strip()} b, ", f"| {PING.strip()} | a |\n"], ids=["line", "table"])
def test_a_refused_call_reads_no_more_of_the_answer_where_many_stand_before_it(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0
    text_of = Source.text

    def counted(source: Source, start: int, end: int) -> str:
        nonlocal read
        text = text_of(source, start, end)
        read += len(text)
        return text

    monkeypatch.setattr(Source, "text", counted)
    each: list[float] = []
    for many in (200, 1600):
        read = 0
        parse(piece * many, TOOLS)
        each.append(read / many)
    assert each[1] < 2 * each[0]

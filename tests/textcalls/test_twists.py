"""Twists of the grammars: what may stand otherwise than usual, what may be missing, and what is lost with it."""

from typing import Any

from console_app.textcalls import FAMILIES, ToolSignature, parse, render_calls
from console_app.textcalls.model import WrittenCall
from tests.each import each
from tests.textcalls.answers import TOOLS as COMMON
from tests.textcalls.answers import called, folded, identical, schema

TOOLS = [
    *COMMON,
    ToolSignature("send", {"type": "object", "properties": {"to": {"type": "array", "items": {"type": "string"}}}}),
]
R = '{"name": "read_file", "arguments": {"path": "b"}}'
P = '{"name": "ping", "arguments": {}}'
READ: tuple[str, dict[str, Any]] = ("read_file", {"path": "b"})
PING: tuple[str, dict[str, Any]] = ("ping", {})
M3 = "]<]minimax[>["


def function(name: str, **values: str) -> str:
    """Qwen's tags without the end of the call."""
    return f"<function={name}>\n" + "".join(
        f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items()
    )


def sent(to: str) -> str:
    """MiniMax-M3's tags around a nested value."""
    return f'{M3}<tool_call>{M3}<invoke name="send">{M3}<to>{to}{M3}</to>{M3}</invoke>{M3}</tool_call>'


READ_AS: dict[str, tuple[str, list[tuple[str, dict[str, Any]]]]] = {
    "attributes in other order": (
        '<invoke id="1" name="read_file">\n<parameter type="string" name="path">b</parameter>\n</invoke>',
        [READ],
    ),
    "attributes of tokens in other order": (
        '<|open|>call index="1" tool="read_file"<|sep|><|open|>argument type="string" key="path"<|sep|>b'
        "<|close|>argument<|sep|><|close|>call<|sep|>",
        [READ],
    ),
    "an attribute that tells the type before the name": (
        '<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter string="true" name="path">b</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>",
        [READ],
    ),
    "digits in a list of texts": (sent(f"{M3}<item>007{M3}</item>"), [("send", {"to": ["007"]})]),
    "an empty list in tags": (sent(""), [("send", {"to": []})]),
    "arguments as a JSON text after a name": (
        '<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"{\\"path\\": \\"b\\"}"<|tool_call_end|>',
        [READ],
    ),
    "arguments as a JSON text after a label": ('[TOOL_CALLS]read_file[ARGS]"{\\"path\\": \\"b\\"}"', [READ]),
    "a fence without arguments": (
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>ping\n```json\n\n```<｜tool▁call▁end｜>",
        [PING],
    ),
    "the keys that smolagents has": (
        'Action:\n{"tool_name": "read_file", "tool_arguments": {"path": "b"}}<end_code>',
        [READ],
    ),
    "arguments that are the text null": ('<tool_call>{"name": "ping", "arguments": "null"}</tool_call>', [PING]),
    "all braces doubled": ('<tool_call>{{"name": "read_file", "arguments": {{"path": "b"}}}}</tool_call>', [READ]),
    "a raw string": ('[read_file(path=r"a\\d")]', [("read_file", {"path": "a\\d"})]),
    "a list that lacks its bracket": (f"[TOOL_CALLS][{R}[/TOOL_CALLS]", [READ]),
    "an object of tokens that lacks its brace": (
        '<|tool_call>call:read_file{path:<|"|>b<|"|><tool_call|>',
        [READ],
    ),
    "the end of a call before the next": (
        f"<tool_call>\n{function('read_file', path='b')}<tool_call>\n{function('ping')}</function>\n</tool_call>",
        [READ, PING],
    ),
    "the end of an invocation before the next": (
        '<function_calls>\n<invoke name="read_file">\n<parameter name="path">b</parameter>\n<invoke name="ping">\n'
        "</invoke>\n</function_calls>",
        [READ, PING],
    ),
    "the end of a value before that of its call": (
        "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>b\n</tool_call>",
        [READ],
    ),
    "a marker written twice": (f"<tool_call>\n<tool_call>\n{R}\n</tool_call>", [READ]),
    "a tag in other case": ("<Read_File>\n<path>b</path>\n</Read_File>", [READ]),
    "CDATA in two parts": (
        "<write_file>\n<path>b</path>\n<content><![CDATA[x]]]]><![CDATA[>y]]></content>\n</write_file>",
        [("write_file", {"path": "b", "content": "x]]>y"})],
    ),
    "line breaks around a value": (
        "<write_file>\n<path>b</path>\n<content>\n\nx\n\n</content>\n</write_file>",
        [("write_file", {"path": "b", "content": "\nx\n"})],
    ),
    "an unknown tool in OpenAI's shape": (
        '{"tool_calls": [{"type": "function", "function": {"name": "zap", "arguments": "{}"}}]}',
        [("zap", {})],
    ),
    "a recipient at the very start": (
        ' to=functions.read_file<|channel|>commentary json<|message|>{"path": "b"}<|call|>',
        [READ],
    ),
    "an empty list of calls": ("[TOOL_CALLS][]", []),
    "an empty section": ("<|tool_calls_section_begin|><|tool_calls_section_end|>", []),
    "a text message in tokens": ("<|message_model|><|content_text|><|end_message|>", []),
}


@each(("text", "calls"), READ_AS.values(), ids=READ_AS.keys())
def test_a_twist_is_understood(text: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    whole = parse(text, TOOLS)
    assert identical([list(pair) for pair in called(whole)], [list(pair) for pair in calls])
    assert whole.error is None
    assert whole.content == ""
    assert all(parse(text, TOOLS, chunk) == whole for chunk in (1, 2, 3, 7))


WITHOUT_QUOTES: dict[str, tuple[str, list[tuple[str, dict[str, Any]]]]] = {
    "words": ("[get_weather(city=New York – 東京, days=3)]", [("get_weather", {"city": "New York – 東京", "days": 3})]),
    "lines": (
        "[write_file(path=a.md, content=one\ntwo, three\n\n four\n), ping()]",
        [("write_file", {"path": "a.md", "content": "one\ntwo, three\n\n four\n"}), ("ping", {})],
    ),
    "nothing and blanks": ("[write_file(path=, content= b )]", [("write_file", {"path": "", "content": " b "})]),
    "lines that are none of the value": (
        "[write_file(\n  path=a b,\n  content=c d\n)]",
        [("write_file", {"path": "a b", "content": "c d"})],
    ),
    "quotes within quotes": (
        '[write_file(path="the "old" one", content="{"x": [1, 2]}")]',
        [("write_file", {"path": 'the "old" one', "content": '{"x": [1, 2]}'})],
    ),
    "an object beside it": (
        '[write_file(path=a b, content={"x": [1, 2]})]',
        [("write_file", {"path": "a b", "content": '{"x": [1, 2]}'})],
    ),
}


@each(("text", "calls"), WITHOUT_QUOTES.values(), ids=WITHOUT_QUOTES.keys())
@each("licensed", [None, "llama4_pythonic"])
def test_a_text_that_stands_in_no_quotes_of_its_own_ends_with_its_argument_and_asks(
    licensed: str | None, text: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    whole = parse(text, TOOLS, licensed=licensed)
    assert called(whole) == calls
    assert whole.calls[0].asks is not None
    assert all(parse(text, TOOLS, chunk, licensed=licensed) == whole for chunk in (1, 2, 3, 7))


@each("value", ["os.getcwd()", 'base + "/x"', "paths[0]", "f'{name}.py'", "'a' if b else 'c'"])
def test_code_for_a_value_is_no_text(value: str) -> None:
    assert parse(f"[read_file(path={value})]", TOOLS).error == "invalid"


@each("number", ["007", "1e5", "0x1F", "true"])
def test_a_number_for_a_text_stays_as_it_was_written_and_asks_nothing(number: str) -> None:
    (call,) = parse(f"[read_file(path={number}, start_line=2)]", TOOLS).calls
    assert (call.arguments, call.asks) == ({"path": number, "start_line": 2}, None)


REFUSED: dict[str, tuple[str, list[tuple[str, dict[str, Any]]]]] = {
    "a brace missing before the next tag": (f"<tool_call>\n{R[:-1]}\n<tool_call>\n{P}\n</tool_call>", [PING]),
    "an empty name": ('<tool_call>{"name": " ", "arguments": {}}</tool_call>', []),
    "a bare call with a list for arguments": (f'[{P}, {{"name": "read_file", "arguments": ["b"]}}]', [PING]),
    "a bare call that words follow too soon": (f"{R[:-1]}\nDone.", []),
    "code among tokens": ("<|tool_call>call:read_file{path:os.getcwd()}<tool_call|>", []),
}


@each(("text", "others"), REFUSED.values(), ids=REFUSED.keys())
def test_a_mistake_costs_the_call_it_is_in_and_no_other(text: str, others: list[tuple[str, dict[str, Any]]]) -> None:
    whole = parse(text, TOOLS)
    assert called(whole) == others
    assert whole.error == "invalid"
    assert all(parse(text, TOOLS, chunk) == whole for chunk in (1, 2, 3, 7))


def test_a_value_that_was_cut_off_runs_nothing_that_stands_in_it() -> None:
    value = f"x\n</parameter>\n<tool_call>\n{function('ping')}</function>\n</tool_call>\ny"
    text = f"<tool_call>\n{function('write_file', path='b', content=value)}"
    for end in range(text.index("x\n"), len(text) + 1):
        result = parse(text[:end], TOOLS)
        assert "write_file" not in [call.name for call in result.calls] or result.error is None
    whole = parse(text + "</function>\n</tool_call>", TOOLS)
    assert called(whole) == [("write_file", {"path": "b", "content": value})]


@each("half", ["<tool_ca", "[TOOL_C", "<｜tool▁call", '\n{"na', "</tool_ca", "<|im_e"])
def test_half_a_token_after_a_call_is_not_shown(half: str) -> None:
    result = parse(f"<tool_call>{R}</tool_call>{half}", TOOLS)
    assert called(result) == [READ]
    assert result.content == ""


def test_half_a_quote_where_the_answer_ended_is_not_shown() -> None:
    result = parse('<|tool_call>call:read_file{path:<|"', TOOLS)
    assert (result.error, result.content) == ("truncated", "")


def test_a_final_message_is_text_whatever_it_looks_like() -> None:
    result = parse(f"<|channel|>final<|message|>{P}<|return|>", TOOLS)
    assert (called(result), result.content) == ([], P)


def test_a_closed_list_was_not_cut_by_the_limit_and_an_open_fence_was() -> None:
    assert called(parse(f"[TOOL_CALLS][{R}]", TOOLS, finish_reason="length")) == [READ]
    assert parse(f"```json\n{R}", TOOLS, finish_reason="length").error == "truncated"


def test_a_tag_that_opens_no_call_is_not_shown_in_half() -> None:
    result = parse("<function=NAME> opens a call.", TOOLS)
    assert result.error == "invalid"
    assert folded(result.content) == "opens a call."


def test_an_unmatched_type_stays_text() -> None:
    tool = ToolSignature("t", schema(n="integer"))
    assert called(parse("<t><n>007</n></t>", [tool])) == [("t", {"n": 7})]


@each("indent", ["  ", "    ", "\t"])
@each("value", ["a b", "x = 1\nif x:\n    y()\n", "  a\n\n    b", "\n a", ""])
def test_the_values_of_a_call_whose_lines_are_all_indented_are_without_that(indent: str, value: str) -> None:
    call = WrittenCall("write_file", {"path": "a", "content": value})
    for dialect in (name for name, family in FAMILIES.items() if "$value\n" in family.form.param):
        text = render_calls(dialect, [call], TOOLS)
        lines = [indent + line if line else line for line in text.strip("\n").split("\n")]
        for size in (None, 3):
            assert called(parse("\n".join(lines), TOOLS, size)) == [(call.name, call.arguments)], dialect
        outer = text.replace("<param", f"{indent}<param").replace("</param", f"{indent}</param")
        if value[:1] != " ":  # the lines of the value have no indentation that may be that of the call
            assert called(parse(outer, TOOLS)) == [(call.name, call.arguments)], f"{dialect}, the tags alone"


@each("dialect", FAMILIES)
def test_a_call_in_ticks_or_an_element_or_run_together_with_another_is_read(dialect: str) -> None:
    """A call in ticks or in an element asks, and so does one whose own form is a fence."""
    text = render_calls(dialect, [WrittenCall(*READ)], TOOLS).strip("\n")
    for size in (None, 1, 7):
        ticks, element = (parse(one, TOOLS, size) for one in (f"`{text}`", f"<response>{text}</response>"))
        assert called(ticks) == called(element) == [READ], size
        assert ticks.calls[0].asks
        assert element.calls[0].asks
        assert called(parse(f"{text}{text}", TOOLS, size)) == [READ, READ], size

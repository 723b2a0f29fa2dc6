"""The rules, each on a few texts of its own: what is a call, what is only shown, what is refused, and what is cut."""

from typing import Any

import pytest

from console_app.textcalls import FAMILIES, Scanner, ToolSignature, parse, render_calls
from console_app.textcalls.model import Rewritten, VisibleText, WrittenCall
from tests.each import each
from tests.examples import spread
from tests.textcalls.answers import TOOLS, Screen, called, folded, schema, watched

W = '{"name": "get_weather", "arguments": {"city": "A"}}'
R = '{"name": "read_file", "arguments": {"path": "b"}}'
WEATHER = ("get_weather", {"city": "A"})
READ = ("read_file", {"path": "b"})
PING: tuple[str, dict[str, Any]] = ("ping", {})


def tagged(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


def wrote(content: str) -> str:
    """A write of a file in Qwen's tags."""
    return (
        "<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n"
        f"<parameter=content>\n{content}\n</parameter>\n</function>\n</tool_call>"
    )


QUOTED = {
    "inline code": f"Write `{tagged(W)}` to call.",
    "code between two backticks": f"It is ``<tool_call>{W}</tool_call>`` so",
    "inline code that the end cut off": f"It writes `<tool_call>{W}</tool_c",
    "a block quote": f"> <tool_call>\n> {W}\n> </tool_call>\nok",
    "the lazy rest of a block quote": f"> He said:\n{W}",
    "a fence in a fence": f"````md\n```json\n{W}\n```\n````",
    "other code in a fence that the end cut off": "```python\nping()\nabc",
    "a fence in quotation marks": "I say “```tool_code\nping()\n```” so.",
    "a fence with words beside the call": f"```json\n{W}\nand so on\n```",
    "a fenced call of no tool": '```json\n{"name": "zap", "arguments": {}}\n```',
    "a call within data": f'{{"request": {W}, "retries": 1}}',
    "inline code with a dot behind it": f"`{tagged(W)}`.",
    "inline code in a list": f"- `{tagged(W)}`",
    "inline code in a block quote": f"> `{tagged(W)}`",
    "inline code with a call and words": f"`{W} and so on`",
    "a report": f"I called {W} before.",
    "an example in a sentence": f"A call looks like {W} in JSON.",
    "a definition": '{"name": "get_weather", "description": "d", "inputSchema": {"type": "object"}}',
    "a definition without a schema": '{"name": "ping", "description": "d", "parameters": {}}',
    "a name alone": '{"name": "get_weather"}',
    "an unknown tool in prose": 'Try {"name": "zap", "arguments": {"a": 1}} now',
    "an unknown tool and a question": '{"name": "zap", "arguments": {"a": 1}}\nOK?',
    "Python in prose": 'Use [get_weather(city="A")] for it.',
    "a list with an unknown function": '[get_weather(city="A"), zap(x=1)]',
    "a line of Python and words": 'get_weather(city="A")\nThat is it',
    "mentions of markers": "The <tool_call> tag, [TOOL_CALLS], <function=foo> and <read_file> mark calls.",
    "a Python session": ">>> x = 1\n>>> read_file",
    "a tool's name as a tag": "Use <read_file> to read, or <ping> to ping.",
    "a module": "functools.partial and functools[0]",
    "an unknown action": 'Action: zap\nAction Input: {"a": 1}',
    "analysis": "<|channel|>analysis<|message|>I might " + W,
    "an unclosed thought": f"<think>maybe {tagged(W)}",
    "Apertus' call in an unclosed thought of others": '<think>maybe <|tools_prefix|>[{"ping": {}}]<|tools_suffix|>',
    "front matter": f"---\ncall: x\n{tagged(W)}\n---",
}


@each("text", QUOTED.values(), ids=QUOTED.keys())
def test_what_is_only_shown_or_thought_is_no_call(text: str) -> None:
    result = parse(text, TOOLS)
    assert result.calls == ()
    assert result.error is None
    assert result.content == text.strip() or result.reasoning


ANNOUNCED = {
    "a fence after a cue": f"For example:\n\n```json\n{W}\n```",
    "the second fence after a cue": f"The format is:\n```json\n{W}\n```\n\n```json\n{R}\n```\nSo.",
    "an object announced as an example": f"An example would be:\n{W}",
    "a call in a list of data": f"[1, {W}]",
    "a call behind words on its line": f"I call {W}",
    "a call before words on its line": f"{W} is the call.",
    "a list of Python behind words": 'I will do that now.[get_weather(city="A")]',
    "a list of Python before words": '[get_weather(city="A")]And then I stop.',
    "inline code that is the whole answer": f"`{tagged(W)}`",
    "inline code on its own line": f"This is it:\n\n`` {W} ``\n\nNow.",
    "inline code of three ticks": f"```{W}```",
    "a fence in a fence": f"```\n```json\n{W}\n```\n```",
    "in an element that begins behind a quotation mark": f'A " b <page> c.\n\nNow.\n{tagged(W)}',
    "words behind the end of the fence": f"```json\n{W}\n```. That is it.",
    "a longer fence": f"````json\n{W}\n````",
    "a tag announced as an example": "An example:\n<read_file>\n<path>path here</path>\n</read_file>",
}


@each("text", ANNOUNCED.values(), ids=ANNOUNCED.keys())
def test_what_words_announce_asks(text: str) -> None:
    result = parse(text, TOOLS)
    assert result.calls
    assert all(one.asks for one in result.calls)


@each("info", ["python", "xml", "yaml", "Bash", "no_language", "json title=x", "日本語"])
@pytest.mark.parametrize("body", ["get_weather(city='A')", W, tagged(W), "x = get_weather(city='A')\nprint(x)"])
@pytest.mark.parametrize("size", [1, 7, None])
def test_no_word_behind_the_ticks_of_a_fence_hides_its_calls_or_runs_them(
    info: str, body: str, size: int | None
) -> None:
    result = parse(f"```{info}\n{body}\n```", TOOLS, size)
    assert [(one.name, one.arguments) for one in result.calls] == [WEATHER]
    assert result.calls[0].asks == "maybe quoted: it stands in a fence"


@each("info", ["python", "json", "", "html"])
@each("body", ["import os\n", "print(1)\n", "{'a': 1}\n", "<html>\n<body>\n", '{"name": 1, "b": {'])
def test_a_fence_that_begins_with_no_call_is_shown_as_it_comes(info: str, body: str) -> None:
    scanner = Scanner(TOOLS)
    events = scanner.feed(f"```{info}\n{body}" + "more of it " * 20)
    shown = "".join(one.text for one in events if isinstance(one, VisibleText))
    assert ("more of it" in shown) == ('"name"' not in body)


CALLED: dict[str, tuple[str, list[tuple[str, dict[str, Any]]]]] = {
    "after a stray backtick": (f"Use the ` key.\n{tagged(W)}", [WEATHER]),
    "in a fence of tildes": (f"~~~json\n{W}\n~~~", [WEATHER]),
    "two in a fence": (f"```json\n{W}\n{R}\n```", [WEATHER, READ]),
    "in a fence named for it": (f"```tool_call\n{W}\n```", [WEATHER]),
    "not the fenced one beside another": (f"```json\n{W}\n```\n{R}", [READ]),
    "not the fenced one after another": (f"{R}\n```json\n{W}\n```", [READ]),
    "after a thought": (f"[THINK]{tagged(W)}[/THINK][TOOL_CALLS]ping[ARGS]{{}}", [PING]),
    "after a thought without its opening": (f"hm {tagged(W)}\n</think>\n{tagged(R)}", [READ]),
    "after the second thought of Command A": (
        f"<|START_THINKING|>a<|END_THINKING|><|START_THINKING|>{tagged(W)}<|END_THINKING|>{tagged(R)}",
        [READ],
    ),
    "after Gemma's thoughts": (f"<|channel>thought\n{W}<channel|><|tool_call>call:ping{{}}<tool_call|>", [PING]),
    "of an unknown tool in a marker": (tagged('{"name": "zap", "arguments": {"a": 1}}'), [("zap", {"a": 1})]),
    "of an unknown tool as the whole answer": ('[{"name": "zap", "arguments": {"a": 1}}]', [("zap", {"a": 1})]),
    "of a name in other case": (tagged('{"name": "Read_File", "arguments": {"path": "b"}}'), [READ]),
    "of a prefixed name": (tagged('{"name": "default_api.ping", "arguments": null}'), [PING]),
    "without arguments": (tagged('{"name": "ping"}'), [PING]),
    "with a lone value": (tagged('{"name": "read_file", "arguments": "b"}'), [READ]),
    "with doubled braces": (f"<tool_call>{{{W}}}</tool_call>", [WEATHER]),
    "with a brace missing": (tagged(W[:-1]), [WEATHER]),
    "with comments": (tagged(W.replace(", ", ", /* c */ ") + " // d"), [WEATHER]),
    "without quotes": (tagged("{name: 'read_file', arguments: {path: 'b',}}"), [READ]),
    "in a tag within a section": (f"<tool_calls>\n{tagged(W)}\n{tagged(R)}\n</tool_calls>", [WEATHER, READ]),
    "after its name": (tagged('read_file\n{"path": "b"}'), [READ]),
    "in Python's form over lines": ('[\n  get_weather(city="A",),\n  read_file(path="b"),\n]', [WEATHER, READ]),
    "in a printing tool_code": ('```tool_code\nprint(get_weather(city="A"))\n```', [WEATHER]),
    "as a method of the tool": ('<|python_tag|>read_file.call(path="b")', [READ]),
    "with plain text as input": ("Action: read_file\nAction Input: b\nObservation: z", [READ]),
    "without input": ("Action: ping\nObservation: z", [PING]),
    "with fenced input": ('Action: read_file\nAction Input: ```json\n{"path": "b"}\n```', [READ]),
    "with text for a recipient": (">>>read_file\nb\n", [READ]),
    "with a prefix in its tags": (
        '<function_calls>\n<atem:invoke name="read_file">\n<atem:parameter name="path">b</atem:parameter>\n'
        "</atem:invoke>\n</function_calls>",
        [READ],
    ),
    "with a call as text in it": (wrote(tagged(W)), [("write_file", {"path": "a", "content": tagged(W)})]),
    "with another's tags in it": (wrote(wrote("x")), [("write_file", {"path": "a", "content": wrote("x")})]),
    "with two calls in it, one of which holds a third": (
        wrote(wrote(wrote("x")) + wrote("y")),
        [("write_file", {"path": "a", "content": wrote(wrote("x")) + wrote("y")})],
    ),
    "with its own ends in it": (
        wrote("see </parameter></function></tool_call> here"),
        [("write_file", {"path": "a", "content": "see </parameter></function></tool_call> here"})],
    ),
    "with a fence in it": (
        wrote(f"```json\n{W}\n```"),
        [("write_file", {"path": "a", "content": f"```json\n{W}\n```"})],
    ),
    "with CDATA in it": (
        "<write_file><path>a</path><content><![CDATA[</content></write_file>]]></content></write_file>",
        [("write_file", {"path": "a", "content": "</content></write_file>"})],
    ),
    "with a parameter it does not have": (
        "<read_file>\n<path>b</path>\n<zap>1</zap>\n</read_file>",
        [("read_file", {"path": "b", "zap": "1"})],
    ),
    "with a parameter where it has none": ("<ping>\n<zap>1</zap>\n</ping>", [("ping", {"zap": "1"})]),
    "with an escape in Python's form": (
        '[run_command(command="a\\bc")]',
        [("run_command", {"command": "a\bc"})],
    ),
    "by a recipient of its own": ('{"tool_uses": [{"recipient_name": "functions.ping", "parameters": {}}]}', [PING]),
    "before made-up results": (f"{tagged(W)}\n<tool_response>\nx\n</tool_response>\n{tagged(R)}", [WEATHER]),
    "before made-up results in a fence": (
        '```tool_code\nread_file(path="b")\n```\n```tool_output\nx\n```\n```tool_code\nping()\n```',
        [("read_file", {"path": "b"})],
    ),
    "before a made-up user": (f"{tagged(W)}<|im_end|>\n<|im_start|>user\nhi\n{tagged(R)}", [WEATHER]),
    "with a half pair of surrogates": (
        tagged('{"name": "read_file", "arguments": {"path": "\\ud83d\\ude00\\ud83d"}}'),
        [("read_file", {"path": "😀\ufffd"})],
    ),
}


@each(("text", "calls"), CALLED.values(), ids=CALLED.keys())
def test_a_call_is_found(text: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    result = parse(text, TOOLS)
    assert called(result) == calls
    assert result.error is None


REFUSED: dict[str, tuple[str, list[tuple[str, dict[str, Any]]]]] = {
    "arguments in a list": (tagged('{"name": "read_file", "arguments": ["a"]}'), []),
    "no name beside the arguments": (tagged('{"arguments": {"city": "A"}}'), []),
    "a number for a name": (tagged('{"name": 5, "arguments": {}}'), []),
    "NaN": (tagged('{"name": "run_command", "arguments": {"command": "x", "timeout": NaN}}'), []),
    "a number without bounds": (tagged('{"name": "run_command", "arguments": {"command": "x", "timeout": 1e999}}'), []),
    "too deep a value": (tagged('{"name": "ping", "arguments": {"a": ' + "[" * 300 + "]" * 300 + "}}"), []),
    "an empty tag": ("<tool_call></tool_call>", []),
    "words in the tag": ("<tool_call>Here: it is</tool_call>", []),
    "keys that are no parameters": (tagged('{"name": "get_weather", "zip": 3}'), []),
    "code among the arguments": ('[get_weather(city="A"), run_command(command=os.getcwd())]', [WEATHER]),
    "a list in place of named arguments": ("[run_command(**[1])]", []),
    "the end of a call in a string that nothing closes": (
        '<tool_call>{"name": "read_file", "arguments": {"path": "b</tool_call>',
        [],
    ),
    "a format string": ('[run_command(command=f"{x}")]', []),
    "a quote that ends too soon": (
        tagged('{"name": "get_weather", "arguments": {"city": "5" tall"}}') + "\n" + tagged(R),
        [READ],
    ),
    "a quote that never ends": (
        tagged('{"name": "get_weather", "arguments": {"city": "abc}}') + "\n" + tagged(R),
        [READ],
    ),
    "a call within a broken string": (
        tagged(f'{{"name": "read_file", "arguments": {{"path": "say "hi" <tool_call>{W}</tool_call>"}}}}'),
        [],
    ),
    "one of two in an object that lists them": (tagged(f'{{"tool_calls": [{W}, {{"nam": }}]}}'), [WEATHER]),
    "a call whose arguments list others": (tagged(f'{{"name": "x", "o": [{W}, {{"nam": }}]}}'), []),
    "one of three in a list": (f'[TOOL_CALLS][{W}, {{"nam": 3}}, {R}]', [WEATHER, READ]),
}


@each(("text", "others"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_read_is_refused_and_the_others_run(text: str, others: list[tuple[str, dict[str, Any]]]) -> None:
    result = parse(text, TOOLS)
    assert result.error == "invalid"
    assert called(result) == others
    problem = next(problem for problem in result.problems if problem.kind == "invalid")
    assert problem.message.endswith(".")
    assert problem.index is not None
    assert text[problem.start : problem.end].startswith(problem.raw[:100])


CUT = {
    "a bare object": ('{"name": "read_file", "arguments": {"path": "b"', None),
    "after the marker": ("<tool_call>\n", None),
    "in code in a fence": ("```tool_code\nread_fi", None),
    "before the arguments": ("<|channel|>commentary to=functions.read_file<|message|>", None),
    "in the name": ('<tool_call>\n{"name": "rea', None),
    "half a closing tag and a brace missing": (
        '<tool_call>{"name": "read_file", "arguments": {"path": "b"}\n</tool_',
        None,
    ),
    "a turn that ended early": ('{"name": "read_file", "arguments": {"path": "b"}<|eot_id|>', None),
    "raw text after its closing tag": ("<write_file>\n<path>a</path>\n<content>\nabc</content>\n", None),
    "by the limit, the closing tag missing": (f"<tool_call>{R}", "length"),
    "before an object behind a name": ("<tool: function>\nread_file ", None),
    "in text behind a name": ("<tool: function>\nread_file\na.tx", None),
    "in the closing tag behind a name": ("<tool: function>\nread_file\n</tool", None),
    "an action without its input": ("Action: read_file\nAction Inp", None),
}


@each(("text", "reason"), CUT.values(), ids=CUT.keys())
def test_what_was_cut_off_does_not_run(text: str, reason: str | None) -> None:
    result = parse(text, TOOLS, finish_reason=reason)
    assert result.calls == ()
    assert result.error == "truncated"
    assert result.problems[0].kind == "truncated"


OPTIONAL = ToolSignature("put", schema(path="string", content="string"))


@each("dialect", FAMILIES)
def test_a_call_that_ends_anywhere_is_whole_or_none(dialect: str) -> None:
    arguments = {"path": "x", "content": "line <b>\nrm </b> 1"}
    text = render_calls(dialect, [WrittenCall("put", arguments)], [OPTIONAL])
    assert called(parse(text, [OPTIONAL])) == [("put", arguments)]
    for end in spread(range(1, len(text)), 24):
        by_token_alone = text.startswith("<|start|>") and text[:end].endswith("</rfl:parameter>")  # its end isn't sent
        assert by_token_alone or called(parse(text[:end], [OPTIONAL])) in ([], [("put", arguments)]), text[:end]


def test_the_limit_spares_a_call_that_was_closed() -> None:
    result = parse(tagged(R), TOOLS, finish_reason="length")
    assert called(result) == [READ]
    assert result.error is None


def test_a_call_cut_off_after_others_leaves_them() -> None:
    result = parse(f"{tagged(W)}\n<tool_call>\n{R[:20]}", TOOLS)
    assert called(result) == [WEATHER]
    assert result.error == "truncated"
    assert [problem.index for problem in result.problems] == [1]
    result = parse('[get_weather(city="A"), run_com', TOOLS)
    assert (called(result), result.calls[0].asks, result.content, result.error) == ([WEATHER], None, "", "truncated")


def test_an_empty_list_of_calls_is_told() -> None:
    assert [one.message for one in parse("[TOOL_CALLS][]", TOOLS).problems] == [
        "Not taken as a call: an empty list of calls."
    ]


def test_what_was_mended_is_told() -> None:
    result = parse(tagged("{'name': 'read_file', 'arguments': {'path': 'b'}}"), TOOLS)
    assert result.calls[0].repaired == ("single quotes",)
    assert result.problems[0].kind == "repaired"
    assert "single quotes" in result.problems[0].message
    result = parse(tagged(r'{"name": "read_file", "arguments": {"path": "\d",}}'), TOOLS)
    assert result.calls[0].repaired == (r"the escape \d, which JSON does not have", "a comma too many")


@each("text", [tagged('read_file\n{"path": "b"}}'), '<|tool_call>call:read_file{path:<|"|>b<|"|>}}<tool_call|>'])
def test_a_brace_too_many_behind_arguments_is_mended_in_every_form(text: str) -> None:
    result = parse(text, TOOLS)
    assert (called(result), result.content, result.calls[0].asks) == ([READ], "", None)
    assert result.calls[0].repaired == ("a closing bracket too many",)


def test_half_a_tag_is_never_shown() -> None:
    text = f"Looking.\n{tagged(W)}\nDone </x> soon."
    for size in (1, 2, 5):
        scanned, screen, streamed = watched(text, TOOLS, [size])
        assert "<tool" not in streamed
        assert "</tool" not in streamed
        assert folded(screen.text) == folded(scanned.content) == "Looking. Done </x> soon."


def test_values_between_tags_have_the_types_of_the_schema() -> None:
    tool = ToolSignature("t", schema(s="string", i="integer", n="number", b="boolean", a="array", o="object"))
    values = {"s": "007", "i": "3", "n": "3.0", "b": "true", "a": "[1, 2]", "o": '{"k": null}'}
    text = "<t>" + "".join(f"<{key}>{value}</{key}>" for key, value in values.items()) + "</t>"
    arguments = parse(text, [tool]).calls[0].arguments
    assert repr(arguments) == "{'s': '007', 'i': 3, 'n': 3.0, 'b': True, 'a': [1, 2], 'o': {'k': None}}"
    tool.parameters["properties"]["i"] = {"type": ["integer", "null"]}
    for text in ("<t><i>null</i><b>False</b></t>", tagged('{"name": "t", "arguments": {"i": "null", "b": "False"}}')):
        assert parse(text, [tool]).calls[0].arguments == {"i": None, "b": False}


def test_values_of_tags_in_tags_have_the_types_of_the_schema() -> None:
    def element(name: str, value: str) -> str:
        return f"]<]minimax[>[<{name}>{value}]<]minimax[>[</{name}>"

    def call(value: str) -> str:
        inner = f']<]minimax[>[<invoke name="t">{element("o", value)}]<]minimax[>[</invoke>'
        return f"]<]minimax[>[<tool_call>\n{inner}]<]minimax[>[</tool_call>"

    tool = ToolSignature("t", {"properties": {"o": schema(a="array", i="integer") | {"type": "object"}}})
    inner = element("a", "[1, 2]") + element("i", "3")
    assert parse(call(inner), [tool]).calls[0].arguments == {"o": {"a": [1, 2], "i": 3}}
    assert parse(call(element("a", "")), [tool]).calls[0].arguments == {"o": {"a": []}}
    assert parse(call(""), [tool]).calls[0].arguments == {"o": {}}


def test_entities_are_resolved_only_where_they_were_meant() -> None:
    def command(raw: str) -> str:
        return parse(f"<run_command><command>{raw}</command></run_command>", TOOLS).calls[0].arguments["command"]

    assert command("a &amp;&amp; b") == "a && b"
    assert command("a &amp;&amp; b\nc") == "a &amp;&amp; b\nc"
    assert command("a &lt; b > c") == "a &lt; b > c"
    assert command("http://h/?a=1&b=2") == "http://h/?a=1&b=2"


@each(
    "text",
    [
        tagged('{"name": "read_file", "arguments": {"path": "' + "b" * 50 + '"}}'),
        '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "' + "b" * 50 + '"}}]',
        '{"name": "read_file", "arguments": {"path": "' + "b" * 50 + '"}}',
        "<read_file>\n<path>" + "b" * 200 + "</path>\n</read_file>",
        '[read_file(path="' + "b" * 50 + '")]',
        '<|tools_prefix|>[{"read_file": {"path": "' + "b" * 50 + '"}}]<|tools_suffix|>',
    ],
)
def test_a_panel_opens_when_the_name_is_sure_and_fills_as_the_arguments_come(text: str) -> None:
    scanner, screen = Scanner(TOOLS), Screen()
    for position, char in enumerate(text):
        screen.follow(scanner.feed(char))
        if screen.panels and position < len(text) - 40:
            break
    assert screen.panels == {0: "read_file"}
    screen.follow(scanner.feed(text[position + 1 : -20]))
    assert "bbb" in screen.arguments[0]


def test_words_are_shown_as_they_come() -> None:
    scanner = Scanner(TOOLS)
    assert scanner.feed("Hello, wor") == [VisibleText("Hello, wor")]
    assert scanner.feed("ld <tool") == [VisibleText("ld ")]
    assert scanner.feed("box> it is") == [VisibleText("<toolbox> it is")]


def test_text_that_proves_to_be_a_thought_is_taken_back() -> None:
    scanner = Scanner(TOOLS)
    scanner.feed("I wonder.")
    assert scanner.feed("</think>Yes.") == [Rewritten(""), VisibleText("Yes.")]
    result = scanner.finish()
    assert (result.content, result.reasoning) == ("Yes.", "I wonder.")
    assert scanner.tail_events == []


def test_calls_are_named_by_the_dialect_the_model_was_asked_to_write() -> None:
    text = '<invoke name="ping"></invoke>'
    scanner = Scanner(TOOLS, prefer="minimax_m2")
    scanner.feed(text)
    assert scanner.finish().dialect == "minimax_m2"
    assert parse(text, TOOLS).dialect == "anthropic_invoke"

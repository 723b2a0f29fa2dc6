"""Families of models write calls, reasoning and turns as their own templates render them; all is read whole."""

import json
from pathlib import Path
from typing import Any

from console_app.textcalls import FAMILIES, ToolSignature, parse
from console_app.textcalls.dialects.coats import PLAIN_THINKING, THINKING
from console_app.textcalls.dialects.table import DIALECTS
from tests.each import each
from tests.examples import turns
from tests.textcalls.answers import TOOLS, called, folded, identical, schema, watched

RENDERED: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("rendered.jsonl").read_text(encoding="utf-8").splitlines()
]
OWN = [
    ToolSignature("save_note", schema(["title", "body"], title="string", body="string")),
    ToolSignature("roll", schema()),
    ToolSignature("trip", schema(["to"], to="string", days="integer", rail="boolean", budget="number", stops="array")),
]


@each("row", DIALECTS, ids=lambda row: row.name)
def test_every_row_of_the_table_has_a_rendered_case(row: Any) -> None:
    assert any(FAMILIES[case["dialect"]].row is row for case in RENDERED)


IN_PIECES = turns(RENDERED, ([1], [4], [64]))


@each(("case", "sizes"), IN_PIECES, [f"{case['id']}-{sizes}" for case, sizes in IN_PIECES])
def test_what_a_template_writes_is_what_runs(case: dict[str, Any], sizes: list[int]) -> None:
    result = parse(case["text"], OWN)
    assert identical([list(pair) for pair in called(result)], case["calls"])
    assert (FAMILIES[result.dialect or ""].row, result.error, result.content) == (
        FAMILIES[case["dialect"]].row,
        None,
        "",
    )
    assert watched(case["text"], OWN, sizes)[0] == result


AB = '{"path": "a", "content": "b"}'
WRITE = ("write_file", {"path": "a", "content": "b"})
PING: tuple[str, dict[str, Any]] = ("ping", {})
HERMES = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
ATEM = '<atem:function_calls>\n<atem:invoke name="ping">\n</atem:invoke>\n</atem:function_calls>'
PARALLEL = (
    '{"tool_uses": [{"recipient_name": "functions.ping", "parameters": {}}, '
    '{"recipient_name": "functions.write_file", "parameters": ' + AB + "}]}"
)

READ: dict[str, tuple[str, list[Any], str]] = {
    "a recipient that the prompt began": (f"write_file\n{AB}", [WRITE], ""),
    "text, then calls, for recipients": (f"all\nHello.>>>write_file\n{AB}>>>ping\n{{}}", [WRITE, PING], "Hello."),
    "recipients with their tokens": (">>>all\nHello.>>>ping\n{}", [PING], "Hello."),
    "a call in the channel of the analysis": (
        "<|channel|>analysis to=functions.ping code<|message|>{}<|call|>", [PING], "",
    ),
    "text to the assistant": ("<|channel|>commentary to=assistant<|message|>Hello.<|end|>", [], "Hello."),
    "a preamble, then a call": (
        "<|channel|>commentary<|message|>Let me look.<|end|><|start|>assistant<|channel|>commentary "
        "to=functions.ping<|message|>{}<|call|>",
        [PING],
        "Let me look.",
    ),
    "a name in the tag, JSON in it": (f'<function_call name="write_file">\n{AB}\n</function_call>', [WRITE], ""),
    "a name in the tag of a call": (f'<tool_call name="write_file">\n{AB}\n</tool_call>', [WRITE], ""),
    "a name in the tag, parameters in it": (
        '<tool_call name="write_file">\n<parameter name="path">a</parameter>\n<content>b</content>\n</tool_call>',
        [WRITE],
        "",
    ),
    "a name in the tag and nothing else": ('<tool_call name="ping"/>', [PING], ""),
    "a tool of a server": (
        "<use_mcp_tool>\n<server_name>files</server_name>\n<tool_name>write_file</tool_name>\n<arguments>\n"
        f"{AB}\n</arguments>\n</use_mcp_tool>\nThen.",
        [WRITE],
        "Then.",
    ),
    "a server that is half of the tool's name": (
        "<use_mcp_tool>\n<server_name>write</server_name>\n<tool_name>file</tool_name>\n<arguments>\n"
        f"{AB}\n</arguments>\n</use_mcp_tool>",
        [WRITE],
        "",
    ),
    "a recipient's parameters in a coat, whose last token was taken away": (
        ' to=write_file<|channel|>analysis <|constrain|>xml<|message|><any:parameter name="path">\na\n</any:parameter>'
        '<any:parameter name="content">\nb\n</any:parameter>',
        [WRITE],
        "",
    ),
    "labels in capitals": (f"ACTION: write_file\nACTION INPUT: {AB}", [WRITE], ""),
    "a label in capitals before JSON": ('ACTION: {"name": "ping", "arguments": {}}', [PING], ""),
    "labels with a space": (f"Action : write_file\nAction Input : {AB}", [WRITE], ""),
    "bold labels": (f"**Thought:** x\n**Action:** write_file\n**Action Input:** {AB}", [WRITE], "**Thought:** x"),
    "bold labels before their colons": (f"**Action**: write_file\n**Action Input**: {AB}", [WRITE], ""),
    "bold results that were made up": (
        "**Action:** ping\n**Action Input:** {}\n\n**Observation:** 7\n**Action:** ping\n**Action Input:** {}",
        [PING],
        "",
    ),
    "a result that gets a name": ("```tool_code\nresult = ping()\nprint(result)\n```", [PING], ""),
    "a comma that is missing between arguments": ('[write_file(path="a"content="b"), ping()]', [WRITE, PING], ""),
    "Claude 2": (
        "<function_calls>\n<invoke>\n<tool_name>write_file</tool_name>\n<parameters>\n<path>a</path>\n"
        "<content>b</content>\n</parameters>\n</invoke>\n</function_calls>",
        [WRITE],
        "",
    ),
    "text and calls in one object": (
        '{"content": "Let me look.", "tool_calls": [{"name": "ping", "arguments": {}}]}', [PING], "Let me look.",
    ),
    "arguments in a tag of their own": (
        "<tool_call>\n<name>write_file</name>\n<args>\n<path>a</path>\n<content>b</content>\n</args>\n</tool_call>",
        [WRITE],
        "",
    ),
    "parameters in a tag of their own": (
        "<write_file>\n<args>\n<path>a</path>\n<content>b</content>\n</args>\n</write_file>", [WRITE], "",
    ),
    "parallel use": (f'{{"name": "multi_tool_use.parallel", "arguments": {PARALLEL}}}', [PING, WRITE], ""),
    "parallel use in a channel": (
        f"<|channel|>commentary to=multi_tool_use.parallel <|constrain|>json<|message|>{PARALLEL}<|call|>",
        [PING, WRITE],
        "",
    ),
    "a call of Dots": ('<dots_function_call>\n<invoke name="ping">\n</invoke>\n</dots_function_call>', [PING], ""),
    "calls and text with recipients": (
        f" to=ping<|message|>{ATEM}<|eom|><|start|>assistant to=ping<|message|>{ATEM}<|eom|>"
        "<|start|>assistant to=user<|message|>Hello.<|eot|>",
        [PING, PING],
        "Hello.",
    ),
    "turns of GigaChat": (
        'Hello.<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "ping", "arguments": {}}<|message_sep|>\n\n',
        [PING],
        "Hello.",
    ),
    "an end that the family does not need": (
        '<|tool_call|>[{"name": "ping", "arguments": {}}]<|/tool_call|>', [PING], "",
    ),
    "a response of Kimi": (
        "<|open|>response<|sep|>Hello.<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>", [], "Hello.",
    ),
    "an empty channel of thought": ("<|channel>thought\n<channel|>Hello.", [], "Hello."),
    "tokens that people write too": ("Write <sep> or </assistant> here.", [], "Write <sep> or </assistant> here."),
    "a tag of reasoning in a sentence": (f"Use an <analysis> tag.\n{HERMES}", [PING], "Use an <analysis> tag."),
    "a first line that is no recipient": ("ping\nis a tool", [], "ping\nis a tool"),
    "bold words that are no label": ("**Action** items:\n- ping", [], "**Action** items:\n- ping"),
    "an object with content and no calls": ('{"content": "x", "title": "y"}', [], '{"content": "x", "title": "y"}'),
    "code without a call": ("```tool_code\nx = 5\nprint(x)\n```", [], "```tool_code\nx = 5\nprint(x)\n```"),
}  # fmt: skip


@each(("text", "calls", "content"), READ.values(), ids=READ.keys())
def test_a_family_is_read(text: str, calls: list[Any], content: str) -> None:
    result = parse(text, TOOLS)
    assert called(result) == calls
    assert (result.error, folded(result.content)) == (None, folded(content))
    for sizes in ([1], [2], [3], [9]):
        pieces, screen, _ = watched(text, TOOLS, sizes)
        assert pieces == result
        assert folded(screen.text) == folded(content)


@each(("opener", "closer"), THINKING.items(), ids=THINKING.keys())
def test_a_call_in_the_reasoning_of_a_family_does_not_run(opener: str, closer: str) -> None:
    result = parse(f"{opener}\nPerhaps {HERMES}\n{closer}\nHello.", TOOLS)
    assert (result.calls, result.content, result.error) == ((), "Hello.", None)
    assert result.reasoning.startswith("Perhaps")


@each(
    "closer",
    [
        "[BEGIN FINAL RESPONSE]",
        *(end for tag, end in THINKING.items() if tag not in PLAIN_THINKING and tag != "<|think|>"),
    ],
)
def test_reasoning_that_the_prompt_began_ends_with_its_token(closer: str) -> None:
    result = parse(f"Perhaps {HERMES}\n{closer}\nHello.", TOOLS)
    assert (result.calls, result.content) == ((), "Hello.")
    assert result.reasoning.startswith("Perhaps")


def test_a_tool_may_bear_the_name_of_a_tag_of_reasoning() -> None:
    tools = [ToolSignature("analysis", schema(["of"], of="string"))]
    assert called(parse("<analysis>\n<of>it</of>\n</analysis>", tools)) == [("analysis", {"of": "it"})]


@each(
    "text",
    [
        '<tool_call>\n{"name": "functions.intersect", "arguments": {"a": "x"}}\n</tool_call>',
        '<|channel|>commentary to=functions.intersect<|message|>{"a": "x"}<|call|>',
        '<|tool_call_begin|>functions.functions.intersect:0<|tool_call_argument_begin|>{"a": "x"}<|tool_call_end|>',
        '[functions.intersect(a="x")]',
    ],
)
def test_a_tool_may_have_a_dot_in_its_name(text: str) -> None:
    tools = [ToolSignature("functions.intersect", schema(a="string"))]
    assert called(parse(text, tools)) == [("functions.intersect", {"a": "x"})]


def test_a_turn_that_ends_with_the_token_of_results_made_none_up() -> None:
    result = parse("<|tool_call>call:ping{}<tool_call|><|tool_response>", TOOLS)
    assert (called(result), result.problems, result.content) == ([PING], (), "")
    made_up = parse("<|tool_call>call:ping{}<tool_call|><|tool_response>7", TOOLS)
    assert [problem.kind for problem in made_up.problems] == ["ignored"]


M3 = "]<]minimax[>["
FUNCTION = "<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n{}\n</function>\n</tool_call>"
STRAY = {
    "an element": FUNCTION.format("<of>b</of>"),
    "a word": FUNCTION.format("and\n<parameter=content>\nb\n</parameter>"),
    "an argument": '<function_calls>\n<invoke name="write_file">\n<parameter name="path">a</parameter>\n'
    '<argument name="content">b</argument>\n</invoke>\n</function_calls>',
    "an element among keys": "<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n<of>b</of>\n"
    "</tool_call>",
    "an element around others": "<write_file>\n<path>a</path>\n<of><b>c</b></of>\n</write_file>",
    "an attribute": f'{M3}<tool_call>\n{M3}<invoke name="write_file">{M3}<path>a{M3}</path>{M3}<of b="c">d{M3}</of>'
    f"{M3}</invoke>\n{M3}</tool_call>",
}


@each("text", STRAY.values(), ids=STRAY.keys())
def test_what_is_no_parameter_is_never_part_of_the_value_before_it(text: str) -> None:
    result = parse(f"{HERMES}\n{text}", TOOLS)
    assert called(result) == [PING]
    assert result.error == "invalid"
    assert [problem.message for problem in result.problems if "something other than a parameter" in problem.message]


VALUES = ["a\n", "a\nb", "\na", "\na\n", "\n", "", "  a  ", "a &amp; b", "007", "null", '{"x": 1}', "a\n\n", "\ta\n"]


@each("value", VALUES, ids=repr)
@each("form", [
    "<tool_call>write_file<arg_key>path</arg_key><arg_value>p</arg_value><arg_key>content</arg_key>"
    "<arg_value>{}</arg_value></tool_call>",
    '<minimax:tool_call>\n<invoke name="write_file">\n<parameter name="path">p</parameter>\n'
    '<parameter name="content">{}</parameter>\n</invoke>\n</minimax:tool_call>',
    "<seed:tool_call>\n<function=write_file>\n<parameter=path>p</parameter>\n<parameter=content>{}</parameter>\n"
    "</function>\n</seed:tool_call>",
    "<tool_call>\n<function=write_file>\n<parameter=path>\np\n</parameter>\n<parameter=content>\n{}\n</parameter>\n"
    "</function>\n</tool_call>",
])  # fmt: skip
def test_a_value_is_read_to_its_last_line_break(form: str, value: str) -> None:
    text = form.replace("{}", value)
    assert called(parse(text, TOOLS)) == [("write_file", {"path": "p", "content": value})]

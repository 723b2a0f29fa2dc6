"""A marker is one in any coat: those of the newest families, and those that nobody has thought of yet."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.textcalls import FAMILIES, ToolSignature, parse, render_calls
from tests.each import each
from tests.textcalls.answers import TOOLS, called, schema, watched
from tests.textcalls.test_quotations import Written

AB = '{"path": "a", "content": "b"}'
OBJECT = f'{{"name": "write_file", "arguments": {AB}}}'
WRITE: tuple[str, dict[str, Any]] = ("write_file", {"path": "a", "content": "b"})
KEYS = "<{0}arg_key{1}>path</{0}arg_key{1}>{2}<{0}arg_value{1}>a</{0}arg_value{1}>"
PAIRS = KEYS + KEYS.replace("path", "content").replace(">a<", ">b<")
DSML = (
    '<｜DSML｜ invoke name="write_file">\n<｜DSML｜ parameter name="path" string="true">a</｜DSML｜ parameter>\n'
    '<｜DSML｜ parameter name="content" string="true">b</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n'
)
NEWEST = {
    "GLM 5.3 Flash": f"<tool_call>Files/write_file>{AB}",
    "iQuest Q1": f"<iquest_tool_call>write_file{PAIRS.format('', '', '')}</iquest_tool_call>",
    "Hunyuan 4": f"<tool_calls:6124c78e><tool_call:6124c78e>write_file{PAIRS.format('', ':6124c78e', '')}"
    "</tool_call:6124c78e></tool_calls:6124c78e>",
    "DeepSeek V4.1": f"\n\n<｜DSML｜ calls>\n{DSML}</｜DSML｜ calls>",
    "DeepSeek V4.1 in JSON": f'<｜DSML｜ calls>\n<｜DSML｜ invoke name="write_file">{AB}</｜DSML｜ invoke>\n'
    "</｜DSML｜ calls>",
    "CWM": f"<tool: function>\nwrite_file {AB}\n</tool>",
    "Step-Audio 2": f"<tool_call>function\nwrite_file\n{AB}</tool_call>",
    "MiniCPM5, run together": '<functionname="write_file"><paramname="path">a</param>'
    '<paramname="content">b</param></function>',
    "Ling 3": f"<tool_call>write_file\\n{PAIRS.format('', '', '')}</tool_call>",
    "Apertus": f'<|inner_prefix|>I look.<|tools_prefix|>[{{"write_file": {AB}}}]<|tools_suffix|><|inner_suffix|>',
    "Qwen's tag around attributes": '<tool_call>\n<function name="write_file">\n<parameter name="path">a</parameter>\n'
    '<parameter name="content">b</parameter>\n</function>\n</tool_call>',
    "Muse, a name twice": ' to=write_file<|message|><atem:function_calls>\n<atem:invoke name="write_file.write_file">\n'
    '<atem:parameter name="path">a</atem:parameter>\n<atem:parameter name="content">b</atem:parameter>\n'
    "</atem:invoke>\n</atem:function_calls><|eom|>",
    "K2 Horizon with types": f"<ifm|tool_calls>\n<ifm|tool_call>write_file\n"
    f"{PAIRS.format('ifm|', '', '<ifm|arg_type>string</ifm|arg_type>')}</ifm|tool_call>\n</ifm|tool_calls>",
    "RWKV": f"**Tool Call:**\n```json\n{OBJECT}\n```",
    "labels with numbers": f"Action 1: write_file\nAction Input 1: {AB}",
    "labels with numbers and fences": f'Action 1:\n```json\n{{"action": "write_file", "action_input": {AB}}}\n```',
    "the name as the only key": f'{{"write_file": {AB}}}',
}


@each("text", NEWEST.values(), ids=NEWEST.keys())
@each("size", [1, 7, 1000])
def test_the_newest_families_are_read(text: str, size: int) -> None:
    result, screen, _ = watched(text, TOOLS, [size])
    assert (called(result), result.error, screen.text.strip()) == ([WRITE], None, "")
    assert [one.asks for one in result.calls] == [None]


@each("text", ["functions.x()", "[functions.x()]", "```tool_code\nfunctions.x()\n```"])
def test_a_tool_may_bear_a_prefix_as_its_name(text: str) -> None:
    assert called(parse(text, [ToolSignature("functions.x", schema())])) == [("functions.x", {})]


def test_what_is_said_to_the_user_holds_no_call() -> None:
    text = ' to=user<|message|>So.\n<atem:invoke name="ping">\n</atem:invoke>\n'
    result = parse(text, TOOLS)
    assert (result.calls, [one.name for one in result.problems]) == ((), ["ping"])


BARE = ["hermes_json", "qwen3_coder_xml", "anthropic_invoke", "glm45", "hermes_named", "hermes_python"]
TAGS = re.compile(r"(</?)(tool_call|function_calls|function|invoke|parameter|arg_key|arg_value)(?=[>= ])")
LETTERS = st.text("abcxyzABC019", min_size=1, max_size=8)
PREFIXES = st.one_of(
    st.builds("{}{}".format, LETTERS, st.sampled_from(["_", ":", "|", ".", "-", "@", "#", "~", "｜"])),
    st.builds("｜{}｜{}".format, LETTERS, st.sampled_from(["", " "])),
    st.sampled_from(["", "|", "｜"]),
)
SUFFIXES = st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from([":", "|", "_", "-", "｜"]), LETTERS))


@given(
    dialect=st.sampled_from(BARE),
    prefix=PREFIXES,
    suffix=SUFFIXES,
    inner=st.booleans(),
    size=st.integers(1, 40),
    lead=st.sampled_from(["", "I look now.\n", "I look now.\n\n"]),
)
def test_a_coat_that_nobody_has_seen_is_read(
    dialect: str, prefix: str, suffix: str, inner: bool, size: int, lead: str
) -> None:
    suffix = "" if "end" in (prefix + suffix).lower() else suffix

    def dressed(tag: re.Match[str]) -> str:
        outer = "call" in tag[2]
        tail = suffix if not (tag[2] in ("function", "invoke", "parameter") and tag[1] == "<") else ""
        return f"{tag[1]}{prefix}{tag[2]}{tail}" if outer or inner else tag[0]

    plain = render_calls(dialect, [Written(*WRITE), Written("ping", {})], TOOLS)
    text = lead + TAGS.sub(dressed, plain)
    result, screen, _ = watched(text, TOOLS, [size])
    assert (called(result), result.error) == ([WRITE, ("ping", {})], None), text
    assert screen.text.strip() == lead.strip()
    assert FAMILIES[result.calls[0].form].row is FAMILIES[dialect].row


COATS = ["<@acme/tool_call>{}</@acme/tool_call>", "◁tool_call▷{}◁/tool_call▷", "<<tool_call>>{}<</tool_call>>"]
COATS += [
    "[tool_call]{}[/tool_call]",
    "<||tool_call||>{}<||/tool_call||>",
    "<|tool_call_v2_begin|>{}<|tool_call_v2_end|>",
]


@each("coat", COATS)
@each("size", [1, 5, 1000])
def test_a_coat_may_have_brackets_of_its_own(coat: str, size: int) -> None:
    result, screen, _ = watched(coat.format(OBJECT), TOOLS, [size])
    assert (called(result), result.error, screen.text) == ([WRITE], None, "")


@each("text", ["<phone_calls>5</phone_calls>", "<calls>\nx\n</calls>", "a <tool caller> b", "a << b >> c"])
def test_what_is_no_marker_is_text(text: str) -> None:
    result = parse(text, TOOLS)
    assert (result.calls, result.problems, result.content) == ((), (), text)

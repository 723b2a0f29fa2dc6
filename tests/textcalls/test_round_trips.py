"""Any calls, written in a dialect and read back, are the same calls."""

from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from console_app.textcalls import FAMILIES, ToolSignature, parse, render_calls
from console_app.textcalls.dialects.table import Family
from tests.examples import examples
from tests.textcalls.answers import called, identical, watched

WRITABLE = list(FAMILIES.values())


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, Any]


NAMES = st.from_regex(r"[a-z][a-z0-9_]{2,12}", fullmatch=True)
KEYS = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(lambda key: key not in ("item",))
PIECES = st.sampled_from([
    "<tool_call>", "</tool_call>", "</parameter>", "</function>", "```", "{", "}", "[", "]", '"', "'", "\\",
    "\n", "\t", "&amp;", "&", "<", ">", "<think>", "</think>", "Observation:", "Action:", "null", "true", "007",
    " ", "é", "🦜", "[TOOL_CALLS]", "<|im_end|>", "//", "/*", "#", "$name", "\u2028",
])  # fmt: skip
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20),
    st.lists(st.one_of(PIECES, st.text("abc ", max_size=3)), max_size=8).map("".join),
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS,
    "integer": st.integers(min_value=-(10**30), max_value=10**30),
    "number": st.one_of(NUMBERS, st.integers(-1000, 1000)),
    "boolean": st.booleans(),
    "array": st.lists(st.one_of(TEXTS, st.integers(), st.booleans(), st.none()), max_size=3),
    "object": st.dictionaries(KEYS, st.one_of(TEXTS, st.integers(), st.lists(TEXTS, max_size=2)), max_size=3),
}


@st.composite
def toolboxes_and_calls(draw: st.DrawFn) -> tuple[list[ToolSignature], list[Call]]:
    """Tools with made-up schemas, and calls of them that fit."""
    tools: list[ToolSignature] = []
    for name in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)):
        types = draw(st.dictionaries(KEYS, st.sampled_from(sorted(VALUES)), max_size=4))
        properties = {key: {"type": kind} for key, kind in types.items()}
        tools.append(ToolSignature(name, {"type": "object", "properties": properties, "required": []}))
    calls: list[Call] = []
    for tool in draw(st.lists(st.sampled_from(tools), min_size=1, max_size=4)):
        properties = tool.parameters["properties"]
        present = [key for key in properties if draw(st.booleans())]
        calls.append(Call(tool.name, {key: draw(VALUES[properties[key]["type"]]) for key in present}))
    return tools, calls


def carries(row: Family, calls: list[Call]) -> bool:
    """Tell whether these calls can be written without loss: some dialects have text for which they have no escape."""
    texts = [value for call in calls for value in call.arguments.values() if isinstance(value, str)]
    match row.form.values:
        case "exact":
            return not any("</" in text or "<|" in text for text in texts)
        case "quoted":
            return not any(row.form.quote in repr(call.arguments) for call in calls)
        case "raw":
            return not any("]]>" in text or "\r" in text for text in texts)
        case _:
            return True


LISTS = ToolSignature("run", {"type": "object", "properties": {"parts": {"type": "array"}}})


TURNS = 3


@given(made=toolboxes_and_calls(), turn=st.integers(0, TURNS - 1))
@example(made=([LISTS], [Call("run", {"parts": ["</parameter></tool_call>", "&amp; <|im_end|>", "a < b"]})]), turn=None)
@examples(240, 12, suppress_health_check=list(HealthCheck))
def test_calls_written_in_any_dialect_come_back_the_same(
    made: tuple[list[ToolSignature], list[Call]], turn: int | None
) -> None:
    tools, calls = made
    for row in WRITABLE if turn is None else WRITABLE[turn::TURNS]:
        if not carries(row, calls):
            continue
        text = render_calls(row.name, calls, tools)
        result = parse(text, tools)
        assert identical([list(pair) for pair in called(result)], [[call.name, call.arguments] for call in calls]), (
            row.name,
            text,
        )
        assert result.error is None, row.name
        assert result.content == "", row.name


@given(
    row=st.sampled_from(WRITABLE), made=toolboxes_and_calls(), sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4)
)
@examples(150, suppress_health_check=list(HealthCheck))
def test_written_calls_are_read_alike_in_any_pieces(
    row: Family, made: tuple[list[ToolSignature], list[Call]], sizes: list[int]
) -> None:
    tools, calls = made
    text = "Some words first.\n\n" + render_calls(row.name, calls, tools) + "\n\nAnd last."
    whole = watched(text, tools, [len(text)])
    pieces = watched(text, tools, sizes)
    assert (pieces[0], pieces[1].text, pieces[2]) == (whole[0], whole[1].text, whole[2])


BODIES = {
    "qwen": ("<tool_call>\n<function=run>", "<parameter={}>", "</parameter>", "</function>\n</tool_call>"),
    "invoke": ('<invoke name="run">', '<parameter name="{}" string="true">', "</parameter>", "</invoke>"),
    "glm": ("<tool_call>run", "<arg_key>{}</arg_key><arg_value>", "</arg_value>", "</tool_call>"),
    "elements": ("<tool_call><name>run</name><args>", "<{}>", "</{}>", "</args></tool_call>"),
    "tool": ("<run>", "<{}>", "</{}>", "</run>"),
    "gemma": ("<|tool_call>call:run{", '{}:<|"|>', '<|"|>,', "}<tool_call|>"),
}
RUN = ToolSignature(
    "run", {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {}}}
)
IN_VALUES = st.sampled_from([
    "</parameter>", "<parameter=a>", "</function>", "</a>", "<a>", "</arg_value>", "</run>", "<![CDATA[", "]]>", "&lt;",
    "&amp;", '<|"|>', "<", "</", ",", "}", "{", ":", "  ", "\n", "\n  ", "\r\n", "é｜", "7", "-1", "null", "x y",
])  # fmt: skip
GAPS = st.sampled_from(["", "", "\n", "\n  ", " " * 600, "x"])


@given(
    body=st.sampled_from(sorted(BODIES)),
    members=st.lists(
        st.tuples(st.sampled_from("abcd"), st.lists(IN_VALUES, max_size=3).map("".join), GAPS, st.integers(0, 9)),
        max_size=4,
    ),
    gap=GAPS,
    ends=st.booleans(),
)
@example(body="elements", members=[("a", "x", "", 1), ("b", "7", "\n", 1)], gap="\n", ends=True)
@example(body="gemma", members=[("a", "x", "", 1), ("b", '<|"|>', "", 1)], gap="", ends=True)
@example(body="qwen", members=[("a", "x", " " * 600, 1), ("b", "7", "", 1)], gap="", ends=True)
@examples(150, suppress_health_check=list(HealthCheck))
def test_a_body_that_has_come_whole_is_read_as_one_that_comes_letter_by_letter(
    body: str, members: list[tuple[str, str, str, int]], gap: str, ends: bool
) -> None:
    head, opening, closing, end = BODIES[body]
    text = head + gap
    for key, value, behind, closed in members:
        text += opening.format(key) + value + (closing.format(key) if closed else "") + behind
    text += end if ends else ""
    assert parse(text, [RUN], 1) == parse(text, [RUN])


OPENERS = st.sampled_from([
    '{"name": "read_file", "arguments": {"path": "a"}}', "<read_file>", "<path>", "</path>", "</read_file>", "> ",
    "```json\n", "\n```\n", "`", "<function=read_file>", "<parameter=path>", '<invoke name="read_file">', "</invoke>",
    "[read_file(", 'path="a")]', "Action:\n", "Action: read_file\nAction Input: ", ">>>read_file\n", "<|channel|>",
    "<|start|>", "<|message|>", "analysis", "<|tool_call>call:read_file{", '<|"|>', "[ARGS]", "read_file", "~~~", "</",
    "for example", "\r\n", "<|", "functools[",
])  # fmt: skip


@example(text='{"x": 1[TOOL_CALLS]read_file[ARGS]{"path": "a"}', sizes=[1])
@example(text='{{}"x": </think>"a"}', sizes=[1])
@example(text='{"name": "zap", "arguments": {}}\nNo.\n<read_file><path>a</path></read_file>', sizes=[1])
@example(text='functools[{"name": "read_file"}, {"name"read_file"}]', sizes=[3])
@example(text="<read_file><path>a</path></read_file></think></path></read_file>", sizes=[1])
@example(text="<Action:tool_call>\n{}", sizes=[1])
@example(text='<|python_start|>[read_file(path="a"), 5]<|python_end|>', sizes=[5])
@example(text='{"name": "zap", "arguments": {}}\n<think>a</think>\n\nok', sizes=[1])
@given(
    text=st.lists(st.one_of(PIECES, OPENERS, st.text("ab \n", max_size=4)), max_size=14).map("".join),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
)
@examples(400, suppress_health_check=list(HealthCheck))
def test_any_text_is_read_alike_in_any_pieces(text: str, sizes: list[int]) -> None:
    tools = [
        ToolSignature("read_file", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
    ]
    whole = watched(text, tools, [max(1, len(text))])
    pieces = watched(text, tools, sizes)
    assert pieces[0] == whole[0]
    assert pieces[2] == whole[2]
    assert pieces[1].panels == whole[1].panels == {call.index: call.name for call in whole[0].calls}

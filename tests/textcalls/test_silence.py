"""No call is lost in silence: one that is broken, in whichever way, runs or is told of."""

import json
from collections.abc import Callable

from console_app.textcalls import ReadingLevel, Scanner, parse, render_calls, unread
from tests.each import each
from tests.examples import EXPLORING, turns
from tests.textcalls.answers import TOOLS
from tests.textcalls.test_quotations import CALL, CALLS
from tests.textcalls.test_quotations import MARKED_CALLS as MARKED

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


@each(("broken", "level"), turns(BROKEN.values(), ["marked", "all"]))
def test_a_broken_call_of_any_marked_dialect_runs_or_is_told_of(
    broken: Callable[[str], str], level: ReadingLevel
) -> None:
    for dialect, call in MARKED.items():
        result = parse(broken(call), TOOLS, level=level)
        told = [one for one in result.problems if one.kind in ("invalid", "truncated") or one.name]
        assert result.calls or told, f"{dialect}:\n{broken(call)}"


@each(
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


@each("dialect", sorted(MARKED))
def test_the_second_of_two_calls_is_told_of_where_it_was_cut(dialect: str) -> None:
    text = render_calls(dialect, [CALL, CALL], TOOLS)
    result = parse(text[: text.rindex("a b") + 1], TOOLS)
    assert result.error in ("truncated", "invalid")
    assert result.problems


ESCAPED: dict[str, Callable[[str], str]] = {
    "in a string of JSON": lambda call: json.dumps({"page": call}),
    "in a string of JSON in a sentence": lambda call: f"The result is {json.dumps(call)}.",
    "in a string in a string": lambda call: json.dumps(json.dumps(call)),
    "in a string without brackets": lambda call: json.dumps(call).replace("<", "\\u003c").replace(">", "\\u003e"),
    "in a literal of Python": lambda call: f"x = {call!r}",
}


@each("level", ["none", "marked", "all"])
@each("escaped", ESCAPED.values(), ids=ESCAPED.keys())
def test_a_marked_call_that_is_escaped_is_told_of(escaped: Callable[[str], str], level: ReadingLevel) -> None:
    for dialect, call in MARKED.items():
        result = parse(escaped(call), TOOLS, level=level)
        told = [one for one in result.problems if one.kind in ("invalid", "truncated") or one.name == TOOL]
        assert all(one.asks for one in result.calls), dialect
        assert result.calls or told, dialect


@each("level", ["marked", "all"])
@each("cutting", ["cut after its name", "cut in its values", "cut before its last letter"])
@each("words", ["Sure. ", "I look it up: ", "It is here ", "To call a tool, I write: "])
def test_half_an_unmarked_call_behind_words_is_told_of(words: str, cutting: str, level: ReadingLevel) -> None:
    for dialect, call in CALLS.items():
        if dialect not in MARKED:
            result = parse(words + BROKEN[cutting](call.rstrip()), TOOLS, level=level)
            assert result.calls or any(one.name or one.kind == "truncated" for one in result.problems), dialect


@each("lead", ["To call a tool, I write:\n", "To call a tool, I write:\n\n", "I write this: "])
@each("level", ["none", "marked", "all"])
def test_a_call_that_an_explanation_leads_to_is_told_of(lead: str, level: ReadingLevel) -> None:
    """At the level `none` an unmarked shape is text as any other: only what has a marker is told of (see the table)."""
    for dialect, call in CALLS.items():
        result = parse(lead + call, TOOLS, level=level)
        told = any(one.name == TOOL for one in result.problems)
        assert result.calls or told or (level == "none" and dialect not in MARKED), dialect


@each("level", ["none", "marked", "all"])
@each(
    "text",
    [
        "< tool_call >read_file",
        "< function=read_file >\n< parameter=path >b< /parameter >\n< /function >",
        "< invoke name='read_file'>",
        '[ TOOL_CALLS ] [{"name": "read_file", "arguments": {"path": "b"}}]',
        "<｜tool call begin｜>function<｜tool sep｜>read_file\n```json\n{}\n```<｜tool call end｜>",
        "< ｜ tool▁call▁begin ｜ >function< ｜ tool▁sep ｜ >read_file\n```json\n{}\n```< ｜ tool▁call▁end ｜ >",
        '<| tool_call_begin |>read_file<| tool_sep |>{"path": "b"}<| tool_call_end |>',
        "function<｜tool▁sep｜>read_file\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        'read_file<｜tool▁sep｜>{"path": "b"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        r'\<tool\_call>{"name": "read_file", "arguments": {"path": "b"}}\</tool\_call>',
        r'\<tool_call\>{"name": "read\_file", "arguments": {"path": "b"}}\</tool_call\>',
        r"\<function=read\_file>\<parameter=path>b\</parameter>\</function>",
        r'\[TOOL\_CALLS\] \[{"name": "read\_file", "arguments": {"path": "b"}}\]',
        r'<\|tool\_call\_begin\|>functions.read\_file:0{"path": "b"}<\|tool\_call\_end\|>',
    ],
)
def test_a_mark_with_blanks_in_it_or_escaped_or_without_its_opening_is_told_of(text: str, level: ReadingLevel) -> None:
    result = parse(text, TOOLS, level=level)
    if text.startswith("[ ") and level != "none":  # the list is one of calls without a marker, behind words
        assert [one.asks for one in result.calls] == ["maybe quoted: other text stands before it on its line"]
    else:
        assert (result.calls, [one.name for one in result.problems]) == ((), [TOOL])


@each("level", ["marked", "all"])
@each(
    "text",
    [
        'Action= read_file\nAction Input= {"path": "b"}',
        'Action = read_file\nAction Input = {"path": "b"}',
        "So.\nACTION=read_file",
        '<read_file path="b"/>',
        "So.\n<read_file>b</read_file>",
    ],
)
def test_a_call_that_only_looks_like_one_of_an_unmarked_dialect_is_told_of(text: str, level: ReadingLevel) -> None:
    result = parse(text, TOOLS, level=level)
    assert (result.calls, [one.name for one in result.problems], result.content) == ((), [TOOL], text)


@each(
    "text",
    [
        "The action = read_file here.",
        "Every action=submit reads read_file.",
        "Where a < tool_callers and b > read_file, stop.",
        "See [the call](read_file) and [ping].",
        "The tag <read_file> opens it, as <b>read_file</b> does.",
        "The token <｜tool▁sep｜> stands behind a name.",
        r"Escape \<b> and \[x\] and my\_tool as read\_file.",
        "A <tool that calls> read_file, [tool calls] too.",
    ],
)
def test_words_that_look_like_no_call_are_not_told_of(text: str) -> None:
    assert parse(text, TOOLS).problems == ()


@each("level", ["none", "marked", "all"])
@each("dialect", sorted(MARKED))
def test_a_marked_call_that_was_only_thought_is_told_of(dialect: str, level: ReadingLevel) -> None:
    thought = f"I look first.\n\n{MARKED[dialect]}\n\nOr do I?"
    scanner = Scanner(TOOLS, level=level)
    scanner.reasoned(thought)
    scanner.feed("It is late.")
    assert [(one.name, one.message) for one in scanner.finish().problems] == [
        (TOOL, "Not taken as a call: it stands in reasoning.")
    ]
    if "<think>" not in MARKED[dialect]:
        within = parse(f"<think>\n{thought}\n</think>\n\nIt is late.", TOOLS, level=level)
        assert within.calls == ()
        assert [one.name for one in within.problems] == [TOOL]


@each(
    "thought",
    [
        "I could use <tool_call> with read_file, or [TOOL_CALLS] read_file.",
        'Then {"name": "read_file", "arguments": {"path": "b"}} would do.',
        "read_file is a tool.",
    ],
)
def test_talk_of_calls_in_reasoning_is_not_told_of(thought: str) -> None:
    assert parse(f"<think>{thought}</think>\nIt is late.", TOOLS).problems == ()


def test_a_thought_call_is_not_told_of_where_the_answer_calls() -> None:
    call = MARKED["hermes_json"]
    result = parse(f"<think>\n{call}\n</think>\n{call}", TOOLS)
    assert (len(result.calls), result.problems) == (1, ())


NEW_FORMS = {
    "code": 'read_file(path="a b")',
    "code without names": 'read_file("a b")',
    "JavaScript": 'read_file({path: "a b"})',
    "an attribute": '<read_file path="a b" />',
    "a tag in a tag": '<action name="read_file"><path>a b</path></action>',
    "a label": 'Use: read_file {"path": "a b"}',
    "a heading": '### read_file\n```json\n{"path": "a b"}\n```',
    "bars": '<|go|>read_file<|with|>{"path": "a b"}<|stop|>',
    "brackets": '[[read_file path="a b"]]',
    "another key": '{"op": "read_file", "path": "a b"}',
    "JSON-RPC": '{"method": "read_file", "params": {"path": "a b"}}',
    "an option": 'read_file --path "a b"',
    "Lisp": '(read_file :path "a b")',
    "a command": "/read_file path=a",
}
AROUND = [
    "%s", "`%s`", "I call `%s` now.", "- `%s`", "> %s", "| a | %s |", "<note>\n%s\n</note>", "<answer>%s</answer>",
    "<pre><code>%s</code></pre>", "<!-- %s -->", "```\n%s\n```", "So:\n````\n%s\n````", "**%s**", "_%s_", '"%s"',
    "(%s)", "「%s」", "Now I call it: %s", "%s\n\nDone.", "Text.\n\n    %s", "[go](%s)", "1. 🔧 %s",
]  # fmt: skip


@each("around", AROUND)
def test_a_tool_that_is_named_with_its_parameters_in_whatever_form_is_read_or_told_of(around: str) -> None:
    for number, form in enumerate((*CALLS.values(), *NEW_FORMS.values()), AROUND.index(around)):
        text = around % form.strip()
        both = (text, json.dumps({"said": text}))
        for written in both if EXPLORING else both[number % 2 :][:1]:
            result = parse(written, TOOLS, level="marked")
            seems = any(one.name == TOOL or one.kind in ("invalid", "truncated") for one in result.problems)
            assert result.calls or seems or unread(written, [TOOL]), written


@each(
    "text",
    [
        "`read_file(path)` reads a file, `read_file(path: string)` too.",
        "- `read_file`: reads a file. path: where it stands\n- `ping`: says nothing",
        "| tool | parameters |\n|---|---|\n| read_file | path: string |",
        'Its schema: read_file {"path": {"type": "string"}}',
        "def read_file(path: str, start_line: int) -> str: ...",
        "I used read_file, and the path was right.",
        "See https://example.org/read_file?path=a and example.org/ping?x=1.",
        "`ping()` answers, as read_file() does.",
        "read_file reads what stands at the path you name: a, b or c.",
    ],
)
def test_words_about_a_tool_and_its_parameters_are_not_told_of(text: str) -> None:
    assert (parse(text, TOOLS, level="marked").problems, unread(text, [one.name for one in TOOLS])) == ((), None)

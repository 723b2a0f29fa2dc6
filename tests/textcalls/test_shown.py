"""A call that is shown, quoted or made up does not run, and one that stands beside it does."""

from console_app.textcalls import Scanner, parse, render_calls
from console_app.textcalls.model import CallArgumentsDelta, WrittenCall
from tests.each import each
from tests.textcalls.answers import TOOLS, called, watched

W = '{"name": "get_weather", "arguments": {"city": "A"}}'
P = '{"name": "ping", "arguments": {}}'
TAGGED = f"<tool_call>\n{P}\n</tool_call>"
WEATHER = ("get_weather", {"city": "A"})

SHOWN = {
    "a fence that follows a cue on its line": f"For example: ```json\n{W}\n```",
    "a fence of tags that follows a cue on its line": f"It looks like ```\n{TAGGED}\n```\nSo.",
    "a tag within an example's sentence": f"A call would be {TAGGED} in this dialect.",
    "a tag in quotation marks": f'The manual says "<tool_call>{P}</tool_call>" about it.',
    "an action announced as a format": 'This is an example:\nAction: read_file\nAction Input: {"path": "a"}',
    "an action's object announced as an example": f"For example:\nAction:\n{W}",
    "a recipient announced as an example": "For example:\n>>>ping\n{}",
    "a tool's tag in an example's sentence": "It looks like <read_file><path>a</path></read_file> in XML.",
    "a call in a table": f"| ping | {P} |",
    "Python after other text on its line": "`x` ping()",
    "Python after a label": 'Action: read_file(path="a")',
}


@each("text", SHOWN.values(), ids=SHOWN.keys())
def test_what_is_only_shown_stays_text_or_asks(text: str) -> None:
    for chunk in (None, 1, 7):
        result = parse(text, TOOLS, chunk)
        assert all(one.asks for one in result.calls)
        assert result.error is None
        assert result.calls or result.content == text


@each(
    "text",
    [
        f"The log looks like an error. Again:\n{TAGGED}",
        f'He said "wait".\n{TAGGED}',
        f"For example.\n\nNow it is called.\n{TAGGED}",
        f"Now ```json\n{P}\n```",
        "Thought: I check the format:\nAction: ping\nAction Input: {}",
        "[ping()]\n[1] is a footnote.",
    ],
)
def test_a_call_that_is_meant_still_runs(text: str) -> None:
    assert called(parse(text, TOOLS)) == [("ping", {})]


@each(
    "made_up",
    [
        '<tool_response id="1" tool="ping" status="ok">',
        "<function_result>",
        "<tool_results>",
        "<|observation|>",
        "<|user|>",
        "<start_of_turn>user",
    ],
)
def test_no_call_after_results_that_were_made_up_runs(made_up: str) -> None:
    text = f"{TAGGED}\n{made_up}\nok\n<tool_call>{W}</tool_call>"
    for chunk in (None, 1, 2, 3, 7):
        result = parse(text, TOOLS, chunk)
        assert called(result) == [("ping", {})]
        assert result.content == ""


def test_an_action_without_input_is_read_alike_in_any_pieces() -> None:
    text = "Action: ping\nAction Input:\nObservation: x"
    whole = parse(text, TOOLS)
    assert called(whole) == [("ping", {})]
    assert all(parse(text, TOOLS, chunk) == whole for chunk in (1, 2, 3, 7))


def test_an_argument_without_a_name_after_one_with_a_name_is_refused() -> None:
    result = parse('[write_file(path="a", "b")]', TOOLS)
    assert called(result) == []
    assert result.error == "invalid"


@each("size", [1, 4, 1000])
def test_where_calls_were_taken_out_no_heap_of_blank_lines_stays(size: int) -> None:
    result, screen, _ = watched(f"A.\n\n{TAGGED}\n\n{TAGGED}\n{TAGGED}\n\n\nB.\n\n\nC", TOOLS, [size])
    assert len(result.calls) == 3
    assert result.content == screen.text == "A.\n\nB.\n\n\nC"


@each("line", ["// a comment", "}", "]"])
@each("dialect", ["mistral_json", "mistral_v11", "granite3", "bare_json_lines", "lfm2", "gemma4"])
def test_a_line_behind_a_call_is_shown_whatever_it_begins_with(dialect: str, line: str) -> None:
    call = render_calls(dialect, parse(W, TOOLS).calls, TOOLS)
    result, screen, _ = watched(f"{call}\n{line}\nDone.", TOOLS, [4])
    assert len(result.calls) == 1
    assert (result.content, screen.text.strip()) == (f"{line}\nDone.", f"{line}\nDone.")


@each("dialect", ["qwen3_coder_xml", "glm45", "deepseek_v32_dsml"])
def test_a_value_full_of_signs_is_told_of_as_it_comes(dialect: str) -> None:
    value = "if a < b or i<n: x <= y << 2\n" * 100
    text = render_calls(dialect, [WrittenCall("write_file", {"path": "a", "content": value})], TOOLS)
    scanner, told = Scanner(TOOLS), 0
    for end in range(64, len(text), 64):
        told += sum(len(one.text) for one in scanner.feed(text[end - 64 : end]) if isinstance(one, CallArgumentsDelta))
        assert end - told < 300

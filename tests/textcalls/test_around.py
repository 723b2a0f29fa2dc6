"""The text right before, behind and around a call decides where the protocol is text: quotations ask, own forms run."""

from console_app.textcalls import ReadingLevel, parse
from console_app.textcalls.mentions import unread
from tests.each import each
from tests.textcalls.answers import TOOLS, called, watched
from tests.textcalls.test_quotations import CALL, CALLS

OBJECT = CALLS["bare_json_lines"]
REACT = CALLS["react"].strip()
FENCED = CALLS["langchain_action_fence"].strip()
READ = [(CALL.name, CALL.arguments)]
SPOKEN = [
    row for row in ("hermes_json", "gemma4", "react", "fenced_json", "bare_json_lines", "roo_xml") if row in CALLS
]


@each("label", ["NOTE:", "a.txt:", "**src/a.py**:", "`a.txt`:", "# Page:", "A:", "注意："])
@each("dialect", SPOKEN)
def test_a_call_behind_a_word_and_a_colon_asks(label: str, dialect: str) -> None:
    for text in (f"{label}\n{CALLS[dialect]}", f"{label}\n{CALLS[dialect]}\n\nThat is all."):
        result = parse(text, TOOLS)
        assert all("maybe quoted" in (one.asks or "") for one in result.calls)
        assert result.calls or [one.name for one in result.problems] == [CALL.name]
    assert all(one.asks for one in parse(f"{label} {CALLS[dialect]}", TOOLS).calls)


@each("fence", ["~~~~~~~", "````", "~~~~json"])
@each("dialect", ["hermes_json", "react", "bare_json_lines", "roo_xml"])
def test_a_call_in_a_fence_longer_than_its_dialect_writes_asks(fence: str, dialect: str) -> None:
    end = fence.removesuffix("json")
    for text in (f"{fence}\n{CALLS[dialect]}", f"{fence}\n{CALLS[dialect]}\n{end}"):
        assert [one.asks for one in parse(text, TOOLS).calls] == ["maybe quoted: it stands in a fence"], text
    behind = f"{fence}\nx\n{end}\n{CALLS[dialect]}"
    assert len(parse(behind, TOOLS).calls) == 1, "it stands behind the fence, not in it"


@each("prompt", [">>> ", "A: ", "Assistant: ", "> ", "NOTE: "])
@each("size", [1, 1000])
def test_a_label_behind_a_prompt_starts_no_line_and_asks_or_is_told_of(prompt: str, size: int) -> None:
    result, screen, _ = watched(prompt + REACT, TOOLS, [size])
    if ">" in prompt:
        assert (result.calls, screen.text) == ((), prompt + REACT)
        assert [one.name for one in result.problems] == [CALL.name]
    else:
        assert [one.asks for one in result.calls] == ["maybe quoted: other text stands before it on its line"]


@each("call", [FENCED, REACT, f"Action:\n{OBJECT}", CALLS["command_r"].strip()])
@each("size", [1, 1000])
def test_words_behind_a_labelled_call_on_its_line_make_it_ask_and_words_around_it_make_it_text(
    call: str, size: int
) -> None:
    for words in (" and so on.", " That is it.", ", say"):
        result, _, _ = watched(call + words, TOOLS, [size])
        assert [one.asks for one in result.calls] == ["maybe quoted: it is part of a sentence"]
        result, screen, _ = watched(f"It is {call}{words}", TOOLS, [size])
        assert (result.calls, screen.panels, screen.text) == ((), {}, f"It is {call}{words}")
        assert [one.name for one in result.problems] == [CALL.name]
    assert called(parse(f"{call}\nThat is it.", TOOLS)) == READ


@each("size", [1, 1000])
def test_words_in_the_fence_of_a_labelled_call_make_it_text(size: int) -> None:
    text = f"Action:\n```json\n{OBJECT}\nand so on\n```"
    result, screen, _ = watched(text, TOOLS, [size])
    assert (result.calls, screen.panels, screen.text) == ((), {}, text)
    assert [one.name for one in result.problems] == [CALL.name]


BRACKETS = {
    "words behind it in a list": f"[{OBJECT} here]",
    "words before it in a list": f"[see: {OBJECT}]",
    "lines of a list": f"[\nthe page says:\n{OBJECT}\n]",
    "lines of a list without a colon": f"[the page says\n{OBJECT}\nand so on]",
    "lines in braces": f"{{ the page says\n{OBJECT}\n}}",
    "braces": f"{{\n{OBJECT}\n}}",
    "round brackets": f"(\n{OBJECT}\n)",
    "code": f"foo({{\n{OBJECT}\n}})",
    "a marked one in a list": f"[\nthe page says\n{CALLS['hermes_json']}\n]",
    "a marked one in braces": f"{{\nthe page says\n{CALLS['hermes_json']}\n}}",
}


@each("text", BRACKETS.values(), ids=BRACKETS.keys())
@each("size", [1, 1000])
def test_a_call_in_the_brackets_of_prose_asks_or_is_told_of(text: str, size: int) -> None:
    result, screen, _ = watched(text, TOOLS, [size])
    assert result.error is None
    assert all(one.asks for one in result.calls)
    assert result.calls or ([one.name for one in result.problems], screen.text) == ([CALL.name], text)


@each("tag", ["call", "tool_use", "action", "answer"])
@each("size", [1, 1000])
def test_a_call_in_an_element_asks_whatever_its_name(tag: str, size: int) -> None:
    for text in (
        f"<{tag}>\n{OBJECT}\n</{tag}>",
        f"<{tag}>\n{OBJECT}",
        f"I look now.\n<{tag}>\n{CALLS['hermes_json']}\n</{tag}>",
        f"<{tag}>I look now.\n{OBJECT}\n</{tag}>",
    ):
        result, screen, _ = watched(text, TOOLS, [size])
        assert [one.asks for one in result.calls] == ["maybe quoted: it stands in an element that is open"], text
        assert screen.text.strip() == result.content


@each("size", [1, 1000])
def test_a_call_that_such_tags_hold_on_one_line_asks(size: int) -> None:
    result, _, _ = watched(f"<call>{OBJECT}</call>", TOOLS, [size])
    assert [one.asks for one in result.calls] == ["maybe quoted: it stands in an element that is open"]


END = "<｜tool▁call▁end｜>"


@each(
    "text",
    [
        f"read_file{END}",
        f"I look.{END}",
        f'I look.\n{{"path": "b"}}{END}\nThen I wait.',
        f'read_file\n```json\n{{"path": "b"}}\n```{END}<｜tool▁calls▁end｜><｜end▁of▁sentence｜>',
        '{"path": "b"}</tool_call><|im_end|>',
    ],
)
@each("level", ["marked", "all"])
def test_the_end_of_a_call_alone_is_known_wherever_it_stands(text: str, level: ReadingLevel) -> None:
    assert parse(text, TOOLS, level=level).calls == ()
    assert unread(text, ["read_file"]) is not None


@each("text", [f"`{END}` ends it.", f'"{END}" ends it.', f"```\nx{END}\n```", "See </tool_call> there."])
def test_the_end_of_a_call_that_is_quoted_is_none(text: str) -> None:
    assert unread(text, ["read_file"]) is None


@each(("written", "meant"), [("\nx", "\nx"), ("\r\nx", "\r\nx"), ("\nx\n", "x"), ("x\n", "x\n")])
def test_the_first_value_of_seed_that_only_begins_with_a_line_break_is_kept_whole(written: str, meant: str) -> None:
    text = (
        f"<seed:tool_call>\n<function=read_file>\n<parameter=path>{written}</parameter>\n</function>\n</seed:tool_call>"
    )
    assert called(parse(text, TOOLS)) == [("read_file", {"path": meant})]

"""Where the form of a model is known, its calls are final as soon as each has its own end."""

from console_app.textcalls import FAMILIES, Scanner
from console_app.textcalls.model import CallFinal, CallRetracted, ParsedCall, ScanResult
from tests.each import each
from tests.textcalls.answers import TOOLS
from tests.textcalls.test_quotations import CALL, CALLS, MARKED_CALLS

HERMES = CALLS["hermes_json"].strip()


def read(
    text: str, licensed: str, size: int = 3, *, thinks: bool = False, reasoned: bool = False
) -> tuple[list[tuple[int, ParsedCall]], ScanResult]:
    """The calls that are final, each with how much of the answer had come by then, and the result."""
    scanner, final = Scanner(TOOLS, level="marked", licensed=licensed, thinks=thinks), list[tuple[int, ParsedCall]]()
    if reasoned:
        scanner.reasoned("Hm.")
    for start in range(0, len(text), size):
        for event in scanner.feed(text[start : start + size]):
            assert not (isinstance(event, CallRetracted) and event.index in [one.index for _, one in final])
            if isinstance(event, CallFinal):
                final.append((min(len(text), start + size), event.call))
    return final, scanner.finish()


@each("dialect", FAMILIES)
def test_a_call_is_final_before_what_the_model_writes_next(dialect: str) -> None:
    call = CALLS[dialect].strip()
    text = f"I read it:\n{call}\n{'And so on. ' * 20}"
    final, result = read(text, dialect)
    assert [(one.name, one.arguments, one.asks) for _, one in final] == [(CALL.name, CALL.arguments, None)]
    assert final[0][0] <= text.index("And so") + (24 if dialect != "openai_shape" else 100)
    assert [(one.index, one.raw, one.asks) for one in result.calls] == [(final[0][1].index, final[0][1].raw, None)]


NOT_FINAL = {
    "a block quote": "> {}\n",
    "words behind it": "{} and so on.\n",
    "a mark behind it": "{}. \n",
    "an element": "<page>\n{}\n</page>\n",
    "quotation marks": "“\n{}\n”\n",
    "a fence": "```\n{}\n```\n",
    "a point of a list": "- {}\n",
    "the row of a table": "| {} |\n",
    "inline code": "So `{}\n",
    "a comment": "<!--\n{}\n-->\n",
    "an indented line": "So.\n   {}\n",
    "reasoning": "<think>\n{}\n</think>\n",
}


@each("text", NOT_FINAL.values(), ids=NOT_FINAL.keys())
@each("size", [1, 3, 1000])
def test_a_call_that_may_be_quoted_is_not_final(text: str, size: int) -> None:
    one_line = HERMES.replace("\n", "")
    final, result = read(text.format(one_line) + "More.\n", "hermes_json", size)
    assert final == []
    assert all(one.asks for one in result.calls)


def test_a_call_in_another_form_is_not_final() -> None:
    for dialect, call in MARKED_CALLS.items():
        final, result = read(f"{call.strip()}\n", "gemma4" if FAMILIES[dialect].row.name != "gemma4" else "glm45")
        assert (final, len(result.calls)) == ([], 1), dialect


@each(("licensed", "other"), [("hermes_json", "granite20b_fc"), ("anthropic_invoke", "minicpm5_param")])
def test_an_unmarked_call_of_a_model_that_marks_its_calls_is_not_final(licensed: str, other: str) -> None:
    final, result = read(f"{CALLS[other].strip()}\nAnd so on.\n", licensed)
    assert (final, len(result.calls)) == ([], 1)
    assert result.calls[0].asks


@each("reasoned", [False, True])
def test_where_the_prompt_opened_reasoning_nothing_is_final_before_its_end(reasoned: bool) -> None:
    text = f"Perhaps this.\n{HERMES}\n</think>\n{HERMES}\nMore.\n"
    final, result = read(text, "hermes_json", thinks=True)
    assert [at > text.index("</think>") for at, _ in final] == [True]
    assert (len(result.calls), result.reasoning[:7]) == (1, "Perhaps")
    final, _ = read(f"{HERMES}\nMore.\n", "hermes_json", thinks=True, reasoned=reasoned)
    assert len(final) == reasoned


def test_a_call_that_was_cut_off_or_mended_is_not_final() -> None:
    for text in (HERMES[:-20], HERMES.replace("}}", "}") + "\nMore.\n"):
        assert read(text, "hermes_json")[0] == []

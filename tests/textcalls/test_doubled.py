"""Several calls in one answer of which one is quoted: the others are quoted with it, or ask."""

from hypothesis import given
from hypothesis import strategies as st

from console_app.textcalls import FAMILIES, ReadingLevel, parse, render_calls
from tests.each import each
from tests.textcalls.answers import TOOLS, watched
from tests.textcalls.quotations import MACHINES
from tests.textcalls.test_quotations import ALIKE, CALL, CALLS, LEVELS, MARKED_CALLS, Written, runs_unasked

OTHER = Written("write_file", {"path": "c", "content": "x y"})
UNMARKED = [name for name in FAMILIES if name not in MARKED_CALLS]
WORDS_BETWEEN = "\n\nThen it goes on.\n\n"


@each("between", ["\n", "\n\n", WORDS_BETWEEN], ids=["a line break", "a blank line", "words"])
@each("dialect", UNMARKED)
def test_an_unmarked_call_behind_a_quoted_one_is_text(dialect: str, between: str) -> None:
    for name, machine in MACHINES.items():
        text = machine(between.join([CALLS[dialect].strip("\n")] * 2))
        assert not runs_unasked(parse(text, TOOLS, level="all"), "all"), f"{name}:\n{text}"


@each("dialect", ["hermes_json", "gemma4", "qwen3_coder_xml"])
def test_a_marked_call_that_words_part_from_a_quoted_one_asks(dialect: str) -> None:
    for name, machine in MACHINES.items():
        text = machine(WORDS_BETWEEN.join([CALLS[dialect].strip("\n")] * 2))
        result, _, _ = watched(text, TOOLS, [7])
        assert not runs_unasked(result, "all"), f"{name}:\n{text}"


@each("level", LEVELS)
@each("between", ["\n", "\n\n", WORDS_BETWEEN], ids=["a line break", "a blank line", "words"])
def test_behind_a_backtick_that_nothing_closes_no_call_runs(between: str, level: ReadingLevel) -> None:
    for dialect, call in CALLS.items():
        for times in (1, 2, 3):
            text = f"So `{between.join([call.strip()] * times)}"
            assert not runs_unasked(parse(text, TOOLS, level=level), level), f"{dialect}:\n{text}"


@given(
    dialect=st.sampled_from(sorted(CALLS)),
    calls=st.lists(st.sampled_from([CALL, OTHER]), min_size=2, max_size=3),
    between=st.sampled_from([None, "\n", "\n\n", ",\n", "\nand\n", WORDS_BETWEEN]),
    around=st.lists(st.sampled_from(sorted(MACHINES)), min_size=1, max_size=2, unique=True),
    level=st.sampled_from(LEVELS),
    size=st.integers(1, 40),
)
def test_several_calls_in_quotations_run_nothing_in_any_pieces(
    dialect: str, calls: list[Written], between: str | None, around: list[str], level: ReadingLevel, size: int
) -> None:
    if any(len(alike.intersection(around)) > 1 for alike in ALIKE):
        return
    apart = (render_calls(dialect, [call], TOOLS).strip("\n") for call in calls)
    text = render_calls(dialect, calls, TOOLS) if between is None else between.join(apart)
    for name in around:
        text = MACHINES[name](text)
    result, _, _ = watched(text, TOOLS, [size], level=level)
    assert not runs_unasked(result, level)
    assert result == parse(text, TOOLS, level=level)


MIXED = {
    "in a sentence": 'The page holds {"name": "ping", "arguments": {}} and more.',
    "in a fence of a language": '```python\n{"name": "ping", "arguments": {}}\n```',
    "in a fence with a fence in it": '````\n```json\n{"name": "ping", "arguments": {}}\n```\n````',
    "in a quoted label": "> It says:\nAction: ping\nAction Input: {}",
    "behind a label within a line": "So Action: ping\nAction Input: {}",
    "in a list of a quotation": '> {"tool_calls": [{"name": "ping", "arguments": {}}]}',
}


@each("level", LEVELS)
@each("dialect", UNMARKED)
@each("shown", MIXED.values(), ids=MIXED.keys())
def test_beside_a_call_that_is_shown_an_unmarked_one_asks_or_is_told_of(
    shown: str, dialect: str, level: ReadingLevel
) -> None:
    for text in (f"{shown}\n\nI read it.\n\n{CALLS[dialect]}", f"{CALLS[dialect]}\n\nI read it.\n\n{shown}"):
        result = parse(text, TOOLS, level=level)
        assert not runs_unasked(result, level), text
        assert result.calls or any(problem.name for problem in result.problems), text


@each(
    "text",
    [
        "{}",
        "{}\n{}\n{}",
        "I look it up now.\n{}",
        "The file is long. I read it.\n\n{}\n{}",
        "```python\nread_file\n```\nI look now.\n{}",
        '```json\n{{"name": "x", "description": "read_file"}}\n```\nI look now.\n{}',
        "My next action: read_file.\n{}",
        "I use `read_file` now.\n{}",
    ],
)
@each("dialect", ["bare_json_lines", "llama3_json", "openai_shape", "react", "roo_xml"])
def test_an_unmarked_call_that_no_other_is_shown_beside_counts(dialect: str, text: str) -> None:
    call = CALLS[dialect].strip("\n")
    result = parse(text.format(*[call] * 3), TOOLS, level="all")
    assert [(one.name, one.asks) for one in result.calls] == [("read_file", None)] * text.count("{}")


@each("cell", ["| a |\n|---|\n| {}\n|", "| {}\n |\n", "| a |\n|---|\n| x |\n{}\n|"])
@each("level", LEVELS)
def test_a_call_in_a_cell_whose_end_has_a_line_of_its_own_does_not_run(cell: str, level: ReadingLevel) -> None:
    for dialect, call in CALLS.items():
        text = cell.replace("{}", call)
        assert not runs_unasked(parse(text, TOOLS, level=level), level), f"{dialect}:\n{text}"

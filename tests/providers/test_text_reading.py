"""An answer in text shows text and reasoning while it comes, and never markup."""

from __future__ import annotations

from console_app.domain.chunks import Chunk, NoticeChunk, ReasoningChunk, TextChunk, TextReplaced
from console_app.domain.tools import ToolSpec
from console_app.providers.text_protocol.reading import AnswerReader, ReadingRule
from console_app.textcalls import ReadingLevel
from console_app.textcalls.dialects.table import FAMILIES
from tests.each import each
from tests.textcalls.answers import TOOLS
from tests.textcalls.test_quotations import CALLS


@each("size", [1, 4, 100])
def test_reasoning_that_nothing_opened_is_taken_from_the_text_when_it_ends(size: int) -> None:
    reader = AnswerReader([], ReadingRule())
    text, shown, thought = "I wonder.\n</think>\n\nYes, it is.", "", ""
    seen: list[str] = []

    def take(chunks: list[Chunk]) -> None:
        nonlocal shown, thought
        for chunk in chunks:
            match chunk:
                case TextChunk():
                    shown += chunk.text
                case TextReplaced():
                    shown = chunk.text
                case ReasoningChunk():
                    thought += chunk.text
                case _:
                    raise AssertionError(chunk)
        seen.append(shown)

    for start in range(0, len(text), size):
        take(reader.feed(text[start : start + size]))
    assert (shown, thought) == ("Yes, it is.", "I wonder."), "while the answer goes on"
    take(reader.finish("stop")[0])
    assert (shown, thought) == ("Yes, it is.", "I wonder.")
    assert not any("<" in one for one in seen)


SPECS = [ToolSpec(name=tool.name, server="lab", tool=tool.name, input_schema=dict(tool.parameters)) for tool in TOOLS]
LEVELS: list[ReadingLevel] = ["marked", "all"]


@each("level", LEVELS)
@each("dialect", CALLS)
def test_no_markup_of_any_family_is_shown_at_any_piece(dialect: str, level: ReadingLevel) -> None:
    if level == "marked" and not FAMILIES[dialect].marked:
        return
    text = f"I look.\n\n{CALLS[dialect]}\n\n{CALLS[dialect]}"
    for size in (1, 3, 7):
        reader, shown = AnswerReader(SPECS, ReadingRule(level)), ""
        pieces = [reader.feed(text[start : start + size]) for start in range(0, len(text), size)]
        for chunk in [chunk for chunks in [*pieces, reader.finish("stop")[0]] for chunk in chunks]:
            if isinstance(chunk, TextChunk):
                shown += chunk.text
            elif isinstance(chunk, TextReplaced):
                shown = chunk.text
            assert "I look.".startswith(shown.strip()), "nothing but what leads to the calls"


def test_reasoning_that_came_apart_counts_for_what_the_end_of_an_answer_looks_at() -> None:
    reader = AnswerReader(SPECS, ReadingRule())
    reader.reasoned("I wonder. ")
    for piece in ("Yes", "."):
        reader.feed(piece)
    assert (reader.length, reader.raw) == (len("I wonder. Yes."), "Yes.")


@each("official", [False, True])
def test_what_seems_to_be_a_call_although_nothing_marks_it_is_told(official: bool) -> None:
    reader = AnswerReader(SPECS, ReadingRule("none" if official else "all", as_is=official))
    reader.feed("do: read_file\nargs: x")
    (notice,) = reader.finish("stop")[0]
    assert isinstance(notice, NoticeChunk)
    assert notice.text.startswith("The answer seems to call read_file in its text (line 1); nothing was run.")
    assert notice.unread

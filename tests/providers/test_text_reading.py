"""What an answer in text shows while it comes: text, reasoning, and never markup."""

from __future__ import annotations

import pytest

from console_app.domain.ports.provider import Chunk, ReasoningChunk, TextChunk, TextReplaced
from console_app.providers.text_protocol.reading import AnswerReader


@pytest.mark.parametrize("size", [1, 4, 100])
def test_reasoning_that_nothing_opened_is_taken_from_the_text_when_it_ends(size: int) -> None:
    reader = AnswerReader([], None)
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

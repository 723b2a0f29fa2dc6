"""The text of an answer and nothing else, for requests without tools that stand beside the conversation."""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import dataclass

from console_app.domain.ports.provider import Chunk, FinishChunk, FinishReason, TextChunk, TextReplaced, UsageChunk


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    """`finish` is None where the answer was cut off, `usage` where nothing was said of it."""

    text: str
    usage: UsageChunk | None
    finish: FinishReason | None

    @classmethod
    async def of(cls, chunks: AsyncIterable[Chunk]) -> PlainAnswer:
        """Reads the answer to its end. Reasoning, notices and calls are passed over."""
        text, usage, finish = "", None, None
        async for chunk in chunks:
            match chunk:
                case TextChunk():
                    text += chunk.text
                case TextReplaced():
                    text = chunk.text
                case UsageChunk():
                    usage = chunk
                case FinishChunk():
                    finish = chunk.reason
                case _:
                    pass
        return cls(text, usage, finish)

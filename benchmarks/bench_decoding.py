"""What reading a streamed answer costs: `python -m benchmarks.bench_decoding`.

Milliseconds of processor time for 1,000 tokens of each wire format, one token an event and one event a piece of the
body, from its bytes to the chunks that the engine takes; the least of some runs, since all else only adds. Text,
reasoning, and calls of 99 tokens of arguments each.

Measured on two cores under load, Python 3.11: 2.2 to 4.0 ms.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence

from benchmarks.console import parser, row
from console_app.domain import ToolSpec
from console_app.domain import chunks as ch
from console_app.providers.formats.anthropic_answer import AnthropicAnswer
from console_app.providers.formats.openai_chat_answer import ChatAnswer
from console_app.providers.formats.openai_responses_answer import ResponsesAnswer
from console_app.providers.stream.answer import WireAnswer
from console_app.providers.stream.reading import read_answer
from tests.wire_bytes import APIS, Answer, Api, Call, Piece, Reasoning, Text

TOKENS = 4_000
RUNS = 15
TOOLS = [ToolSpec(name=f"demo_do_{n}", server="demo", tool=f"do_{n}") for n in range(30)]
SIZE = 5  # characters of a token
READERS: dict[Api, type[ChatAnswer | ResponsesAnswer | AnthropicAnswer]] = {
    "openai-chat": ChatAnswer,
    "openai-responses": ResponsesAnswer,
    "anthropic": AnthropicAnswer,
}
CONTENT: dict[str, list[Piece]] = {
    "text": [Text("word " * TOKENS, SIZE)],
    "reasoning": [Reasoning("word " * TOKENS, size=SIZE), Text("Done.", SIZE)],
    "calls": [
        Call(f"demo_do_{n % 30}", json.dumps({"text": "word " * 96 + "wor"}), f"call_{n}", SIZE)
        for n in range(TOKENS // 100)
    ],
}


class Body:
    """A response whose events come one by one."""

    def __init__(self, events: Sequence[bytes]) -> None:
        self._events = events

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """An event at a time."""
        for event in self._events:
            yield event


async def decode(events: Sequence[bytes], answer: WireAnswer) -> int:
    """Reads a whole answer; how many characters came of it."""
    size = 0
    async for _ in read_answer(Body(events), answer):
        for chunk in answer.take():
            if isinstance(chunk, ch.TextChunk | ch.ReasoningChunk | ch.CallDelta):
                size += len(chunk.text)
    answer.end()
    return size


def main() -> None:
    """Prints a line a wire and a kind of content."""
    parser(__doc__).parse_args()
    for api in APIS:
        for what, pieces in CONTENT.items():
            events = Answer(*pieces).events(api)
            took: list[float] = []
            for _ in range(RUNS):
                begun = time.process_time()
                size = asyncio.run(decode(events, READERS[api](TOOLS)))
                took.append(time.process_time() - begun)
                assert size >= TOKENS * SIZE * 0.9, f"{size} characters"
            row(f"1,000 tokens of {what}, {api}", f"{min(took) * 1e6 / len(events):.2f} ms")


if __name__ == "__main__":
    main()

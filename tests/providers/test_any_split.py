"""However the network cuts the bytes of an answer, the chunks are the same: every split point, and random ones."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.chunks import Chunk
from console_app.providers.formats.anthropic_answer import AnthropicAnswer
from console_app.providers.formats.openai_chat_answer import ChatAnswer
from console_app.providers.formats.openai_responses_answer import ResponsesAnswer
from console_app.providers.formats.placed_blocks import APART
from console_app.providers.stream.answer import WireAnswer as Decoder
from console_app.providers.stream.reading import SseReader, read_answer
from tests.each import each
from tests.examples import EXPLORING, examples
from tests.providers.reading import TOOLS, assert_well_formed, calls_of, text_of
from tests.wire_bytes import APIS, DONE, KEEP_ALIVE, Answer, Api, Call, Reasoning, Text, chat_call, chat_chunk

DECODERS: dict[Api, type[Decoder]] = {
    "openai-chat": ChatAnswer,
    "openai-responses": ResponsesAnswer,
    "anthropic": AnthropicAnswer,
}
GOLDEN = Answer(
    Reasoning("Denk nach: größer?"),
    Text("Zwei — 二 😀\r\n\u2028 data: x"),
    Call("calculator_evaluate", '{"expression": "√2 + \\ud83d\\ude00"}'),
    Call("demo_fail", ""),
)
QUIRKY = b"".join(
    [
        b"\xef\xbb\xbf",
        KEEP_ALIVE,
        chat_chunk({"content": "a\u2028😀"}),
        b'data:{"choices":\r\ndata:[{"delta":{"content":"two lines"}}]}\r\n\r\n',
        b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"\\ude00"}}]}\n\n',
        b'event: x\rdata: {"choices":[{"delta":{"content":"\xff"}}]}\r\r',
        chat_call(0, name="demo_fail"),
        chat_call(0, name="_twice", arguments='{"a": 1}'),
        chat_call(0, id="b", name="calculator_evaluate", arguments="{"),
        chat_call(0, arguments="}"),
        chat_chunk({}, "stop"),
        DONE,
    ]
)


class Pieces:
    """A response body that arrives in given pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


async def chunks_of(api: Api, pieces: Iterable[bytes]) -> list[Chunk]:
    """Return the chunks that an answer in these pieces is read as."""
    answer = DECODERS[api](TOOLS)
    chunks: list[Chunk] = []
    async for _ in read_answer(Pieces(pieces), answer):
        chunks += answer.take()
    finish = answer.end()
    return [*chunks, *answer.take(), finish]


@pytest.mark.parametrize(
    ("api", "body"), [*((api, GOLDEN.body(api)) for api in APIS), ("openai-chat", QUIRKY)], ids=[*APIS, "quirks"]
)
async def test_every_single_split_point(api: Api, body: bytes) -> None:
    whole = await chunks_of(api, [body])
    assert_well_formed(whole)
    assert len(calls_of(whole)) == 2
    assert await chunks_of(api, [body[n : n + 1] for n in range(len(body))]) == whole
    for at in range(1, len(body), 1 if EXPLORING or body is QUIRKY else 4):
        assert await chunks_of(api, [body[:at], body[at:]]) == whole, body[at - 20 : at + 20]


@each("api", APIS)
async def test_many_random_splits(api: Api) -> None:
    body, chance = GOLDEN.body(api), random.Random(20_26)
    whole = await chunks_of(api, [body])
    for _ in range(3_000 if EXPLORING else 60):
        cuts = sorted(chance.sample(range(1, len(body)), chance.choice([1, 2, 3, 5, 8, 30, 200])))
        pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
        assert await chunks_of(api, pieces) == whole, cuts


@examples(150)
@given(data=st.data(), api=st.sampled_from(APIS))
def test_random_splits(data: st.DataObject, api: Api) -> None:
    body = GOLDEN.body(api)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(body) - 1), max_size=12)))
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert asyncio.run(chunks_of(api, pieces)) == asyncio.run(chunks_of(api, [body]))


@examples(150)
@given(st.lists(st.text(min_size=1, max_size=20), max_size=6), st.integers(1, 40), st.sampled_from(APIS))
def test_any_text_comes_through(texts: list[str], size: int, api: Api) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    body = Answer(*[Text(text) for text in texts]).body(api)
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    apart = APART if api == "openai-responses" else ""  # there each is a message of its own
    assert text_of(asyncio.run(chunks_of(api, pieces))) == apart.join(texts)


lines = st.sampled_from(
    [
        b"",
        b"data",
        b"data: ",
        b"data: {}",
        b'data:{"a":',
        b"data: 1}",
        b"data: [DONE]",
        b"event: x",
        b"event:",
        b": c",
        b"\r",
    ]
)


@examples(300)
@given(st.one_of(st.binary(max_size=300), st.lists(lines, max_size=12).map(b"\n".join)), st.integers(1, 7))
def test_any_bytes_are_read_alike_in_any_pieces(data: bytes, size: int) -> None:
    whole, pieces = SseReader(), SseReader()
    events = whole.feed(data) + whole.flush()
    parts = [event for start in range(0, len(data), size) for event in pieces.feed(data[start : start + size])]
    assert parts + pieces.flush() == events


blocks = st.sampled_from(
    [
        b"data: {}\n\n",
        b"data: 1\r\n\r\n",
        b"event: x\ndata: {}\n\n",
        b"event: \xffy\ndata: 2\n\n",
        b"event: x\ndata: {\ndata: }\n\n",
        b"event: x\r\ndata: 3\r\n\r\n",
        b"event: x\ndata: 4\n",
        b"data: 5\r",
        b"\n",
        b"\n\n",
        b": c\n\n",
        b"\xef\xbb\xbf",
        b"event: z\n\n",
        b"data: {}\n\ndata: [DONE]\n\n",
    ]
)


@examples(300)
@given(st.lists(blocks, max_size=8))
def test_events_that_come_one_by_one_are_read_as_those_that_come_at_once(pieces: list[bytes]) -> None:
    alone, together = SseReader(), SseReader()
    events = together.feed(b"".join(pieces)) + together.flush()
    assert [event for piece in pieces for event in alone.feed(piece)] + alone.flush() == events

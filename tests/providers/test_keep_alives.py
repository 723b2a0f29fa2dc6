"""A connection that is only kept open: it ends, with what had come, however long the endpoint goes on with that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from console_app.providers.stream import reading as answer_stream
from console_app.providers.stream.reading import OnlyKeepAlives, read_answer
from tests.each import each
from tests.providers.reading import TOOLS, failure_of, finish_of, retries_of, text_of
from tests.providers.test_any_split import DECODERS
from tests.providers.test_half_read_calls import read_body
from tests.wire_bytes import APIS, KEEP_ALIVE, PING, Answer, Api, Text
from tests.wire_server import Pause, Reply, WireServer


class Endless:
    """A body that begins with `events` and is kept open from then on."""

    def __init__(self, events: list[bytes], alive: bytes) -> None:
        self._events = events
        self._alive = alive

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        for event in self._events:
            yield event
        while True:
            await asyncio.sleep(0.001)
            yield self._alive


@each("alive", [KEEP_ALIVE, PING, b"\n"], ids=["comments", "pings", "blank lines"])
@each("api", APIS)
async def test_an_answer_that_never_goes_on(api: Api, alive: bytes) -> None:
    events = Answer(Text("Well, then.")).events(api)
    some = next(number for number, event in enumerate(events) if b"Well" in event)
    for begun in ([], events[: some + 1]):
        answer = DECODERS[api](TOOLS)
        with pytest.raises(OnlyKeepAlives):
            async for _ in read_answer(Endless(begun, alive), answer, 0.01):
                pass
        assert text_of(answer.take()) == ("Well, th" if begun else "")


@pytest.mark.parametrize("api", ["openai-chat", "anthropic"])
async def test_an_answer_that_is_over_waits_for_no_end_mark(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_stream, "AFTER_FINISH", 0.01)
    events = [e for e in Answer(Text("Four.")).events(api) if b"[DONE]" not in e and b"message_stop" not in e]
    chunks = await read_body(DECODERS[api](TOOLS), Endless(events, KEEP_ALIVE))
    assert (text_of(chunks), finish_of(chunks)) == ("Four.", "stop")


async def test_a_server_that_only_keeps_the_connection_is_one_line(server: WireServer) -> None:
    chunks, error = await failure_of(server, "openai-chat", Reply([KEEP_ALIVE, Pause(0.01)] * 50_000), read_timeout=0.5)
    assert not retries_of(chunks)
    assert "came for 0.5 s. The server hangs, or the model is too slow." in error.line

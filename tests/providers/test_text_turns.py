"""While a long answer is read for calls, everything else on the event loop gets its turn."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from console_app.domain.ports.provider import FinishChunk
from console_app.domain.tools import ToolSpec
from console_app.providers.text_protocol import TextProtocol
from tests.providers.reading import provider_at, request_with
from tests.wire_bytes import Answer, Text
from tests.wire_server import WireServer

SIZE = 200_000
PING = ToolSpec(name="ping", server="lab", tool="ping")
ANSWERS = {
    "prose": "Some words of prose, with a < b and {x}.\n",
    "calls": '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>\n',
    "openers": "\n<tool_call>x y",
}


@pytest.mark.parametrize("piece", ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize("official", [False, True])
async def test_others_have_their_turn_between_any_two_slices_of_one_long_piece(piece: str, official: bool) -> None:
    turns = [0]

    async def others() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    text = (piece * (SIZE // len(piece) + 1))[:SIZE]
    with WireServer() as server:
        server.script(Answer(Text(text, size=SIZE)))
        provider = TextProtocol(provider_at(server, "openai-chat"), official=official)
        beside = asyncio.create_task(others())
        begun = None
        try:
            async with provider.stream(request_with([PING])) as chunks:
                async for chunk in chunks:
                    begun = turns[0] if begun is None else begun
                    if isinstance(chunk, FinishChunk):
                        break
        finally:
            beside.cancel()
            with suppress(asyncio.CancelledError):
                await beside
            await provider.close()
    assert begun is not None
    assert turns[0] - begun >= SIZE // 2_000 - 5

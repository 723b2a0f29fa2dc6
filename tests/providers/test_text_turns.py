"""While a long answer is read for calls, everything else on the event loop gets its turn."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from console_app import textcalls
from console_app.domain.chunks import FinishChunk, TextChunk
from console_app.domain.tools import ToolSpec
from console_app.providers import TextProtocol
from tests.each import each
from tests.examples import turns
from tests.providers.reading import provider_at, request_with
from tests.textcalls.test_work import MOST_ENDED
from tests.wire_bytes import Answer, Text
from tests.wire_server import WireServer

SIZE = 30_000
PING = ToolSpec(name="ping", server="lab", tool="ping")
ANSWERS = {
    "prose": "Some words of prose, with a < b and {x}.\n",
    "calls": '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>\n',
    "openers": "\n<tool_call>x y",
}


@each(("piece", "official"), turns(ANSWERS.values(), [False, True]))
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


READING = str(Path(textcalls.__file__).parent)
LONG, LONGER = 120_000, 400_000
WHOLE = {
    "a string that turns out to be none": "<tool_call>{'</tool_call>" + "{ " * (LONGER // 2) + "'x\nThat is all.",
    "a value to be mended": (
        "<tool_call>{'name': 'ping', 'arguments': {'x': [" + "1," * (LONG // 2) + "1]}}</tool_call>\nThat is all."
    ),
    "quotation marks, then a mark": "A word.\n" + '"a ' * (LONGER // 3) + "\n\n<tool_call>{}</tool_call>\nThat is all.",
    "a fence": "```json\n" + "<tool_call>x y\n" * (LONG // 15) + "```\nThat is all.",
}


@each(("answer", "size"), turns(WHOLE, [LONGER * 2, 30_000, 300]))
async def test_what_is_read_as_a_whole_is_read_beside_the_event_loop(answer: str, size: int) -> None:
    done = most = 0

    def count(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal done
        done += event in ("call", "c_call") and frame.f_code.co_filename.startswith(READING)

    async def others() -> None:
        nonlocal done, most
        while True:
            most, done = max(most, done), 0
            await asyncio.sleep(0)

    with WireServer() as server:
        server.script(Answer(Text(WHOLE[answer], size=size)))
        provider = TextProtocol(provider_at(server, "openai-chat"), "text")
        beside = asyncio.create_task(others())
        text = ""
        try:
            async with provider.stream(request_with([PING])) as chunks:
                sys.setprofile(count)  # in this thread alone
                async for chunk in chunks:
                    text += chunk.text if isinstance(chunk, TextChunk) else ""
                    if isinstance(chunk, FinishChunk):
                        break
        finally:
            sys.setprofile(None)
            beside.cancel()
            with suppress(asyncio.CancelledError):
                await beside
            await provider.close()
    assert text.endswith("That is all.")
    assert 0 < most < MOST_ENDED, most

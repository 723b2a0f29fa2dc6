"""Answers that never end: whatever comes without end, it costs a bounded memory, and the run ends with its limit."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import time
from collections.abc import Mapping
from itertools import count, islice
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.program.process import Fanout
from tests.raw_server import raw_server
from tests.wire_bytes import (
    APIS,
    Answer,
    Api,
    Call,
    Reasoning,
    Text,
    anthropic_delta,
    anthropic_event,
    anthropic_start,
    chat_call,
    chat_chunk,
    responses_event,
)

LIMIT = 1.5  # seconds; of tiny pieces, which come to no other limit in any such time, half
GRACE = 2.0  # seconds behind it
LOOK = 0.02  # seconds between two looks at the process
COST = 100 * 2**20  # bytes above what the process took when it asked
AHEAD = 2**16  # bytes that are written at once
PROVIDERS: dict[Api, str] = {"openai-chat": "openai", "openai-responses": "openai-responses", "anthropic": "anthropic"}
WORDS = "lorem ipsum " * 200
SIZES = {"tiny": 2, "fat": len(WORDS)}

Flood = tuple[bytes, bytes]  # how an answer begins, and what comes again and again, `NUMBER` in it another each time
NUMBER = b"12345"


def growing(api: Api, piece: Text | Reasoning | Call) -> Flood:
    """An answer that has got as far as `piece`, which came in two equal parts, and that part."""
    events = Answer(piece).events(api)
    first = next(n for n in range(len(events)) if events[n] == events[n + 1])
    return b"".join(events[:first]), events[first]


def said(size: int) -> dict[str, Text | Reasoning | Call]:
    """Return the parts that every wire can write, in pieces of `size`."""
    piece = WORDS[:size]
    return {
        "text": Text(piece * 2, size),
        "reasoning": Reasoning(piece * 2, size=size),
        "arguments": Call("calculator_evaluate", piece * 2, size=size),
    }


def unclosed(opening: str) -> Flood:
    """Text behind an opening that no end follows."""
    before, piece = growing("openai-chat", Text(WORDS * 2, len(WORDS)))
    return before + chat_chunk({"content": opening}), piece


def block(kind: str, **fields: Any) -> bytes:
    return anthropic_start() + anthropic_event("content_block_start", index=0, content_block={"type": kind, **fields})


def kept_back(words: str) -> dict[tuple[Api, str], Flood]:
    """Return the parts of an answer that nobody is shown while it is written."""
    item: dict[str, Any] = {"type": "reasoning", "summary": [], "encrypted_content": words}
    search = {"type": "file_search_call", "id": "12345", "status": "completed"}
    detail = {"type": "reasoning.encrypted", "index": 0, "data": words}
    return {
        ("openai-chat", "arguments of no call"): (b"", chat_call(7, arguments=words)),
        ("openai-chat", "calls"): (b"", chat_call(12345, id="12345", name="x", arguments=json.dumps(words))),
        ("openai-chat", "reasoning that is encrypted"): (b"", chat_chunk({"reasoning_details": [detail]})),
        ("openai-chat", "parts that are no text"): (b"", chat_chunk({"content": [{"type": "x", "data": words}]})),
        ("openai-chat", "another choice"): (
            chat_chunk({"content": "a"}),
            chat_chunk(choices=[{"index": 1, "delta": {"content": words}}]),
        ),
        ("openai-responses", "arguments of no call"): (
            b"",
            responses_event("response.function_call_arguments.delta", item_id="x", output_index=7, delta=words),
        ),
        ("openai-responses", "reasoning that is encrypted"): (
            b"",
            responses_event("response.output_item.done", output_index=0, item=item),
        ),
        ("openai-responses", "thoughts"): (
            b"",
            responses_event("response.output_item.done", output_index=12345, item={**item, "id": "12345"}),
        ),
        ("openai-responses", "calls of its own"): (
            b"",
            responses_event("response.output_item.done", output_index=12345, item={**search, "query": words}),
        ),
        ("openai-responses", "an event that is not known"): (b"", responses_event("response.new.delta", delta=words)),
        ("anthropic", "arguments of no call"): (
            anthropic_start(),
            anthropic_delta(7, "input_json_delta", partial_json=words),
        ),
        ("anthropic", "a signature"): (
            block("thinking", thinking=""),
            anthropic_delta(0, "signature_delta", signature=words),
        ),
        ("anthropic", "citations"): (
            block("text", text="a"),
            anthropic_delta(0, "citations_delta", citation={"cited_text": words}),
        ),
        ("anthropic", "the input of a tool of its own"): (
            block("server_tool_use", id="s", name="web_search", input={}),
            anthropic_delta(0, "input_json_delta", partial_json=words),
        ),
        ("anthropic", "blocks that are not known"): (
            anthropic_start(),
            anthropic_event("content_block_start", index=12345, content_block={"type": "new", "words": words})
            + anthropic_event("content_block_stop", index=12345),
        ),
        ("anthropic", "calls of its own"): (
            anthropic_start(),
            anthropic_event(
                "content_block_start",
                index=12345,
                content_block={"type": "server_tool_use", "id": "12345", "name": "x", "input": {"words": words}},
            )
            + anthropic_event("content_block_stop", index=12345),
        ),
        ("anthropic", "a block that is not known"): (
            block("new", words="a"),
            anthropic_delta(0, "new_delta", words=words),
        ),
    }


FLOODS: dict[str, tuple[Api, Flood]] = {
    **{
        f"{api}: {size} pieces of {what}": (api, growing(api, piece))
        for api in APIS
        for size, length in SIZES.items()
        for what, piece in said(length).items()
    },
    **{
        f"text behind {opening.strip()[:12]}": ("openai-chat", unclosed(opening))
        for opening in ("<think>\n", '<tool_call>\n{"name": "calculator_evaluate", "arguments": {"expression": "')
    },
    **{f"{api}: {what}": (api, flood) for (api, what), flood in kept_back(WORDS).items()},
}


@pytest.mark.parametrize("flood", FLOODS)
async def test_an_endless_answer_costs_a_bounded_memory_and_ends_with_its_limit(tmp_path: Path, flood: str) -> None:
    api, (before, piece) = FLOODS[flood]
    part = 0.5 if "tiny" in flood else 1.0
    asked: dict[str, float] = {}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.update(at=time.monotonic(), bytes=psutil.Process(process.pid).memory_info().rss)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + before)
        numbers = count()
        while True:
            together = islice(numbers, AHEAD // len(piece) + 1)
            writer.write(b"".join(piece.replace(NUMBER, b"%05d" % number) for number in together))
            await writer.drain()

    async with raw_server(answer) as port:
        fanout = Fanout(tmp_path)
        process = fanout.start(
            "run",
            *("-m", f"{PROVIDERS[api]}/test-model", "--base-url", f"http://127.0.0.1:{port}"),
            *("--mcp", "calculator", "--timeout", str(LIMIT * part), *(["--no-save"] if "fat" in flood else [])),
            "go",
            env={"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"},
            stdout=subprocess.DEVNULL,
        )
        most, late = await peak(process, asked, LIMIT * part)
    _, said = process.communicate()
    assert process.returncode in (1, 124), said.decode()
    assert most - asked["bytes"] < COST * part, f"{(most - asked['bytes']) / 2**20:.0f} MB"
    assert late * LOOK < GRACE


async def peak(process: subprocess.Popen[bytes], asked: Mapping[str, float], limit: float) -> tuple[int, int]:
    """The most bytes that it took, and how often it was looked at after its limit: a machine that is busy with
    something else gives both fewer turns a second."""
    late, most, ended = 0, 0, asyncio.ensure_future(asyncio.to_thread(process.wait))
    looked_at = psutil.Process(process.pid)
    while not ended.done():
        try:
            most = max(most, looked_at.memory_info().rss)
        except psutil.NoSuchProcess:
            pass
        late += time.monotonic() > asked.get("at", math.inf) + limit
        await asyncio.wait({ended}, timeout=LOOK)
    return most, late

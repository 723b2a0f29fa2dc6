"""A model's endpoint for the benchmarks: a process of its own that streams scripted answers and notes the times.

The model's name in the request says what is wanted:

- `tokens-5000` sends 5,000 tokens of mixed Markdown as fast as they are read; `tokens-2400-300` sends 300 a second
- `calls-8` asks for eight calls of one second, then, given their results, ends with a sentence
- `batches-10` asks for three instant calls a request with a paragraph before them, ten times
- `rounds-120` asks for one instant call a request with a paragraph before it, 120 times
- `agents-32-10` sends 32 agents, each of which makes ten calls of one second, one after the other
- `hangs-10000` asks for 10,000 calls that are never answered, `news-256-logs` for 256 that send nothing but news
- `arguments-100` asks for a hundred calls with a megabyte of arguments each, `argument-100` for one with all of them
- `endless-0` sends text that never ends

Chat Completions and Anthropic Messages are spoken; `GET /times` gives what was noted: `{"event", "at", "prompt"}` in
the seconds of this machine's monotonic clock.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterable
from itertools import repeat
from typing import Any

from benchmarks.text import SECTION, tokens


def chat(deltas: list[dict[str, Any]], finish: str) -> list[bytes]:
    """The stream of a Chat Completions answer."""

    def event(choices: list[dict[str, Any]], **rest: Any) -> bytes:
        body = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "bench", "choices": choices}
        return f"data: {json.dumps({**body, **rest})}\n\n".encode()

    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        return event([{"index": 0, "delta": delta, "finish_reason": reason}])

    count = len(deltas)
    usage = event([], usage={"prompt_tokens": 100, "completion_tokens": count, "total_tokens": 100 + count})
    return [*(chunk(delta) for delta in deltas), chunk({}, finish) + usage + b"data: [DONE]\n\n"]


def chat_text(words: list[str]) -> list[dict[str, Any]]:
    return [{"content": word} for word in words]


def chat_calls(calls: list[tuple[str, dict[str, Any]]], tag: str) -> list[dict[str, Any]]:
    return [
        {
            "tool_calls": [
                {
                    "index": index,
                    "id": f"{tag}_{index}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
            ]
        }
        for index, (name, arguments) in enumerate(calls)
    ]


def anthropic(words: list[str], calls: list[tuple[str, dict[str, Any]]], tag: str) -> list[bytes]:
    """The stream of a Messages answer."""

    def event(kind: str, **body: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **body})}\n\n".encode()

    usage = {"input_tokens": 100, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "bench", "usage": usage}
    out = [event("message_start", message={**message, "content": [], "stop_reason": None, "stop_sequence": None})]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if words:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": word} for word in words]))
    for index, (name, arguments) in enumerate(calls):
        start: dict[str, Any] = {"type": "tool_use", "id": f"{tag}_{index}", "name": name, "input": {}}
        blocks.append((start, [{"type": "input_json_delta", "partial_json": json.dumps(arguments)}]))
    for index, (start, deltas) in enumerate(blocks):
        out.append(event("content_block_start", index=index, content_block=start))
        out += [event("content_block_delta", index=index, delta=delta) for delta in deltas]
        out.append(event("content_block_stop", index=index))
    reason = "tool_use" if calls else "end_turn"
    out.append(
        event(
            "message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": len(words)}
        )
        + event("message_stop")
    )
    return out


def one_large_call(megabytes: int) -> list[bytes]:
    """The stream of a Chat Completions answer with one call whose arguments come in pieces of 16 kB."""
    piece = {"tool_calls": [{"index": 0, "function": {"arguments": "x" * 2**14}}]}
    first = chat_calls([("silent_work", {})], "call")[0]
    first["tool_calls"][0]["function"]["arguments"] = '{"text": "'
    return chat([first, *repeat(piece, megabytes * 64)], "tool_calls")


class Endpoint:
    """Answers requests and keeps the times of what it did."""

    def __init__(self) -> None:
        self.times: list[dict[str, Any]] = []

    def note(self, event: str, **more: Any) -> None:
        self.times.append({"event": event, "at": time.monotonic(), **more})

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, kept alive."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = next((int(v) for k, v in _headers(head) if k == "content-length"), 0)
                body = await reader.readexactly(length)
                await self._answer(head.split(" ")[1], body, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, path: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        if path == "/times":
            data = json.dumps(self.times).encode()
            self.times.clear()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
            writer.write(head.encode() + data)
            return await writer.drain()
        request = json.loads(body)
        prompt = next((one["content"] for one in request["messages"] if one["role"] == "user"), "")
        self.note("request", prompt=str(prompt))
        pieces, rate = plan(path, request, str(prompt))
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
        start = time.monotonic()
        for count, piece in enumerate(pieces):
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if rate:
                await asyncio.sleep(max(0.0, start + count / rate - time.monotonic()))
            await writer.drain()
        self.note("last byte", prompt=str(prompt))
        writer.write(b"0\r\n\r\n")
        return await writer.drain()


def _headers(head: str) -> list[tuple[str, str]]:
    pairs = [line.partition(":") for line in head.split("\r\n")[1:] if line]
    return [(key.strip().lower(), value.strip()) for key, _, value in pairs]


def plan(path: str, request: dict[str, Any], prompt: str) -> tuple[Iterable[bytes], float]:
    """What to send for a request, and how many pieces a second (0: as fast as it is read)."""
    kind, *more = request["model"].split("-")
    count = int(more[0])
    rate = float(more[1]) if kind == "tokens" and len(more) > 1 else 0.0
    answered = sum(_results(message) for message in request["messages"])
    words: list[str] = []
    calls: list[tuple[str, dict[str, Any]]] = []
    match kind:
        case "tokens":
            words = tokens(count)
        case "calls" if not answered:
            calls = [
                ("demo_long_task", {"task": f"t{n}", "duration_seconds": 1, "interval_seconds": 1})
                for n in range(count)
            ]
        case "agents" if "agent " in prompt and answered < int(more[1]):
            calls = [("demo_long_task", {"task": f"t{answered}", "duration_seconds": 1, "interval_seconds": 1})]
        case "agents" if not answered:
            calls = [("fanout_agent", {"task": f"agent {n}"}) for n in range(count)]
        case "batches" if answered < 3 * count:
            words = SECTION.format(n=answered).split(" ")[:40]
            calls = [("calculator_evaluate", {"expression": f"{answered}+{n}"}) for n in range(3)]
        case "rounds" if answered < count:
            words = SECTION.format(n=answered).split(" ")[:40]
            calls = [("calculator_evaluate", {"expression": f"{answered}+1"})]
        case "hangs" if not answered:
            calls = [("silent_work", {"n": n}) for n in range(count)]
        case "news" if not answered:
            calls = [(f"{more[1]}_work", {"steps": 10**9, "n": n}) for n in range(count)]
        case "arguments" if not answered:
            calls = [("silent_work", {"text": "x" * 2**20, "n": n}) for n in range(count)]
        case "argument" if not answered:
            return one_large_call(count), 0.0
        case "endless":
            return repeat(b"".join(chat(chat_text(tokens(200)), "stop")[:-1])), 0.0
        case _:
            words = ["All ", "done: ", "finis"]
    tag = f"call_{answered}"
    if path.endswith("/messages"):
        return anthropic(words, calls, tag), rate
    return chat(chat_text(words) + chat_calls(calls, tag), "tool_calls" if calls else "stop"), rate


def _results(message: dict[str, Any]) -> int:
    if message["role"] == "tool":
        return 1
    content: str | list[dict[str, Any]] = message.get("content") or []
    return 0 if isinstance(content, str) else sum(block.get("type") == "tool_result" for block in content)


async def main() -> None:
    """Serves on a free port of the loopback, printed on the first line, until standard input closes."""
    server = await asyncio.start_server(Endpoint().serve, "127.0.0.1", 0, limit=1 << 26)
    print(server.sockets[0].getsockname()[1], flush=True)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main())

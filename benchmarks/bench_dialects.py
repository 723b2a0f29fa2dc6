"""How fast answers are read for calls, beside `json.loads`: `python -m benchmarks.bench_dialects`.

Megabytes of text a second of processor time, the more the better. The ratio to `json.loads`, reading the same calls as
one JSON list, is what is worth comparing between machines. Below that, answers of 10 MB that only seem to call: seconds
in all, and how long the event loop is held at most.

Measured on two cores under load, Python 3.11, user time: Markdown 13 to 22 MB/s whole, 8 to 9 in pieces of 64, 2 in
pieces of 4; one call of 1 MB 20 to 28 ms whole, 54 to 66 ms in pieces of 64; 12,000 calls 1.3 to 1.4 MB/s; 10 MB of
openers 0.2 to 1.7 s, 29 ms at most at once.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.text import tokens
from console_app.dialects import Scanner, ToolSignature, parse, render_calls

SIZE = 400_000
TOOLS = [
    ToolSignature(
        "write_file",
        {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}, "mode": {"type": "integer"}},
            "required": ["path", "content"],
        },
    )
]


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, Any]


def speed(read: Callable[[], object], size: int) -> float:
    """Megabytes a second, the best of three."""
    best = float("inf")
    for _ in range(3):
        begun = time.process_time()
        read()
        best = min(best, time.process_time() - begun)
    return size / 1e6 / max(best, 1e-9)


FLOOD = 10_000_000
OPENERS = ("{", "<", '[{"name":', "<tool_call>", "<tool_call>{'</tool_call>", "\n```json\n", "\n<a>", '"“')
PIECE = 2_000  # characters that the text protocol hands to a scanner at once, on the event loop


def flood(text: str) -> tuple[float, float]:
    """Seconds of processor time that an answer takes in all, and the most that a piece of it takes. Its end is read in
    a thread and counts only for the first.
    """
    scanner, pieces = Scanner(TOOLS), list[float]()
    begun = time.process_time()
    for start in range(0, len(text), PIECE):
        before = time.process_time()
        scanner.feed(text[start : start + PIECE])
        pieces.append(time.process_time() - before)
    scanner.finish()
    return time.process_time() - begun, max(pieces)


def main() -> None:
    words = "".join(tokens(SIZE // 4))
    small = [Call("write_file", {"path": f"src/part_{n}.py", "content": "x = 1\n" * 8, "mode": n}) for n in range(3000)]
    large = [Call("write_file", {"path": "notes.md", "content": words})]
    listed = json.dumps([{"name": call.name, "arguments": call.arguments} for call in small])
    yardstick = speed(lambda: json.loads(listed), len(listed))
    table: list[tuple[str, float]] = [(f"json.loads, {len(small)} calls in one list", yardstick)]
    for chunk, how in ((None, "whole"), (64, "64 characters at a time"), (4, "4 characters at a time")):
        table.append((f"prose without calls, {how}", speed(lambda c=chunk: parse(words, TOOLS, c), len(words))))
        for dialect in ("hermes_json", "qwen3_coder_xml", "bare_json_lines", "pythonic_list", "gemma4", "harmony"):
            text = render_calls(dialect, small, TOOLS)
            rate = speed(lambda t=text, c=chunk: parse(t, TOOLS, c), len(text))
            table.append((f"{dialect}, {len(small)} calls, {how}", rate))
        for dialect in ("hermes_json", "qwen3_coder_xml"):
            text = render_calls(dialect, large, TOOLS)
            rate = speed(lambda t=text, c=chunk: parse(t, TOOLS, c), len(text))
            table.append((f"{dialect}, one long argument, {how}", rate))
    many = [Call("write_file", {"path": f"{n:05}", "content": ""}) for n in range(12_000)]
    for dialect in ("hermes_json", "qwen3_coder_xml", "gemma4"):
        text = render_calls(dialect, many, TOOLS)
        table.append((f"{dialect}, {len(many)} short calls, whole", speed(lambda t=text: parse(t, TOOLS), len(text))))
    for what, rate in table:
        sys.stdout.write(f"{what:<58} {rate:8.1f} MB/s {rate / yardstick:7.3f} of json.loads\n")
    for opener in OPENERS:
        text = (opener * (FLOOD // len(opener) + 1))[:FLOOD]
        spent, longest = flood(text)
        sys.stdout.write(
            f"{f'10 MB of {opener!r}':<58} {spent:8.2f} s in all, {longest * 1000:5.0f} ms at most at once\n"
        )


if __name__ == "__main__":
    main()

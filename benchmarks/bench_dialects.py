"""How fast answers are read for calls, beside `json.loads`: `python -m benchmarks.bench_dialects`.

Megabytes of text a second of processor time, the more the better. The ratio to `json.loads`, reading the same calls as
one JSON list, is what is worth comparing between machines.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.text import tokens
from console_app.dialects import ToolSignature, parse, render_calls

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


def main() -> None:
    words = "".join(tokens(SIZE // 4))
    small = [Call("write_file", {"path": f"src/part_{n}.py", "content": "x = 1\n" * 8, "mode": n}) for n in range(3000)]
    large = [Call("write_file", {"path": "notes.md", "content": words})]
    listed = json.dumps([{"name": call.name, "arguments": call.arguments} for call in small])
    yardstick = speed(lambda: json.loads(listed), len(listed))
    table: list[tuple[str, float]] = [(f"json.loads, {len(small)} calls in one list", yardstick)]
    for chunk, how in ((None, "whole"), (4, "4 characters at a time")):
        table.append((f"prose without calls, {how}", speed(lambda c=chunk: parse(words, TOOLS, c), len(words))))
        for dialect in ("hermes_json", "qwen3_coder_xml", "bare_json_lines", "pythonic_list", "gemma4", "harmony"):
            text = render_calls(dialect, small, TOOLS)
            rate = speed(lambda t=text, c=chunk: parse(t, TOOLS, c), len(text))
            table.append((f"{dialect}, {len(small)} calls, {how}", rate))
        for dialect in ("hermes_json", "qwen3_coder_xml"):
            text = render_calls(dialect, large, TOOLS)
            rate = speed(lambda t=text, c=chunk: parse(t, TOOLS, c), len(text))
            table.append((f"{dialect}, one long argument, {how}", rate))
    for what, rate in table:
        sys.stdout.write(f"{what:<58} {rate:8.1f} MB/s {rate / yardstick:7.3f} of json.loads\n")


if __name__ == "__main__":
    main()

"""How fast answers are read for calls, beside `json.loads` and smolagents: `python -m benchmarks.bench_dialects`.

Megabytes of text a second of processor time, the more the better. The ratio to `json.loads`, reading the same calls as
one JSON list, is what is worth comparing between machines. Below that, answers of 10 MB that only seem to call: seconds
in all, and how long the event loop is held at most. smolagents is no dependency: where it is not installed beside
Fanout (`pip install smolagents`), a line says so.

Measured on 29 November 2026, two cores, Python 3.11, json.loads at 175 MB/s for 3,000 calls: Markdown 20 MB/s whole,
10 in pieces of 64, 2.4 in pieces of 4; 12,000 calls 2.5 to 3.4 MB/s; 10 MB of openers 0.3 to 2.1 s, 5 to 18 ms of
processor time at most at once. One long argument, json.loads at 1,130 MB/s meanwhile: 36 MB/s as JSON, 610 between
tags. Of the 344 answers of `tests/textcalls/corpus.jsonl`, which call or only quote in all forms, Fanout reads all as
they are meant. smolagents 1.26 (measured on 23 November) reads 103 so and takes 7 for calls that are none; it looks
for the first and the last brace, and reads one long argument at 600 to 620 MB/s.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.console import parser
from benchmarks.text import tokens
from console_app.textcalls import Scanner, ToolSignature, parse, prepare, render_calls
from console_app.textcalls.model import WrittenCall as Call

SIZE = 400_000
CORPUS = Path(__file__).parent.parent / "tests" / "textcalls" / "corpus.jsonl"
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
PIECE = 1_000  # characters that the text protocol hands to a scanner at once, on the event loop


def flood(text: str) -> tuple[float, float, float]:
    """Seconds of processor time that an answer takes in all, and the most that a piece of it takes: of processor time,
    and by the clock. Its end is read in a thread and counts only for the first.
    """
    scanner, pieces, waits = Scanner(TOOLS), list[float](), list[float]()
    begun = time.process_time()
    for start in range(0, len(text), PIECE):
        before, looked = time.process_time(), time.perf_counter()
        scanner.feed(text[start : start + PIECE])
        waits.append(time.perf_counter() - looked)
        pieces.append(time.process_time() - before)
    scanner.finish()
    return time.process_time() - begun, max(pieces), max(waits)


def smolagents() -> Any:
    """The module with its parser, or None."""
    try:
        return importlib.import_module("smolagents.utils")
    except ImportError:
        sys.stdout.write("smolagents is not installed: its parser is left out\n")
        return None


def beside_smolagents(words: str, utils: Any) -> list[tuple[str, float]]:
    """One call of a long argument as smolagents has its models write it, read by it and by us."""
    text = render_calls("smol_action", [Call("write_file", {"path": "notes.md", "content": words})], TOOLS)
    ours = speed(lambda: parse(text, TOOLS), len(text))
    loaded = speed(lambda: json.loads(text[text.index("{") :]), len(text))
    rows = [("json.loads, one long argument", loaded), ("smol_action, one long argument, whole", ours)]
    if utils:
        rows.append(("smolagents' parser, the same", speed(lambda: utils.parse_json_blob(text), len(text))))
    return rows


Calls = list[tuple[str, Any]]
NAMES, ARGUMENTS = ("name", "tool_name", "tool"), ("arguments", "tool_arguments", "parameters")


def read_by_smolagents(utils: Any, text: str) -> Calls:
    """The call that its parser finds, under any of the keys that it or its prompts know."""
    try:
        found: dict[str, Any] = utils.parse_json_blob(text)[0]
    except ValueError:
        return []
    name = next((found[key] for key in NAMES if isinstance(found.get(key), str)), None)
    return [(name, next((found[key] for key in ARGUMENTS if key in found), dict[str, Any]()))] if name else []


def in_corpus(read: Callable[[str, list[ToolSignature]], Calls]) -> tuple[int, int, int]:
    """How many answers there are, how many are read as meant, and how many are taken for calls and are none."""
    cases = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
    right = made = 0
    for case in cases:
        tools = [ToolSignature(tool["name"], tool["parameters"]) for tool in case["tools"]]
        wanted = [(call["name"], call["arguments"]) for call in case["expected"].get("calls") or ()]
        calls = read(case["text"], tools)
        right += calls == wanted
        made += bool(calls and not wanted)
    return len(cases), right, made


def main() -> None:
    """Prints a line a dialect and a way to cut it."""
    parser(__doc__).parse_args()
    prepare()  # as the program does before there is an answer
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
        listed = json.dumps([{"name": call.name, "arguments": call.arguments} for call in many])
        table.append((f"json.loads, {len(many)} short calls", speed(lambda t=listed: json.loads(t), len(listed))))
    one = render_calls("hermes_json", many[:1], TOOLS).replace("\n", "")
    for how, text in (
        ("wanted, on lines", f"{one}\n"),
        ("asking, in prose", f"So {one} it is. "),
        ("quoted", f"> {one}\n"),
    ):
        text *= 15_000
        table.append((f"15,000 calls, {how}", speed(lambda t=text: parse(t, TOOLS), len(text))))
    utils = smolagents()
    table += beside_smolagents(words, utils)
    for what, rate in table:
        sys.stdout.write(f"{what:<58} {rate:8.1f} MB/s {rate / yardstick:7.3f} of json.loads\n")
    readers: dict[str, Callable[[str, list[ToolSignature]], Calls]] = {
        "Fanout": lambda text, tools: [(call.name, call.arguments) for call in parse(text, tools).calls]
    }
    if utils:
        readers["smolagents"] = lambda text, _: read_by_smolagents(utils, text)
    for who, read in readers.items():
        size, right, made = in_corpus(read)
        sys.stdout.write(
            f"{who}: {right} of {size} answers are read as meant, {made} are taken for calls and are none\n"
        )
    for opener in OPENERS:
        text = (opener * (FLOOD // len(opener) + 1))[:FLOOD]
        spent, longest, held = flood(text)
        sys.stdout.write(
            f"{f'10 MB of {opener!r}':<58} {spent:8.2f} s in all, {longest * 1000:5.0f} ms at most at once"
            f" ({held * 1000:.0f} by the clock)\n"
        )


if __name__ == "__main__":
    main()

"""The tests of dialects share a corpus, tools, strict comparison, and a reader of events."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from console_app.textcalls import ReadingLevel, Scanner, ToolSignature
from console_app.textcalls.model import (
    CallArgumentsDelta,
    CallNamed,
    CallRetracted,
    Rewritten,
    ScanEvent,
    ScanResult,
    VisibleText,
)

CORPUS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("corpus.jsonl").read_text(encoding="utf-8").splitlines()
]


def schema(required: Sequence[str] = (), **types: str) -> dict[str, Any]:
    """A schema of parameters with one simple type each."""
    properties = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TOOLS = [
    ToolSignature("read_file", schema(["path"], path="string", start_line="integer")),
    ToolSignature("write_file", schema(["path", "content"], path="string", content="string")),
    ToolSignature("run_command", schema(["command"], command="string", timeout="number", background="boolean")),
    ToolSignature("get_weather", schema(["city"], city="string", days="integer")),
    ToolSignature("ping", schema()),
]


def tools_of(case: dict[str, Any]) -> list[ToolSignature]:
    return [ToolSignature(tool["name"], tool["parameters"]) for tool in case["tools"]]


def called(result: ScanResult) -> list[tuple[str, dict[str, Any]]]:
    """The calls as pairs of name and arguments."""
    return [(call.name, call.arguments) for call in result.calls]


def folded(text: str) -> str:
    return " ".join(text.split())


def identical(one: Any, other: Any) -> bool:
    """Equal with equal types throughout: 3 is not 3.0, and neither is True."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(identical(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(identical, one, other))
    return repr(one) == repr(other)


@dataclass
class Screen:
    """The screen of someone who follows the events: the text, and the panels of calls by index."""

    text: str = ""
    panels: dict[int, str] = field(default_factory=dict[int, str])
    arguments: dict[int, str] = field(default_factory=dict[int, str])
    rewritten: bool = False

    def follow(self, events: Sequence[ScanEvent]) -> None:
        for event in events:
            match event:
                case VisibleText(text):
                    self.text += text
                case CallNamed(index, name, _):
                    assert index not in self.panels, "a panel is opened once"
                    self.panels[index] = name
                    self.arguments[index] = ""
                case CallArgumentsDelta(index, text):
                    assert text, "a piece without text tells nothing"
                    self.arguments[index] += text
                case CallRetracted(index):
                    del self.panels[index]
                case Rewritten(content):
                    self.text, self.rewritten = content, True


def watched(
    text: str,
    tools: Sequence[ToolSignature],
    sizes: Sequence[int],
    finish_reason: str | None = None,
    level: ReadingLevel = "all",
) -> tuple[ScanResult, Screen, str]:
    """Feed `text` in pieces of the given sizes, over and over; the result, the screen at the end, the text as
    streamed.
    """
    scanner, screen, position, turn = Scanner(tools, level=level), Screen(), 0, 0
    while position < len(text):
        size = sizes[turn % len(sizes)]
        screen.follow(scanner.feed(text[position : position + size]))
        position += size
        turn += 1
    streamed = screen.text
    result = scanner.finish(finish_reason)
    screen.follow([event for event in scanner.tail_events if not isinstance(event, Rewritten)])
    streamed = screen.text
    screen.follow([event for event in scanner.tail_events if isinstance(event, Rewritten)])
    return result, screen, streamed

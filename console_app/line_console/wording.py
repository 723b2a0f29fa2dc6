"""Word calls, turns and amounts for the line console."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from console_app.console import files
from console_app.domain import Artifact, Outcome, amounts, call_description, displayed, one_line, plural
from console_app.domain.transcript import CallView, TurnView, results

BRIEF = 160  # characters of a result or of arguments that are said by themselves
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")


def state_of(call: CallView) -> str:
    """Return the state of a call in a word or two."""
    return call_description.state_of(call)[1]


def label_of(call: CallView) -> str:
    """`server.tool`, or the name that the model used; of an agent's call behind its path, and an agent by its name."""
    name = f"{call.server}.{call.tool}" if call.server else call.name
    name = f"agent {call.agent_name}".rstrip() if call.is_agent else name
    return one_line(f"{call.agent}: {name}" if call.agent else name, 80)


def brief_arguments(arguments: Mapping[str, Any] | None) -> str:
    """Arguments in one line, "" for none."""
    pairs = (f"{name} {_value(value)}" for name, value in (arguments or {}).items())
    return one_line(", ".join(pairs), BRIEF)


def change_lines(change: files.FileChange) -> Iterator[str]:
    """Yield the lines that a call would add to a file or take from it, in words: nobody hears signs read out."""
    for (mark, numbered), group in groupby(change.lines, lambda line: (line.mark, line.name.isdecimal())):
        lines = list(group)
        if mark != " ":
            first, last = lines[0].name, lines[-1].name
            where = f"line {first}" if first == last else f"lines {first} to {last}"
            texts = [line.text for line in lines]
            said = f": {texts[0]}" if len(texts) == 1 else f":\n{_indented(chr(10).join(texts))}"
            yield f"  {'Removed' if mark == '-' else 'Added'}, {where}{said}"
        elif not numbered and lines[0].text != displayed.FOLD:
            yield f"  {lines[0].text}"
    if change.warning:
        yield f"Warning: {change.warning}."


def came_of(call: CallView) -> str:
    """Say briefly how a call ended and what it returned."""
    parts = [call_description.in_words(call)]
    if call.duration_ms:
        parts.append(f"after {amounts.measured(call.duration_ms / 1000)}")
    text = uncoloured(results.shown_text(call))
    if call.outcome in (Outcome.CANCELLED, Outcome.DENIED):  # what else there is, the model is told
        sent = f"It had sent {plural(call.logged, 'line')}." if call.logged else ""
        text = call.error or sent
    elif call.outcome is not Outcome.SUCCEEDED:
        text = "" if call.error == parts[0] else call.error or text
    line = " ".join(parts) + (f": {one_line(text, BRIEF)}" if text else "")
    if (more := text.strip().count("\n")) > 0:
        line += f" ({more + 1} lines)"
    if call.artifacts:
        line = f"{line.rstrip('.')}. Files: {'; '.join(map(file_in_words, call.artifacts))}"
    return line


def uncoloured(text: str) -> str:
    """Without the codes of a terminal's colours, which would be read out letter by letter."""
    return _COLOURS.sub("", text)


def file_in_words(file: Artifact) -> str:
    """`chart.png, picture, 640x480 PNG, 12 KB`, `report.pptx, 31 KB`."""
    facts = f"picture, {file.picture_facts.replace(' · ', ', ')}" if file.is_picture else amounts.size(file.size)
    return f"{one_line(file.name, 60)}, {facts}"


def turn_lines(turn: TurnView, number_of: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for everything that was said and done in a turn."""
    yield f"You: {turn.prompt}"
    for step in turn.steps:
        yield from (f"{thought.label}: {thought.text}" for thought in step.thoughts)
        for part in step.parts:
            if part.text:
                yield f"Answer: {part.text}"
            for call in part.calls:
                arguments = brief_arguments(call.arguments)
                name = f"{call.indent}Call {number_of[call.id]}, {label_of(call)}"
                yield f"{name}{f', {arguments}' if arguments else ''}: {came_of(call)}"
        yield from (f"You, while it ran: {message.content}" for message in step.steered)
    if turn.outcome not in (None, "completed"):
        yield f"Turn {turn.number} {(turn.outcome or '').replace('_', ' ')}. {one_line(turn.error or '', 400)}".strip()


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())

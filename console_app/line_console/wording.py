"""Number and word calls, and word turns and amounts, for the line console."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from console_app.console import files
from console_app.domain import (
    Artifact,
    Outcome,
    UsageError,
    amounts,
    call_description,
    displayed,
    one_line,
    plural,
    safe_text,
)
from console_app.domain.transcript import CallView, Transcript, TurnView, results

BRIEF = 160  # characters of a result or of arguments that are said by themselves
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")


class CallNumbers:
    """Numbers the calls of one console, over all its sessions. `transcript` is that of the session that is open. A call
    gets its number when it is first told of, and no other call gets it again. So a number that was typed can never
    reach another call, however late it is read."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self._numbers: dict[tuple[int, str], int] = {}
        self._session = 0

    def another_session(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self._session += 1

    def of(self, call_id: str) -> int:
        return self._numbers.setdefault((self._session, call_id), len(self._numbers) + 1)

    def call(self, word: str) -> CallView:
        """Return the call of a typed number. Raises UsageError where there is none."""
        if word.isdecimal():
            for (session, call_id), number in self._numbers.items():
                if number == int(word) and session == self._session and call_id in self.transcript.calls:
                    return self.transcript.calls[call_id]
        what = f"there is no call {word[:20]}" if word else "a call is named by its number"
        raise UsageError(what, "/calls lists them.")

    def named(self, calls: Iterable[CallView]) -> str:
        *numbers, last = [str(self.of(call.id)) for call in calls]
        return f"calls {', '.join(numbers)} and {last}" if numbers else f"call {last}"


def state_of(call: CallView) -> str:
    return call_description.state_of(call)[1]


def label_of(call: CallView) -> str:
    """`server.tool`, or the name that the model used; of an agent's call behind its path, and an agent by its name."""
    name = f"{call.server}.{call.tool}" if call.server else call.name
    name = f"agent {call.agent_name}".rstrip() if call.is_agent else name
    return one_line(f"{call.agent}: {name}" if call.agent else name, 80)


def brief_arguments(arguments: Mapping[str, Any] | None) -> str:
    pairs = (f"{name} {safe_text.as_text(value)}" for name, value in (arguments or {}).items())
    return one_line(", ".join(pairs), BRIEF)


def change_lines(change: files.FileChange) -> Iterator[str]:
    """Yield the lines that a call would add to a file or take from it, in words: nobody hears signs read out."""
    for (mark, numbered), group in groupby(change.lines, lambda line: (line.mark, line.name.isdecimal())):
        lines = list(group)
        if mark != " ":
            first, last = lines[0].name, lines[-1].name
            where = f"line {first}" if first == last else f"lines {first} to {last}"
            texts = "\n".join(line.text for line in lines)
            indented = "\n".join(f"    {line}" for line in texts.splitlines())
            said = f": {texts}" if len(lines) == 1 else f":\n{indented}"
            yield f"  {'Removed' if mark == '-' else 'Added'}, {where}{said}"
        elif not numbered and lines[0].text != displayed.FOLD:
            yield f"  {lines[0].text}"
    if change.warning:
        yield f"Warning: {change.warning}."


def came_of(call: CallView) -> str:
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
    return _COLOURS.sub("", text)


def file_in_words(file: Artifact) -> str:
    """`chart.png, picture, 640x480 PNG, 12 KB`, `report.pptx, 31 KB`."""
    facts = f"picture, {file.picture_facts.replace(' · ', ', ')}" if file.is_picture else amounts.size(file.size)
    return f"{one_line(file.name, 60)}, {facts}"


def turn_lines(turn: TurnView, number_of: Mapping[str, int]) -> Iterator[str]:
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
                yield from (f"{call.indent}{words}" for words in call_description.acts_in_words(call))
        yield from (f"You, while it ran: {message.content}" for message in step.steered)
    if turn.outcome not in (None, "completed"):
        yield f"Turn {turn.number} {(turn.outcome or '').replace('_', ' ')}. {one_line(turn.error or '', 400)}".strip()

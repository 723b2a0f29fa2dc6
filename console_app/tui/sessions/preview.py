"""What was said and called in a stored session, in a few lines: its facts, how it began, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from textual.content import Content

from console_app.domain.amounts import plural
from console_app.domain.events import MessageAdded
from console_app.domain.safe_text import one_line
from console_app.domain.tools import Outcome, ToolCall
from console_app.domain.transcript import ToModel, own_error, without_remarks
from console_app.sessions.tables import SessionInfo
from console_app.tui.lineview import parser

_WHO = {"user": ("▌ ", "$primary"), "assistant": ("▎ ", "$secondary"), "tool": ("  ", "$muted")}
_Line = Callable[[int], Content]  # of a width


def preview_lines(
    info: SessionInfo, counts: tuple[int, float | None], messages: Sequence[MessageAdded], width: int, height: int
) -> list[Content]:
    """At most `height` lines of `width` cells; of more messages than fit the middle is left out."""
    calls, cost = counts
    facts = [plural(info.turns, "turn"), plural(calls, "call")]
    facts += [f"${cost:.2f}"] if cost else []
    facts += [f"{info.provider}/{info.model}" if info.provider else info.model, info.id[:8], info.folder]
    lines = [Content.styled(one_line(" · ".join(part for part in facts if part), width), "$muted")]
    said = [part for message in messages for part in _lines(message)]
    room = max(height - len(lines), 0)
    if len(said) <= room:
        return [*lines, *(part(width) for part in said)]
    first = (room - 1) // 2
    last = max(room - 1 - first, 0)
    began, ended = ([part(width) for part in some] for some in (said[:first], said[len(said) - last :]))
    return [*lines, *began, Content.styled("  ⋯", "$muted"), *ended][:height]


def _lines(message: MessageAdded) -> list[_Line]:
    """A message may have thousands of calls: a line is made only where it is shown."""
    mark, style = _WHO[message.role]
    text = message.source or message.content
    if message.role == "tool":
        return [partial(_line, mark, style, _came(message.outcome, text), "$muted")]
    shown = plain(text[:1000]) if message.role == "assistant" else text[:400]
    lines: list[_Line] = [partial(_line, mark, style, shown, "$foreground")] if shown.strip() else []
    return [*lines, *(partial(_called, call) for call in message.tool_calls or ())]


def _called(call: ToolCall, width: int) -> Content:
    return _line("  ", "$muted", f"→ {call.name} {_brief(call.arguments)}", "$accent", width)


def _came(outcome: Outcome | None, text: str) -> str:
    """What came of a call, without what is said to the model alone."""
    word = "" if outcome is None else outcome.value.replace("_", " ")
    if outcome is Outcome.SUCCEEDED:
        return f"{word}: {text[:400]}"
    said = "" if outcome is Outcome.CANCELLED else own_error(without_remarks(text).removeprefix(ToModel.DENIED)).strip()
    return f"{word}: {said[:400]}" if said else f"{word} by you"


def plain(markdown: str) -> str:
    """Its words, without the marks that a conversation shows as styles; of nothing but marks, these."""
    words: list[str] = []
    for token in parser().parse(markdown):
        for part in token.children or [token]:
            words.append(" " if part.type in ("softbreak", "hardbreak") else part.content)
        words.append(" ")
    text = "".join(words)
    return text if text.strip() else markdown


def _line(mark: str, style: str, text: str, ink: str, width: int) -> Content:
    return Content.styled(mark, style) + Content.styled(one_line(text, max(width - len(mark), 1)), ink)


def _brief(arguments: str) -> str:
    """`name=value` of each argument; what is no JSON as it is."""
    try:
        values: Any = json.loads(arguments) if len(arguments) < 10_000 else None
    except ValueError:
        values = None
    if not isinstance(values, dict):
        return arguments[:400]
    return " ".join(f"{name}={value}" for name, value in values.items())  # pyright: ignore[reportUnknownVariableType]

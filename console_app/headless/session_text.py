"""Stored sessions as plain text: a line each in a list, a snippet each in a search, a whole conversation to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime

from console_app.domain import events as ev
from console_app.domain.safe_text import json_line, one_line, visible
from console_app.domain.transcript import Transcript, TurnView
from console_app.headless.writers import call_line, compaction_line
from console_app.sessions.recent import SHORT_ID
from console_app.sessions.tables import Hit, SessionInfo


def info_line(info: SessionInfo) -> str:
    """One session of a list."""
    turns = f"{info.turns} turn{'' if info.turns == 1 else 's'}"
    size = f"{info.size / 1e6:.1f} MB" if info.size >= 1e6 else f"{info.size / 1e3:.1f} kB"
    model = one_line(f"{info.provider}/{info.model}", 30)
    title = one_line(info.title, 100)
    return f"{info.id[:SHORT_ID]}  {_when(info.updated_at)}  {turns:>9}  {size:>8}  {model:<24}  {title}"


def info_json(info: SessionInfo) -> str:
    """The same for programs."""
    return json_line(asdict(info))


def hit_line(hit: Hit) -> str:
    """One place that a search found, the words in square brackets."""
    snippet = one_line(hit.snippet.replace("\x01", "[").replace("\x02", "]"), 200)
    return f"{hit.session_id[:SHORT_ID]}  {_when(hit.updated_at)}  {hit.role:<9}  {snippet}"


def hit_json(hit: Hit) -> str:
    """The same for programs; the words that were found are not marked."""
    return json_line({**asdict(hit), "snippet": hit.snippet.replace("\x01", "").replace("\x02", "")})


def conversation(events: Sequence[ev.Event]) -> Iterator[str]:
    """What was said and done, in paragraphs. Turns that were undone are not in it."""
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    for turn in transcript.turns:
        yield from _turn(turn)
        yield from (f"[{compaction_line(one)}]" for one in transcript.compactions if one.turn == turn.number)


def _turn(turn: TurnView) -> Iterator[str]:
    prompt = visible(turn.prompt).replace("\n", "\n> ")
    yield f"> {prompt}"
    for step in turn.steps:
        for thought in step.thoughts:
            yield f"({thought.label}) {visible(thought.text)}"
        if step.text:
            yield visible(step.text) + (" [cut off here]" if step.interrupted else "")
        if step.batch.calls:
            yield "\n".join(one_line(call_line(call), 400) for call in step.batch.calls)
        for message in step.steered:
            yield "> while it ran: " + visible(message.content).replace("\n", "\n> ")
    if turn.outcome not in (None, "completed"):
        reason = f": {one_line(turn.error)}" if turn.error else ""
        yield f"[{(turn.outcome or '').replace('_', ' ')}{reason}]"


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")

"""The messages to which a conversation can be rewound, and what of that no rewinding takes back: calls that ran and may
have changed something.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from console_app.domain import Outcome, one_line
from console_app.domain import events as ev
from console_app.domain.transcript import CallView, TurnView

T = TypeVar("T")
NAMED = 5  # calls that are named when they are not undone, and arguments of each; the rest is a number
NOT_RUN = frozenset({Outcome.DENIED, Outcome.BLOCKED, Outcome.SKIPPED, Outcome.INVALID})


@dataclass(frozen=True, slots=True)
class RewindPoint:
    """A message of yours: `turn` is the one that it began or, `steered`, that it joined as the `steered`th (from 1).
    `changes` are the calls from there on that are not undone."""

    prompt: str
    turn: int
    changes: tuple[CallView, ...]
    turns: int  # that are taken back, this one too
    steered: int = 0

    @property
    def about(self) -> str:
        """Say what rewinding to this message undoes."""
        what = "the rest of its turn" if self.steered else "1 turn"
        if self.turns > 1:
            what = f"{self.turns} turns"
        count = len(self.changes)
        calls = f" · {count} call{'' if count == 1 else 's'} not undone" if count else ""
        return f"undoes {what}{calls}"


def rewind_points(turns: Sequence[TurnView], only_reads: Callable[[str], bool]) -> list[RewindPoint]:
    """Return a point for each message, in order. `only_reads` says of a tool's wire name whether it changes nothing."""
    found: list[RewindPoint] = []
    changes: tuple[CallView, ...] = ()
    for number, turn in enumerate(reversed(turns), 1):
        steered = sum(len(step.steered) for step in turn.steps)
        for step in reversed(turn.steps):
            for message in reversed(step.steered):
                found.append(RewindPoint(message.source or message.content, turn.number, changes, number, steered))
                steered -= 1
            changes = (*(call for call in step.batch.calls if _changed(call, only_reads)), *changes)
        found.append(RewindPoint(turn.prompt, turn.number, changes, number))
    return found[::-1]


def not_undone(changes: Sequence[CallView]) -> str:
    """List the calls whose changes stay; "" where nothing was changed."""
    if not changes:
        return ""
    lines = ["Not undone, as these calls may have changed something:"]
    for call in changes[:NAMED]:
        lines += [f"- {one_line(call.label, 80)}", *_arguments(call.arguments or {})]
    if len(changes) > NAMED:
        lines.append(f"and {len(changes) - NAMED} more")
    return "\n".join(lines)


def seq_before(events: Sequence[ev.Event], point: RewindPoint) -> int | None:
    """Return the `seq` before a message that joined a turn while it ran; None when the message is not there."""
    steered = -1  # the first message of a turn is its prompt
    for event in events:
        if not isinstance(event, ev.MessageAdded) or event.agent or event.turn != point.turn:
            continue
        if event.role == "user" and event.origin == "user":
            steered += 1
            if steered == point.steered:
                return event.seq - 1
    return None


def _changed(call: CallView, only_reads: Callable[[str], bool]) -> bool:
    ran = chain((call.started_at,), (run.started_at for run in call.superseded))
    return any(at is not None for at in ran) and call.outcome not in NOT_RUN and not only_reads(call.name)


def _arguments(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in [*arguments.items()][:NAMED]:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        yield f"  {one_line(name, 40)}: {one_line(text, 60)}"
    if len(arguments) > NAMED:
        yield f"  and {len(arguments) - NAMED} more arguments"


def by_turn(points: Iterable[tuple[int, str, T]]) -> dict[str, T]:
    """Name the places to pick from, each by the number of its turn, if it is in one, and its words."""
    found: dict[str, T] = {}
    for turn, words, point in points:
        label = f"turn {turn} · {words}" if turn else words
        while label in found:
            label += " (again)"
        found[label] = point
    return found

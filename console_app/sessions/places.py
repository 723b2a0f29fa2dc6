"""Finds the places at which a session can be forked: before each prompt, and behind each answer with its calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from console_app.domain import events as ev
from console_app.domain import one_line

_TITLE = 100  # characters of a message that tell it from the others


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """A place: the fork has the events up to `up_to`. `prompt` comes next there, to be sent again or otherwise."""

    label: str
    up_to: int
    turn: int
    prompt: str = ""

    @classmethod
    def all_of(cls, events: Sequence[ev.Event]) -> list[ForkPoint]:
        found: list[ForkPoint] = []
        answer: ForkPoint | None = None
        for event in events:
            if event.agent:
                continue
            match event:
                case ev.TurnStarted():
                    found.append(
                        cls(f"before: {one_line(event.prompt, _TITLE)}", event.seq - 1, event.turn, event.prompt)
                    )
                case ev.MessageAdded() if event.role == "assistant":
                    if answer is not None:
                        found.append(answer)
                    answer = cls(_label(event), event.seq, event.turn)
                case ev.MessageAdded() | ev.TurnFinished() if answer is not None:
                    answer = replace(answer, up_to=event.seq)
                case ev.TurnUndone():
                    found = [_undone(place) if place.turn == event.undone else place for place in found]
                case _:
                    pass
            if answer is not None and isinstance(event, ev.StepStarted | ev.TurnFinished):
                found.append(answer)
                answer = None
        return found if answer is None else [*found, answer]

    @staticmethod
    def end_of(events: Sequence[ev.Event], turn: int) -> int | None:
        return max((event.seq for event in events if event.turn == turn), default=None)


def _label(event: ev.MessageAdded) -> str:
    calls = event.tool_calls or ()
    count = f"{len(calls)} call{'' if len(calls) == 1 else 's'}" if calls else ""
    text = one_line(event.content, _TITLE)
    return f"after: {' · '.join(part for part in (text, count) if part) or 'an empty answer'}"


def _undone(place: ForkPoint) -> ForkPoint:
    return replace(place, label=f"{place.label} (undone)")

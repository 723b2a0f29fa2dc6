"""Finds the places at which a session can be forked: before each prompt, and behind each answer with its calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from console_app.domain import Outcome, ToolMessage, UsageError, one_line
from console_app.domain import events as ev
from console_app.domain.transcript import ToModel

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


_PLACE = ("session_id", "turn", "step", "seq", "at")


@dataclass(frozen=True, slots=True)
class OtherResult:
    call_id: str
    content: str

    def put_into(self, events: Sequence[ev.Event]) -> list[ev.Event]:
        """Return events up to the results of the call's answer, with this one as the user's. Raises UsageError for a
        call without a result."""
        own = next((at for at, event in enumerate(events) if self._joins(event)), None)
        if own is None:
            raise UsageError("the model read no result of this call")
        end = own + 1
        while end < len(events) and _goes_along(events[end]):
            end += 1
        kept = [event for event in events[:end] if not self._is_output(event)]
        finished = max((at for at, event in enumerate(kept) if self._ends(event)), default=-1)
        return [self._put(event) if at == finished or self._joins(event) else event for at, event in enumerate(kept)]

    def _joins(self, event: ev.Event) -> bool:
        return isinstance(event, ev.MessageAdded) and event.role == "tool" and event.tool_call_id == self.call_id

    def _ends(self, event: ev.Event) -> bool:
        return isinstance(event, ev.CallFinished) and event.call_id == self.call_id

    def _is_output(self, event: ev.Event) -> bool:
        return isinstance(event, ev.CallOutput) and event.call_id == self.call_id

    def _put(self, event: ev.Event) -> ev.Event:
        place: dict[str, Any] = {name: getattr(event, name) for name in _PLACE}
        if isinstance(event, ev.CallFinished):
            return ev.CallFinished(
                **place,
                call_id=self.call_id,
                outcome=Outcome.SUCCEEDED,
                content=self.content,
                duration_ms=event.duration_ms,
                by_user=True,
            )
        assert isinstance(event, ev.MessageAdded)
        message = ToolMessage(
            tool_call_id=self.call_id, content=f"{ToModel.YOURS}\n\n{self.content}", name=event.name or ""
        )
        return ev.MessageAdded(**place, **ev.MessageAdded.fields_of(message))


def _goes_along(event: ev.Event) -> bool:
    if event.agent:
        return True
    if isinstance(event, ev.MessageAdded):
        return event.role == "tool"
    return not isinstance(event, ev.StepStarted | ev.TurnFinished | ev.CallRestarted | ev.TurnStarted)

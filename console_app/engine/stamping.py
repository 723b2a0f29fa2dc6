"""Gives every event its place and time. One object a session, so that `seq` never repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from console_app.domain.events import Event

EventT = TypeVar("EventT", bound=Event)


class Stamper:
    """Numbers the events of one session. `clock` gives seconds since the epoch."""

    def __init__(self, session_id: str, clock: Callable[[], float], first_seq: int = 1) -> None:
        self.session_id = session_id
        self.clock = clock
        self._next = first_seq

    def stamp(self, event: EventT, turn: int = 0, step: int = 0) -> EventT:
        """`event` itself, which must be new, with its common fields filled in."""
        place = {"session_id": self.session_id, "turn": turn, "step": step, "seq": self._next, "at": self.clock()}
        self._next += 1
        # Events are frozen for everybody else; a copy would cost more than all else that is done for a token here.
        vars(event).update(place)
        event.__pydantic_fields_set__.update(place)
        return event

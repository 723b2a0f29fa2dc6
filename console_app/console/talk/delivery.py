"""Deliver what goes on to the front end: each event is stored, then shown.

An event that can't be shown is reported, and the turn goes on: the session is whole. Where one can't be stored the turn
is stopped; the rest of it is still shown, so that nothing seems to run that has ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from console_app.console.ui_port import UiPort
from console_app.domain import Event, FanoutError, one_line
from console_app.domain import events as ev
from console_app.sessions import Recorder

if TYPE_CHECKING:
    from console_app.domain import ports

FAULT = "Fanout failed"

log = logging.getLogger(__name__)


class Delivered(Protocol):
    """An activity, or the background: it gives its events in slices, and can be stopped."""

    async def next_slice(self, limit: int) -> Sequence[Event]: ...

    def cancel(self, why: str = "") -> None: ...


class Delivery:
    """Store and show the events of one conversation. `heard` is told of each event before it is shown. While it is
    `closing`, events are only stored."""

    def __init__(self, store: ports.SessionStore | None, ui: UiPort, heard: Callable[[Event], None]) -> None:
        self._recorder = Recorder(store)
        self._ui = ui
        self._heard = heard
        self.closing = False
        self._last_fault = ""  # the newest: one that comes with every event that is shown is told once

    async def one(self, event: Event) -> None:
        """Deliver a single event that belongs to no activity."""
        await self._recorder.one(event)
        self._show(event)

    async def all_of(self, activity: Delivered) -> str:
        """Deliver everything that happens in `activity`, which was entered; return how a turn ended, "failed" after a
        fault."""
        outcome = "failed"
        for recorder in (self._recorder, Recorder(None)):  # where storing fails, the rest is shown all the same
            try:
                async for events in recorder.slices(activity):
                    for event in events:
                        if isinstance(event, ev.TurnFinished) and not event.agent:
                            outcome = event.outcome
                        self._show(event)
                    if not self.closing:
                        await self._ui.next_slice()
                break
            except Exception as error:
                self.failed(error)
                activity.cancel(FAULT)
        return outcome

    def _show(self, event: Event) -> None:
        if self.closing:
            return
        try:
            if event.agent and isinstance(event, ev.MessageAdded) and event.role == event.origin == "user":
                self._was_read(event)
            self._heard(event)
            self._ui.show(event)
        except Exception as error:
            self.failed(error, once=True)

    def _was_read(self, event: ev.MessageAdded) -> None:
        """Tell that an agent has what was said to it; its first message is its task."""
        agent = self._ui.transcript.agents.get(event.agent)
        if agent is not None and agent.history:
            self._ui.toast(f"{one_line(event.agent, 40)} has read what you said.")

    def failed(self, error: Exception, *, once: bool = False) -> None:
        """Report a fault where that can be; with `once`, not again if it is the newest that was reported."""
        if isinstance(error, FanoutError):
            line = error.line
        else:
            log.error("a fault of the program", exc_info=error)
            line = f"Fanout made a mistake: {error!r}. /log has the details."
        try:
            if not once or line != self._last_fault:
                self._ui.tell("error", line)
            self._last_fault = line
        except Exception:
            log.exception("and it could not be told")

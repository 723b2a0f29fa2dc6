"""Calls that went to the background: no answer waits for them, and their results follow as messages. Whatever goes on
carries their events along; between two, whoever shows the conversation reads them here."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from console_app.domain import UserMessage
from console_app.domain import events as ev
from console_app.engine.calls.arguments import compact
from console_app.engine.calls.call_execution import CallExecution


class GoesOn(Protocol):
    @property
    def running(self) -> bool: ...

    def emit(self, event: ev.Event) -> None: ...


class RunsCalls(Protocol):
    def cancel(self, call: CallExecution) -> bool: ...

    def interrupt(self, call: CallExecution) -> bool: ...

    def extend(self, call: CallExecution) -> bool: ...


class Background:
    """The calls of one session that run on. `record` numbers an event of none of its activities, and `activity` is the
    one that goes on now."""

    def __init__(self) -> None:
        self.record: Callable[[ev.Event], ev.Event] = lambda event: event
        self.activity: Callable[[], GoesOn | None] = lambda: None
        self._calls: dict[str, tuple[CallExecution, RunsCalls]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._notes: dict[str, UserMessage] = {}  # what the model has to be told, by call
        self._events: deque[ev.Event] = deque()
        self._changed = asyncio.Event()
        self.on_first: Callable[[], None] = lambda: None  # called when a call goes there and none was

    def __contains__(self, call_id: object) -> bool:
        return call_id in self._calls

    def __len__(self) -> int:
        return len(self._calls)

    def take(self, call: CallExecution, executor: RunsCalls, task: asyncio.Task[None]) -> None:
        first = not self._calls
        self._calls[call.id] = (call, executor)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if first:
            self.on_first()

    def tell(self, event: ev.Event) -> None:
        """Tell an event with what goes on, else to the reader of this."""
        activity = self.activity()
        if activity is not None and activity.running:
            activity.emit(event)
        else:
            self._events.append(self.record(event))
            self._changed.set()

    def over(self, call: CallExecution) -> None:
        """Tell the model of a result at the next step, or at once where nothing goes on."""
        if self._calls.pop(call.id, None) is None or call.result is None:
            return
        result = call.as_message()  # fenced below, since a tool's words are not the user's
        text = (
            f"[Fanout: the call {call.name} {compact(call.arguments or {})}, which went to the background, has ended: "
            f"{result.outcome.value}. Its result, as the tool said it:]\n<result>\n{result.content}\n</result>"
        )
        self._notes[call.id] = UserMessage(content=text, origin="fanout", tells=call.id)
        activity = self.activity()
        if activity is None or not activity.running:
            self.join()
        self._changed.set()

    def notes(self) -> Sequence[UserMessage]:
        notes, self._notes = self._notes, {}
        return list(notes.values())

    def told(self, call_id: str) -> None:
        self._notes.pop(call_id, None)

    def join(self) -> None:
        """Add it to the history, while no answer is waited for."""
        for note in self.notes():
            self.tell(ev.MessageAdded.of(note))

    async def news(self) -> bool:
        while not self._notes:
            if not self._calls:
                return False
            self._changed.clear()
            await self._changed.wait()
        return True

    async def next_slice(self, limit: int, pause: float = 0.0) -> Sequence[ev.Event]:
        """Return events of calls that run while nothing goes on; empty once none runs and all were told."""
        await asyncio.sleep(pause)
        while not self._events:
            if not self._calls:
                return []
            self._changed.clear()
            await self._changed.wait()
        return [self._events.popleft() for _ in range(min(limit, len(self._events)))]

    def cancel(self, why: str = "") -> None:
        """End all of them as interrupted. Implements what a reader does where events can't be stored."""
        for call, executor in list(self._calls.values()):
            executor.interrupt(call)

    def cancel_call(self, call_id: str) -> bool:
        call, executor = self._calls.get(call_id, (None, None))
        return call is not None and executor is not None and executor.cancel(call)

    def extend_call(self, call_id: str) -> bool:
        call, executor = self._calls.get(call_id, (None, None))
        return call is not None and executor is not None and executor.extend(call)

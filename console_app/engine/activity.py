"""Something that goes on in a session: owns its tasks and one queue of events. Leaving its context cancels it, which
returns at once with everything in order, then waits for its tasks, at most `GRACE` seconds. One that doesn't end is
left to the session."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self

from console_app.domain import Message, safe_text
from console_app.domain import events as ev
from console_app.engine.calls.call_execution import CallNews
from console_app.engine.session import Session


class _Held(NamedTuple):
    newest: CallNews
    dropped: int  # notices, or bytes of output, that it took the place of
    news: bool  # of any of them

    def told(self) -> CallNews:
        return self.newest.model_copy(update={"dropped": self.dropped, "news": self.news})


class HeldNews:
    """The newest progress and the newest line of each running call while nobody could follow, in their order."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, type[CallNews]], _Held] = {}

    def __len__(self) -> int:
        return len(self._newest)

    def hold(self, news: CallNews) -> None:
        key = (news.call_id, type(news))
        before = self._newest.pop(key, None)
        if before is None:
            self._newest[key] = _Held(news, news.dropped, news.news)
        else:
            last = before.newest
            lost = safe_text.size_of(last.text) if isinstance(last, ev.CallOutput) else 1
            self._newest[key] = _Held(news, before.dropped + lost + news.dropped, before.news or news.news)

    def take(self, call_id: str = "") -> list[CallNews]:
        """Take that of one call, or of all."""
        return [self._newest.pop(key).told() for key in list(self._newest) if call_id in ("", key[0])]


HIGH = 512
MOST = 2**14
FLOOD = 4096


class Outbox:
    """A queue of events between a turn and its one reader, ordered, closed by the turn's end. So that a slow reader
    costs no memory, the answer is read no further than `HIGH` events or `MOST` characters ahead (`room`), and beyond
    `FLOOD` events only the newest progress and line of each call waits (`HeldNews`)."""

    def __init__(self) -> None:
        self._events: deque[ev.Event] = deque()
        self._characters = 0  # of what is being written among them
        self.closed = False
        self._arrived = asyncio.Event()
        self._whole = asyncio.Event()  # something else than more of what grows has come since events were taken
        self._room = asyncio.Event()
        self._room.set()

    def put(self, event: ev.Event) -> None:
        if self.closed:
            return
        self._events.append(event)
        self._arrived.set()
        if not event.shown_only:
            self._whole.set()
        self._characters += _length(event)
        if self._is_full:
            self._room.clear()

    @property
    def _is_full(self) -> bool:
        return len(self._events) >= HIGH or self._characters >= MOST

    def _taken(self) -> ev.Event:
        event = self._events.popleft()
        self._characters -= _length(event)
        if not self._is_full:
            self._room.set()
        return event

    def __len__(self) -> int:
        return len(self._events)

    @property
    def flooded(self) -> bool:
        """Tell whether the reader is so far behind that only what must be known should still be queued."""
        return len(self._events) >= FLOOD

    def close(self) -> None:
        self.closed = True
        self._arrived.set()
        self._whole.set()
        self._room.set()

    async def take(self, limit: int) -> list[ev.Event]:
        while not self._events and not self.closed:
            self._arrived.clear()
            await self._arrived.wait()
        self._whole.clear()
        return [self._taken() for _ in range(min(limit, len(self._events)))]

    async def whole(self, most: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._whole.wait(), most)

    async def room(self) -> None:
        """Let others run, and wait until the reader has caught up."""
        if self._room.is_set():
            await asyncio.sleep(0)
        else:
            await self._room.wait()


def _length(event: ev.Event) -> int:
    match event:
        case ev.TextDelta() | ev.ReasoningDelta() | ev.ThoughtDelta() | ev.TextRevised():
            return len(event.text)
        case ev.CallArguments():
            return len(event.delta)
        case _:
            return 0


GRACE = 1.0  # seconds that a cancelled task may take before it is left to itself
CLOSING = 0.5  # seconds that connections may take to close after a whole answer, so that they can be used again


class Activity(ABC):
    """A turn, or calls that run again. Its events carry the turn's `number` and the `step`; `begun_at` is a time as
    events have it."""

    def __init__(self, session: Session, number: int, step: int = 0) -> None:
        self.number = number
        self.begun_at = session.stamper.clock()
        self._session = session
        self._step_number: int = step
        self._outbox = Outbox()
        self._held = HeldNews()
        self._main: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False
        self.on_left: Callable[[Activity], None] | None = None  # called when the context was left
        self.left: asyncio.Future[None] = asyncio.get_running_loop().create_future()  # done behind that

    # Life

    async def __aenter__(self) -> Self:
        self._begin()
        self._main = asyncio.create_task(self._run(), name=f"turn {self.number}")
        self._main.add_done_callback(self._main_is_done)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.cancel()
        try:
            await self._reap()
        finally:
            if self.on_left is not None:
                self.on_left(self)
            self.left.set_result(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ev.Event:
        for event in await self.next_slice(1):
            return event
        raise StopAsyncIteration

    async def next_slice(self, limit: int, pause: float = 0.0) -> list[ev.Event]:
        """Return all events that are there, at least one and at most `limit`; empty once it is over. What only grows
        may gather for `pause` seconds."""
        if pause:
            await self._outbox.whole(pause)
        events = await self._outbox.take(limit)
        self._tell_held()
        return events

    @property
    def running(self) -> bool:
        return self._main is not None and not self._outbox.closed

    @abstractmethod
    def cancel(self, why: str = "") -> None:
        """Stop it, `why` for people. Returns at once; the events follow. Again does nothing."""

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    async def _run(self) -> None: ...

    @abstractmethod
    def _main_is_done(self, task: asyncio.Task[None]) -> None:
        """Close what is still open, as the main task may be cancelled before it began."""

    # What goes on in it needs

    def emit(self, event: ev.Event) -> None:
        """Stamp an event, fold it in and queue it; after the end it is dropped."""
        if self._held and (call_id := getattr(event, "call_id", "")):
            for news in self._held.take(call_id):  # what it said before that
                self._put(news)
        self._put(event)

    def _put(self, event: ev.Event) -> None:
        if not self._outbox.closed:
            self._outbox.put(self._session.record(event, self.number, self._step_number))
        elif getattr(event, "call_id", "") in self._session.background:
            self._session.background.tell(event)

    def report(self, news: CallNews) -> None:
        """Tell what a running call says of itself: at once, or the newest once the reader has caught up."""
        if not self._outbox.closed and (self._outbox.flooded or self._held):
            self._held.hold(news)
        else:
            self._put(news)

    def _tell_held(self) -> None:
        if self._held and not self._outbox.flooded:
            for news in self._held.take():
                self._put(news)

    def join(self, message: Message) -> None:
        self.emit(ev.MessageAdded.of(message))

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Start a task that ends with this at the latest."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def release(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)

    async def room(self) -> None:
        await self._outbox.room()

    # The end of its tasks

    async def _reap(self) -> None:
        """End every task. A cancel of the waiting task itself is kept until all is cleared up."""
        cancelled = await self._wait_for_tasks(CLOSING) if not self._stopped else None
        for task in self._tasks:
            task.cancel()
        cancelled = await self._wait_for_tasks(GRACE) or cancelled
        for task in self._pending():
            self._session.leave(task)
        if cancelled is not None:
            raise cancelled

    async def _wait_for_tasks(self, patience: float) -> asyncio.CancelledError | None:
        loop = asyncio.get_running_loop()
        until = loop.time() + patience
        cancelled: asyncio.CancelledError | None = None
        while (pending := self._pending()) and (left := until - loop.time()) > 0:
            try:
                await asyncio.wait(pending, timeout=left)
            except asyncio.CancelledError as error:
                cancelled = error
        return cancelled

    def _pending(self) -> set[asyncio.Task[None]]:
        owned = self._tasks if self._main is None else {self._main, *self._tasks}
        return {task for task in owned if not task.done()}

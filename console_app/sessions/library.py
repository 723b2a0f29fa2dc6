"""Opens the sessions of a user: holds the store, and the lock of the open one, which a new session gets with its first
event. Plays a stored session with its real timing; streamed text is stored as whole messages, so an answer appears at
once, before its calls."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from console_app.config.secrets import Redactor
from console_app.domain import UsageError
from console_app.domain import events as ev
from console_app.records import dataclass
from console_app.sessions.database import SessionLock, StoreError
from console_app.sessions.drafts import PromptDrafts
from console_app.sessions.store import NoSuchSession, Store
from console_app.sessions.tables import SessionInfo


class SessionInUse(StoreError, UsageError):
    """Another console has the session open for writing (exit code 2)."""

    def __init__(self, info: SessionInfo) -> None:
        super().__init__(
            f"{info.title or info.id} is open in another console.",
            f"`fanout sessions fork {info.id}` makes a copy to go on with.",
        )
        self.info = info


@dataclass(frozen=True, slots=True)
class Opened:
    info: SessionInfo
    events: list[ev.Event]
    read_only: bool = False


class Library:
    """The store with the locks of its sessions in `locks`; one session at a time is open. No export holds secrets that
    `redactor` knows."""

    def __init__(self, store: Store, locks: Path, redactor: Redactor | None = None) -> None:
        self.store = store
        self.redactor = redactor or Redactor()
        self.drafts = PromptDrafts(locks.parent / "drafts")
        self._locks = locks
        self.session_id = ""  # of the open one
        self._lock: SessionLock | None = None
        self.read_only = False

    async def append(self, events: Sequence[ev.Event]) -> None:
        if events and events[0].session_id != self.session_id:
            self.begin()
            await self._take(events[0].session_id)
        if not self.read_only:
            await self.store.append(events)

    def begin(self) -> None:
        if self._lock is not None:
            self._lock.let_go()
        self.session_id, self._lock, self.read_only = "", None, False

    async def asked_for(self, *, newest: bool, prefix: str | None, folder: Path) -> SessionInfo | None:
        """Return the session that a command line names, the newest of a folder, or None. Raises NoSuchSession."""
        if prefix is not None:
            return await self.store.find(prefix)
        if not newest:
            return None
        info = await self.store.newest(str(folder))
        if info is None:
            raise NoSuchSession(
                f"there is no session of {folder} to go on with.", "`fanout sessions list` shows those of all folders."
            )
        return info

    async def open(self, session_id: str, *, read_only: bool = False) -> Opened:
        with self.collector_at_rest():
            info = await self.store.find(session_id)
            await self.store.flush()
            if read_only:
                events = await self.store.load(info.id)
                self.begin()
                self.session_id, self.read_only = info.id, True
                return Opened(info, events, read_only=True)
            if info.id != self.session_id or self.read_only:
                await self._take(info.id, info)
            return Opened(info, await self.store.recover(info.id))

    @staticmethod
    @contextmanager
    def collector_at_rest() -> Generator[None]:
        """Keep the collector off: reading a long session makes no garbage, and takes half the time so."""
        was_on = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if was_on:
                gc.enable()

    async def is_free(self, session_id: str) -> bool:
        lock = SessionLock(self._locks, session_id)
        return session_id == self.session_id or await asyncio.to_thread(lock.is_free)

    async def delete(self, session_id: str) -> None:
        """Remove a session for good. Raises SessionInUse for one that is open, here or elsewhere."""
        if session_id == self.session_id or not await self.is_free(session_id):
            raise SessionInUse(await self.store.find(session_id))
        await self.store.delete(session_id)
        self.drafts.forget(session_id)

    async def close(self) -> None:
        await self.store.close()
        self.begin()

    async def _take(self, session_id: str, info: SessionInfo | None = None) -> None:
        lock = SessionLock(self._locks, session_id)
        if not await asyncio.to_thread(lock.take) and info is not None:
            raise SessionInUse(info)
        self.begin()
        self.session_id, self._lock = session_id, lock


LONGEST_PAUSE = 3.0  # seconds of the recording between two turns: what you thought about meanwhile is left out


class Replay:
    """Events of a session and a clock that tells the recording's time. A recording drives a `clock` and a `sleep` in
    seconds."""

    def __init__(
        self,
        events: Sequence[ev.Event],
        speed: float = 1.0,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._events = _with_texts(events)
        self._speed = speed
        self._at = events[0].at if events else 0.0
        self._clock = clock
        self._sleep = sleep
        self._since = clock()

    @property
    def session(self) -> ev.SessionStarted | None:
        started = (one for one in self._events if isinstance(one, ev.SessionStarted) and not one.agent)
        return next(started, None)

    def now(self) -> float:
        return self._at + (self._clock() - self._since) * self._speed

    async def play(self) -> AsyncIterator[ev.Event]:
        self._since = self._clock()
        ended = True
        before = self._at
        for event in self._events:
            if event.at < before:  # the clock was set back, or another console went on with the session
                self._at -= before - event.at
            before = event.at
            ahead = event.at - self.now()
            if ended and ahead > LONGEST_PAUSE:
                self._at += ahead - LONGEST_PAUSE
                ahead = LONGEST_PAUSE
            await self._sleep(max(ahead, 0.0) / self._speed)
            ended = isinstance(event, ev.TurnFinished | ev.SessionStarted) and not event.agent
            yield event


def _with_texts(events: Sequence[ev.Event]) -> Sequence[ev.Event]:
    before: dict[int, ev.TextDelta] = {}  # by the place of a call
    places: dict[str, list[tuple[int, ev.CallAnnounced]]] = {}  # by agent: the calls of its newest answer
    for at, event in enumerate(events):
        if isinstance(event, ev.CallAnnounced) and not (event.parent and event.behind is None):
            places.setdefault(event.agent, []).append((at, event))
        elif isinstance(event, ev.StepStarted | ev.TextDelta):
            places.pop(event.agent, None)
        elif isinstance(event, ev.MessageAdded) and event.role == "assistant":
            calls, text, said = places.pop(event.agent, []), "" if event.label else event.content, 0
            for place, call in calls:
                behind = len(text) if call.behind is None else min(call.behind, len(text))
                if behind > said:
                    fields = {
                        name: getattr(call, name) for name in ("session_id", "turn", "step", "seq", "at", "agent")
                    }
                    before[place], said = ev.TextDelta(text=text[said:behind], **fields), behind
    return [one for at, event in enumerate(events) for one in ([before[at]] if at in before else []) + [event]]

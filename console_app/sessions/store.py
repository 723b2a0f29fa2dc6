"""Keeps the sessions of a user on disk; what is appended is durable when `append` returns. When the disk fails, events
wait in memory in order, and are tried again every second; `problem` says what is wrong meanwhile."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from console_app.domain import UsageError, safe_text
from console_app.domain import events as ev
from console_app.records import dataclass
from console_app.sessions import salvage, tables
from console_app.sessions.database import DamagedFile, Database, Result, SetAside, StoreError
from console_app.sessions.repair import OtherResult, closing_events
from console_app.sessions.salvage import Wreck
from console_app.sessions.tables import SessionInfo, StoredEvents

RETRY = 1.0  # seconds between two tries of a disk that failed
SALVAGING = 20.0  # seconds that closing waits for a damaged file to be read

logger = logging.getLogger(__name__)


class NoSuchSession(StoreError, UsageError):
    """There is no session of that id, or several (exit code 2)."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A session that a search found; `snippet` marks the words with U+0001 and U+0002, "" where only the title fits."""

    info: SessionInfo
    snippet: str = ""


class Store:
    """The session file at `path`; made when first written. `on_change` is told of a new `problem` and of its end."""

    def __init__(self, path: Path, *, folder: str = "", retry: float = RETRY) -> None:
        self._database = Database(path)
        self._folder = safe_text.encodable(folder)  # its name may hold any bytes, and the file holds text
        self._retry = retry
        self._waiting: list[ev.Event] = []
        self._writing = asyncio.Lock()  # one after the other, in their order
        self._retrying: asyncio.Task[None] | None = None
        self._salvaging: asyncio.Task[None] | None = None
        self._looked = False  # for what a killed console left to carry over
        self.salvaged: int | None = None  # sessions of the damaged file that are in the new one; None: not known yet
        self.problem: StoreError | None = None
        self.on_change: Callable[[], None] | None = None

    @property
    def set_aside(self) -> Path | None:
        aside = self._database.set_aside
        return None if aside is None else aside.path

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    # Writing

    async def append(self, events: Sequence[ev.Event]) -> None:
        """Store `events`; shown-only ones as drafts until their message is stored. Never raises for the disk."""
        behind = self.problem is not None and bool(self._waiting)  # what waits already is tried again by itself
        self._waiting += events
        if events and not behind:
            await self._try()

    async def flush(self) -> bool:
        if self._waiting or self.problem is not None:
            await self._try()
        return not self._waiting

    async def check(self) -> None:
        await self._try()

    async def close(self) -> None:
        if self._retrying is not None:
            self._retrying.cancel()
        await self.flush()
        if self._retrying is not None:
            self._retrying.cancel()
        if self._salvaging is not None:
            await asyncio.wait({self._salvaging}, timeout=SALVAGING)
            self._salvaging.cancel()
        await self._database.close()

    async def _try(self) -> None:
        """Write what waits. Events wait until that is done: the writer may be cancelled, and storing one twice is as
        once."""
        async with self._writing:
            batch, aside = self._waiting[:], self._database.set_aside
            try:
                await self._database.write(lambda db: tables.append(db, batch, self._folder))
            except StoreError as error:
                self._now(error)
                if self._retrying is None or self._retrying.done():
                    self._retrying = asyncio.create_task(self._try_again(), name="session file")
                return
            del self._waiting[: len(batch)]
            self._carry_over(aside)
            if self.problem is not None or self._database.set_aside != aside:
                self._now(None)

    def _carry_over(self, before: SetAside | None) -> None:
        aside = self._database.set_aside
        if aside == before:
            if self._looked:
                return
            aside = self._database.interrupted()
        self._looked = True
        if aside is not None:
            self.salvaged = None
            self._salvaging = asyncio.create_task(self._salvage(aside), name="damaged session file")

    async def _salvage(self, damaged: SetAside) -> None:
        count, whole = 0, False
        try:
            with await asyncio.to_thread(Wreck, damaged.path) as wreck:
                for session_id in wreck.session_ids():
                    found = await asyncio.to_thread(wreck.session, session_id)
                    if found.events:
                        await self._database.write(lambda db, found=found: salvage.carry_over(db, found))
                        count += 1
            whole = True
        except (StoreError, sqlite3.Error, OSError) as error:
            logger.warning("Not all of %s could be carried over: %s", damaged.path, error)
        finally:
            damaged.lock.let_go(keep=not whole)  # what is missing is carried over by the next console
        self.salvaged = count
        if self.on_change is not None:
            self.on_change()

    async def _read(self, work: Callable[[sqlite3.Connection], Result], empty: Result) -> Result:
        await self._carried_over()
        try:
            return await self._database.read(work, empty)
        except DamagedFile:
            aside = self._database.set_aside
            if await self._database.put_aside():
                self._carry_over(aside)
                self._now(None)
            await self._carried_over()
            return await self._database.read(work, empty)

    async def _carried_over(self) -> None:
        if self._salvaging is not None:
            await asyncio.wait({self._salvaging})

    async def _try_again(self) -> None:
        while self.problem is not None:
            await asyncio.sleep(self._retry)
            await self.flush()

    def _now(self, problem: StoreError | None) -> None:
        before, self.problem = self.problem, problem
        unchanged = before is not None and problem is not None and before.line == problem.line
        if not unchanged and self.on_change is not None:
            self.on_change()

    # Reading

    async def sessions(self, limit: int = 500) -> list[SessionInfo]:
        return await self._read(lambda db: tables.newest(db, limit), [])

    async def newest(self, folder: str | None = None) -> SessionInfo | None:
        named = None if folder is None else safe_text.encodable(folder)
        found = await self._read(lambda db: tables.newest(db, 1, named), [])
        return found[0] if found else None

    async def relative(self, session_id: str) -> SessionInfo | None:
        found = await self._read(lambda db: tables.relatives(db, session_id), [])
        return found[0] if found else None

    async def find(self, prefix: str) -> SessionInfo:
        found = await self._read(lambda db: tables.with_prefix(db, prefix), [])
        exact = [info for info in found if info.id == prefix]
        if len(exact or found) == 1:
            return (exact or found)[0]
        what = "no session has" if not found else f"{len(found)} sessions have"
        raise NoSuchSession(f"{what} an id that begins with {prefix!r}.", "`fanout sessions list` shows them.")

    async def load(self, session_id: str) -> StoredEvents:
        try:
            return await self._read(lambda db: tables.events_of(db, session_id), [])
        except DamagedFile:  # and it can't be set aside: what is found is better than nothing
            return await self._database.read(lambda db: tables.events_of(db, session_id, partly=True), [])

    async def search(self, words: str, limit: int = 100) -> list[tables.Hit]:
        """Return the places where all of `words` (prefixes) were said or returned, the best match first."""
        return await self._read(lambda db: tables.search(db, words, limit), [])

    async def browse(self, words: str = "", limit: int = 200) -> tuple[list[SearchHit], int]:
        def look(db: sqlite3.Connection) -> tuple[list[SearchHit], int]:
            if not words.split():
                return [SearchHit(info) for info in tables.newest(db, limit)], tables.count(db)
            found = {info.id: SearchHit(info) for info in tables.newest(db, limit, words=words)}
            for hit in tables.search(db, words, 3 * limit):
                known = found.get(hit.session_id)
                if known is None and len(found) < limit:
                    found[hit.session_id] = SearchHit(tables.with_prefix(db, hit.session_id)[0], hit.snippet)
                elif known is not None and not known.snippet:
                    found[hit.session_id] = SearchHit(known.info, hit.snippet)
            return list(found.values()), len(found)

        return await self._read(look, ([], 0))

    async def counts(self, session_id: str) -> tuple[int, float | None]:
        return await self._read(lambda db: tables.counts_of(db, session_id), (0, None))

    async def glance(self, session_id: str, limit: int = 12) -> list[ev.MessageAdded]:
        return await self._read(lambda db: tables.glance(db, session_id, limit), [])

    # Changing. These raise StoreError when the disk will not have it.

    async def recover(self, session_id: str) -> StoredEvents:
        """Load a session and the events that end its last turn where it never ended, which are stored."""
        await self.flush()
        events = await self.load(session_id)
        closing = closing_events(events)
        if closing:
            try:
                await self._database.write(lambda db: tables.keep_drafts(db, session_id))
            except StoreError as error:
                self._now(error)  # the session opens all the same; what ends its turn waits for the disk
            await self.append(closing)
        return [*events, *closing]

    async def rename(self, session_id: str, title: str) -> None:
        await self._database.write(lambda db: tables.rename(db, session_id, title))

    async def delete(self, session_id: str) -> None:
        await self._database.write(lambda db: tables.delete(db, session_id))

    async def fork(self, session_id: str, up_to: int | None = None, other: tuple[str, str] | None = None) -> str:
        """Make a session with another's events, all or up to a `seq` or to results that an `other` one, (call id,
        text), is put among; return its id. A turn cut by that is closed, and which models called natively is kept."""
        info = await self.find(session_id)
        new_id = new_session_id()
        whole = await self.load(session_id)
        copied = whole if other is None else OtherResult(*other).put_into(whole)
        events = [
            event.model_copy(update={"session_id": new_id}) for event in copied if up_to is None or event.seq <= up_to
        ]
        if events and isinstance(events[0], ev.SessionStarted):
            events[0] = events[0].model_copy(update={"native_callers": tuple(sorted(_native_callers(whole)))})
        events += closing_events(events, "Forked here." if other is None else "Forked here, at the result you changed.")
        title = info.title.removesuffix(" (fork)") + " (fork)"

        def copy(db: sqlite3.Connection) -> None:
            tables.append(db, events, info.folder, whole=True)
            tables.descend(db, new_id, session_id, title, time.time())

        await self._database.write(copy)
        return new_id

    async def add(self, events: Sequence[ev.Event], title: str = "") -> None:
        def whole(db: sqlite3.Connection) -> None:
            tables.append(db, events, self._folder, whole=True)
            if title:
                tables.rename(db, events[0].session_id, title)

        await self._database.write(whole)


def _native_callers(events: Sequence[ev.Event]) -> set[str]:
    callers: set[str] = set()
    for event in events:
        if event.agent:
            continue
        if isinstance(event, ev.SessionStarted):
            callers.update(event.native_callers)
        elif isinstance(event, ev.MessageAdded):
            callers.update(call.model for call in event.tool_calls or () if call.origin == "native")
    return callers


def new_session_id() -> str:
    """Make an id that no other session has; its first eight letters nearly always tell it from the others."""
    return uuid.uuid4().hex

"""What can still be read of a session file that was damaged and set aside, to be carried over into the new one.

Whatever SQLite still makes of such a file, its pages are walked one by one (`sqlite_pages`) and the records taken that
have the shape of ours: an event comes back when the pages it stands on are whole. The damaged file itself is only read.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from console_app.domain import events as ev
from console_app.sessions import tables
from console_app.sessions.sqlite_pages import Damaged, Layout, Pages, RecordPlace, Value

_MOST_PLACES = 4  # of one event: it may stand on a free page too, where the list of those was lost


@dataclass(frozen=True, slots=True)
class Salvaged:
    """A session as far as it could be read: its events in order, and what the list knew of it, where that could."""

    session_id: str
    events: list[ev.Event]
    known: tuple[Any, ...] | None  # title, named, folder, parent, created_at


@dataclass(slots=True)
class _Found:
    """Where the records of a session stand."""

    events: dict[int, list[RecordPlace]] = field(default_factory=dict[int, list[RecordPlace]])  # by `seq`
    known: tuple[Any, ...] | None = None
    updated_at: float = 0.0


class Wreck:
    """A damaged file that was set aside. Use as a context manager, one call at a time. Raises OSError."""

    def __init__(self, path: Path) -> None:
        self.pages = Pages(path)
        self._found = _look(self.pages)
        if self.pages.layout != Layout():  # or the damage is in the very bytes that say so
            usual = Pages(path, Layout())
            found = _look(usual)
            better = _count(found) > _count(self._found)
            (self.pages if better else usual).close()
            if better:
                self.pages, self._found = usual, found

    def __enter__(self) -> Wreck:
        return self

    def __exit__(self, *_: object) -> None:
        self.pages.close()

    def session_ids(self) -> list[str]:
        """All sessions of which an event may be read, in no order."""
        return [session_id for session_id, found in self._found.items() if found.events]

    def session(self, session_id: str) -> Salvaged:
        """What can be read of one session."""
        found = self._found[session_id]
        read = (self._event(session_id, seq, found.events[seq]) for seq in sorted(found.events))
        return Salvaged(session_id, [event for event in read if event is not None], found.known)

    def places(self, session_id: str) -> dict[int, list[RecordPlace]]:
        """Where the events of a session stand, by their `seq`."""
        return self._found[session_id].events

    def _event(self, session_id: str, seq: int, places: list[RecordPlace]) -> ev.Event | None:
        for place in places:
            try:
                body = self.pages.record(place)[-1]
            except Damaged:
                continue
            event = tables.parsed(body) if isinstance(body, str) else None
            if event is not None and event.session_id == session_id and event.seq == seq:
                return event
        return None


def _look(pages: Pages) -> dict[str, _Found]:
    """The records that are ours, by session."""
    sessions: dict[str, _Found] = {}
    for place, values in pages.records():
        match values:
            case [str(session_id), int(seq), str() | None] if session_id:  # `events` and `drafts`
                places = sessions.setdefault(session_id, _Found()).events.setdefault(seq, [])
                if len(places) < _MOST_PLACES:
                    places.append(place)
            case [str(session_id), str(), int(), str(), str(), str(), str() | None, *times, int(), int()] if session_id:
                _know(sessions.setdefault(session_id, _Found()), values, times)
            case _:
                pass
    return sessions


def _know(found: _Found, row: list[Value], times: list[Value]) -> None:
    """Keeps a row of `sessions`, the newest of several."""
    match times:
        case [int() | float() as created_at, int() | float() as updated_at]:
            if found.known is None or updated_at > found.updated_at:
                found.known = (row[1], row[2], row[5], row[6], created_at)
                found.updated_at = updated_at
        case _:
            pass


def _count(sessions: dict[str, _Found]) -> int:
    return sum(len(found.events) for found in sessions.values())


def carry_over(db: sqlite3.Connection, salvaged: Salvaged) -> None:
    """Stores a salvaged session in a new file, beside what was stored of it there since."""
    tables.append(db, salvaged.events, "", whole=True)
    if salvaged.known is not None:
        db.execute(
            "UPDATE sessions SET title = ?, named = ?, folder = ?, parent = ?, created_at = ? WHERE id = ?",
            (*salvaged.known, salvaged.session_id),
        )

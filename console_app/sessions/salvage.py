"""What can still be read of a session file that was damaged and set aside, to be carried over into the new one.

SQLite reads a page when it needs it, so rows of whole pages can be had beside broken ones: each session is read from
both ends, and behind a broken page it goes on with greater and greater steps. The damaged file itself is only read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console_app.domain import events as ev
from console_app.sessions import tables

_TABLES = ("sessions", "events", "drafts", "said")
_KEYS = {"sessions": "id", "events": "session_id", "drafts": "session_id", "said": "session_id"}


@dataclass(frozen=True, slots=True)
class Salvaged:
    """A session as far as it could be read: its events in order, and what the list knew of it, where that could."""

    session_id: str
    events: list[ev.Event]
    known: tuple[Any, ...] | None  # title, named, folder, parent, created_at


class Wreck:
    """A damaged file that was set aside. Use as a context manager, one call at a time."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)

    def __enter__(self) -> Wreck:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def session_ids(self) -> list[str]:
        """All sessions of which something can be read, in no order."""
        found: dict[str, None] = {}
        for table in _TABLES:
            for order in ("", " DESC"):
                for row in self._rows(f"SELECT DISTINCT {_KEYS[table]} FROM {table} ORDER BY {_KEYS[table]}{order}"):
                    if isinstance(row[0], str) and row[0]:
                        found[row[0]] = None
        return list(found)

    def session(self, session_id: str) -> Salvaged:
        """What can be read of one session."""
        bodies: dict[int, str] = {}
        for table in ("events", "drafts"):
            bodies.update(self._bodies(table, session_id))
        read = (tables.parsed(bodies[seq]) for seq in sorted(bodies))
        events = [event for event in read if event is not None and event.session_id == session_id]
        known = next(
            self._rows("SELECT title, named, folder, parent, created_at FROM sessions WHERE id = ?", session_id), None
        )
        return Salvaged(session_id, events, known)

    def _bodies(self, table: str, session_id: str) -> dict[int, str]:
        found: dict[int, str] = {}
        query = f"SELECT seq, body FROM {table} WHERE session_id = ? ORDER BY seq DESC"
        found.update(self._pairs(query, session_id))
        last = max(found, default=0)
        at, step = 0, 1
        query = f"SELECT seq, body FROM {table} WHERE session_id = ? AND seq > ? ORDER BY seq"
        while at <= max(last, 1):
            more = dict(self._pairs(query, session_id, at))
            found.update(more)
            step = 1 if more else step * 2
            at = max(more, default=at) + step
            last = max(found, default=0)
            if step > 1_000_000:
                break
        return found

    def _pairs(self, query: str, *values: object) -> Iterator[tuple[int, str]]:
        for row in self._rows(query, *values):
            if isinstance(row[0], int) and isinstance(row[1], str):
                yield row[0], row[1]

    def _rows(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Rows as far as they can be read."""
        try:
            yield from self._db.execute(query, values)
        except sqlite3.DatabaseError:
            return


def carry_over(db: sqlite3.Connection, salvaged: Salvaged) -> None:
    """Stores a salvaged session in a new file, beside what was stored of it there since."""
    tables.append(db, salvaged.events, "", whole=True)
    if salvaged.known is not None:
        db.execute(
            "UPDATE sessions SET title = ?, named = ?, folder = ?, parent = ?, created_at = ? WHERE id = ?",
            (*salvaged.known, salvaged.session_id),
        )

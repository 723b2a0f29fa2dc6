"""The tables of the session file and how older ones become newer: one function a version, run in one transaction.

`events` is the truth, append-only, in the order of `seq`. `drafts` hold what of the newest answer was shown and not yet
stored as a message; they go when it is. `search` is a full-text index (FTS5) over what was said and returned, and
`said` says where each of its rows stands, so that a session's rows are found without reading the index.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

VERSION = 1


def _first(db: sqlite3.Connection) -> None:
    db.execute(
        """CREATE TABLE sessions (
            id TEXT PRIMARY KEY,
            title TEXT NOT NULL DEFAULT '',
            named INTEGER NOT NULL DEFAULT 0,
            model TEXT NOT NULL DEFAULT '',
            provider TEXT NOT NULL DEFAULT '',
            folder TEXT NOT NULL DEFAULT '',
            parent TEXT,
            created_at REAL NOT NULL,
            updated_at REAL NOT NULL,
            turns INTEGER NOT NULL DEFAULT 0,
            size INTEGER NOT NULL DEFAULT 0
        ) STRICT"""
    )
    db.execute("CREATE INDEX sessions_by_time ON sessions (updated_at DESC)")
    for table in ("events", "drafts"):
        db.execute(
            f"""CREATE TABLE {table} (
                session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                seq INTEGER NOT NULL,
                body TEXT NOT NULL,
                PRIMARY KEY (session_id, seq)
            ) STRICT, WITHOUT ROWID"""
        )
    db.execute(
        """CREATE TABLE said (
            id INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            role TEXT NOT NULL
        ) STRICT"""
    )
    db.execute("CREATE INDEX said_in_session ON said (session_id)")
    db.execute("CREATE VIRTUAL TABLE search USING fts5 (text)")


MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_first]


def version_of(db: sqlite3.Connection) -> int:
    """The version of an open file; 0 for a new one."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(db: sqlite3.Connection) -> None:
    """Brings a file that is not newer than ours to `VERSION`, or leaves it as it was."""
    if version_of(db) >= VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        # Another console may have done it while this one waited for the lock.
        for step in MIGRATIONS[version_of(db) :]:
            step(db)
        db.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")

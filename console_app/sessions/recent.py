"""Reads the newest sessions straight from an open session file, for completion: nothing is imported or changed for
it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

# A session dated tomorrow or later was written while the clock was wrong: any other is newer. The number is
# the day before 1970 as SQLite counts days; its own `unixepoch` is not in all that are in use.
NEWEST_FIRST = "updated_at > (julianday('now') - 2440586.5) * 86400, updated_at DESC"
SHORT_ID = 8  # letters of an id: enough to tell sessions apart, and to name one by


def recent_sessions(db: sqlite3.Connection, limit: int) -> Iterator[tuple[str, str]]:
    """Yield short id and title of the newest sessions, the newest first. Raises sqlite3.Error."""
    for row in db.execute(f"SELECT id, title FROM sessions ORDER BY {NEWEST_FIRST} LIMIT ?", (limit,)):
        yield str(row[0])[:SHORT_ID], str(row[1])


def recent_models(db: sqlite3.Connection, limit: int) -> Iterator[str]:
    """Yield PROVIDER/MODEL of the models that answered, the newest first. Raises sqlite3.Error."""
    rows = db.execute(
        "SELECT provider, model FROM sessions GROUP BY 1, 2 ORDER BY max(updated_at) DESC LIMIT ?", (limit,)
    )
    yield from (f"{provider}/{model}" for provider, model in rows if provider and model)

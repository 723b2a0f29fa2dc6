"""Reads the newest sessions straight from an open session file, for completion: nothing is imported or changed for
it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

# A session dated tomorrow or later was written while the clock was wrong: any other is newer. The number is
# the day before 1970 as SQLite counts days; its own `unixepoch` is not in all that are in use.
NEWEST_FIRST = "updated_at > (julianday('now') - 2440586.5) * 86400, updated_at DESC"
SHORT_ID = 8  # letters of an id: enough to tell sessions apart, and to name one by


class Recent:
    """The newest first, at most `limit`. Raises sqlite3.Error."""

    def __init__(self, db: sqlite3.Connection, limit: int) -> None:
        self._db, self._limit = db, limit

    def sessions(self) -> Iterator[tuple[str, str]]:
        """Yield short id and title of each session."""
        for row in self._db.execute(f"SELECT id, title FROM sessions ORDER BY {NEWEST_FIRST} LIMIT ?", (self._limit,)):
            yield str(row[0])[:SHORT_ID], str(row[1])

    def models(self) -> Iterator[str]:
        """Yield PROVIDER/MODEL of each model that answered."""
        rows = "SELECT provider, model FROM sessions GROUP BY 1, 2 ORDER BY max(updated_at) DESC LIMIT ?"
        for provider, model in self._db.execute(rows, (self._limit,)):
            if provider and model:
                yield f"{provider}/{model}"

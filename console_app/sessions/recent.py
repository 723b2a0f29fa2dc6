"""The newest sessions straight from an open session file, for completion: nothing is imported or changed for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

SHORT_ID = 8  # letters of an id: enough to tell sessions apart, and to name one by


def recent_sessions(db: sqlite3.Connection, limit: int) -> Iterator[tuple[str, str]]:
    """Short id and title, the newest first. Raises sqlite3.Error."""
    for row in db.execute("SELECT id, title FROM sessions ORDER BY updated_at DESC LIMIT ?", (limit,)):
        yield str(row[0])[:SHORT_ID], str(row[1])


def recent_models(db: sqlite3.Connection, limit: int) -> Iterator[str]:
    """PROVIDER/MODEL of those that answered, the newest first. Raises sqlite3.Error."""
    rows = db.execute(
        "SELECT provider, model FROM sessions GROUP BY 1, 2 ORDER BY max(updated_at) DESC LIMIT ?", (limit,)
    )
    yield from (f"{provider}/{model}" for provider, model in rows if provider and model)

"""Files of the working folder for `@` completion: a bounded walk, kept for a while, matched off the event loop.

Both run in a thread: a home folder or a network disk may take long, and the keys must not wait for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from textual.fuzzy import FuzzySearch

from console_app.conversation.project_files import walk

MOST_FILES = 20_000
LONGEST_WALK = 1.0  # seconds
FRESH_FOR = 20.0  # seconds that a walk is used again
SCORED = 400  # candidates that get a score; the rest only had the right letters


class FileIndex:
    """Fuzzy look-up of paths under `folder`, relative to it, with `/` between their parts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: Sequence[str] = ()
        self._walked_at = float("-inf")
        self._search = FuzzySearch()

    async def find(self, query: str, limit: int = 8) -> list[str]:
        """The best `limit` paths for `query`, best first."""
        return await asyncio.to_thread(self._find, query, limit)

    def _find(self, query: str, limit: int) -> list[str]:
        if time.monotonic() - self._walked_at > FRESH_FOR:
            self._paths = walk(self._folder, MOST_FILES, LONGEST_WALK).paths
            self._walked_at = time.monotonic()
        if not query:
            return list(self._paths[:limit])
        folded = query.casefold()
        hits = [path for path in self._paths if _has_letters(folded, path.casefold())]
        hits.sort(key=len)
        scored = [(self._score(query, path), -len(path), path) for path in hits[:SCORED]]
        return [path for _, _, path in sorted(scored, reverse=True)[:limit]]

    def _score(self, query: str, path: str) -> float:
        name = path.rstrip("/").rpartition("/")[2]
        return max(self._search.match(query, path)[0], 1.5 * self._search.match(query, name)[0])


def _has_letters(query: str, path: str) -> bool:
    """Whether the letters of `query` occur in `path` in their order."""
    place = 0
    for letter in query:
        place = path.find(letter, place) + 1
        if not place:
            return False
    return True

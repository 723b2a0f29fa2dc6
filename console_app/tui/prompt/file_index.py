"""Files of the working folder for `@` completion: walked in the background, matched off the event loop.

A home folder or a network disk may take long, and the keys must not wait for it. So a look-up answers from what was
found so far once that is enough, and a walk that is old is used until the next one is done.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from textual.fuzzy import FuzzySearch

from console_app.console import files

MOST_FILES = 200_000
LONGEST_WALK = 20.0  # seconds
FRESH_FOR = 20.0  # seconds that a walk is used before the next one begins
LOOK_AGAIN = 0.01  # seconds between two looks at a walk that goes on
SCORED = 400  # candidates that get a score; the rest only had the right letters


class FileIndex:
    """Fuzzy look-up of paths under `folder`, relative to it, with `/` between their parts. `close` ends the walk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: list[str] = []  # grows while the first walk goes on
        self._walked_at = float("-inf")
        self._walk: asyncio.Task[files.Walk] | None = None
        self._closed = False
        self._search = FuzzySearch()
        self._narrowed: tuple[str, list[str], int, Sequence[str]] = ("", [], 0, ())  # what the last query left

    def close(self) -> None:
        """The walk that goes on ends."""
        self._closed = True

    async def find(self, query: str, limit: int = 8) -> list[str]:
        """The best `limit` paths for `query`, best first: of all that there are, or of what a walk has found so far
        where that is as many."""
        self._refresh()
        while True:
            done = self._walk is None or self._walk.done()
            hits = await asyncio.to_thread(self._find, query, limit)
            if done or len(hits) >= limit or self._walk is None:
                return hits
            await asyncio.wait({self._walk}, timeout=LOOK_AGAIN)

    async def grown(self) -> bool:
        """Wait for the walk that goes on, and tell whether there are more paths by now than the last `find` saw."""
        if self._walk is not None:
            await asyncio.wait({self._walk})
        _, paths, known, _ = self._narrowed
        return paths is not self._paths or known < len(paths)

    def _refresh(self) -> None:
        if self._walk is not None or self._closed or time.monotonic() - self._walked_at <= FRESH_FOR:
            return
        into: list[str] = [] if self._paths else self._paths
        walking = asyncio.to_thread(files.walk, self._folder, MOST_FILES, LONGEST_WALK, into, self._goes_on)
        self._walk = asyncio.create_task(walking, name="files")

        def walked(_task: asyncio.Task[files.Walk]) -> None:
            self._paths, self._walk, self._walked_at = into, None, time.monotonic()

        self._walk.add_done_callback(walked)

    def _goes_on(self) -> bool:
        return not self._closed

    def _find(self, query: str, limit: int) -> list[str]:
        paths = self._paths
        known = len(paths)
        if not query:
            return paths[:limit]
        folded = query.casefold()
        hits = [path for path in self._candidates(folded, paths, known) if _has_letters(folded, path.casefold())]
        self._narrowed = (folded, paths, known, hits)
        hits = sorted(hits, key=len)[:SCORED]
        scored = [(self._score(query, path), -len(path), path) for path in hits]
        return [path for _, _, path in sorted(scored, reverse=True)[:limit]]

    def _candidates(self, query: str, paths: list[str], known: int) -> Sequence[str]:
        """Return the paths that can fit: the hits of the last query where this one adds letters to it, else all."""
        before, of, count, hits = self._narrowed
        if before and of is paths and query.startswith(before):
            return [*hits, *paths[count:known]]
        return paths[:known]

    def _score(self, query: str, path: str) -> float:
        name = path.rstrip("/").rpartition("/")[2]
        return max(self._search.match(query, path)[0], 1.5 * self._search.match(query, name)[0])


def _has_letters(query: str, path: str) -> bool:
    """Tell whether the letters of `query` occur in `path` in their order."""
    place = 0
    for letter in query:
        place = path.find(letter, place) + 1
        if not place:
            return False
    return True

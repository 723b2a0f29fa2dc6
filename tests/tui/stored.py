"""The libraries of sessions that a test opens: each is closed behind it, whatever was asked of it last."""

from __future__ import annotations

from pathlib import Path

from console_app.sessions import Library, Store


class _Kept(Library):
    """A library that is closed once, by its console or behind the test."""

    _closed = False

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await super().close()


_opened: list[_Kept] = []


def library(folder: Path) -> Library:
    """The sessions under `folder`, as a process of its own opens them. A test that opens one uses `closed_libraries`:
    its console may end without it, and what is asked of it behind that opens the file."""
    kept = _Kept(Store(folder / "data" / "sessions.db", folder=str(folder), retry=0.02), folder / "data" / "locks")
    _opened.append(kept)
    return kept


async def close_libraries() -> None:
    """Closes those that are still open."""
    while _opened:
        await _opened.pop().close()

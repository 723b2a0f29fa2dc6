"""The consoles that run, one a page: how many there may be, which page shows which, and how long one waits for a page.

A page that goes ends its console at once, or, where consoles are kept, after so many minutes without one. Until then a
page that knows its ID shows it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from console_app.web.terminal_process import Size, TerminalProcess

LEAST: Final[Size] = (20, 6)
MOST: Final[Size] = (1000, 400)

log = logging.getLogger(__name__)
Starts = Callable[[Size], Awaitable[TerminalProcess]]


class TooManyConsolesError(Exception):
    """No more consoles may run."""


class Viewer(Protocol):
    """The page that shows a console. Sending may wait for a slow page; to one that is gone it does nothing."""

    async def draw(self, data: bytes) -> None: ...

    async def tell(self, message: Mapping[str, Any]) -> None:
        """Tell the page anything else."""
        ...


class RunningConsole:
    """A console and the page that shows it, if any."""

    def __init__(self, process: TerminalProcess, *, keep: float, forget: Callable[[], object]) -> None:
        self.id = secrets.token_urlsafe(16)
        self.process = process
        self._keep, self._forget = keep, forget
        self._viewer: Viewer | None = None
        self._giving_up: asyncio.TimerHandle | None = None
        self._end: asyncio.Task[None] | None = None
        self.done = asyncio.create_task(self._run())

    @property
    def ending(self) -> bool:
        """True once it was told to end."""
        return self._end is not None

    async def show_on(self, viewer: Viewer) -> None:
        """Show it on this page from now on, and on no other."""
        before, self._viewer = self._viewer, viewer
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
        if before is not None:
            await before.tell({"moved": True})

    def gone(self, viewer: Viewer) -> None:
        """Take note that this page shows nothing any more."""
        if viewer is not self._viewer:
            return
        self._viewer = None
        if self._keep:
            self._giving_up = asyncio.get_running_loop().call_later(self._keep, self.end)
        else:
            self.end()

    def end(self) -> None:
        """Have it end; `done` is when it has."""
        if self._end is None and not self.done.done():
            self._end = asyncio.create_task(self.process.end())

    async def _run(self) -> None:
        """Draw until the console has ended, then tells so."""
        asked = asyncio.create_task(self._pass_on_what_is_asked())
        try:
            async for data in self.process.output():
                if self._viewer is not None:
                    await self._viewer.draw(data)
            code = await self.process.wait()
            await asked
        finally:
            asked.cancel()
            if self._giving_up is not None:
                self._giving_up.cancel()
            if self._end is not None:
                await self._end
            self.process.close()
            self._forget()
        if self._viewer is not None:
            await self._viewer.tell({"ended": code})

    async def _pass_on_what_is_asked(self) -> None:
        async for message in self.process.asked():
            if self._viewer is not None:
                await self._viewer.tell(message)


class Consoles:
    """All that run; `most` at a time, each kept `keep` seconds without a page."""

    def __init__(self, start: Starts, *, most: int, keep: float) -> None:
        self._start, self._most, self.keep = start, most, keep
        self._running: dict[str, RunningConsole] = {}
        self._starting = 0

    def __len__(self) -> int:
        return len(self._running) + self._starting

    def find(self, known: str) -> RunningConsole | None:
        """Return the one of that ID, if it is kept and not about to end."""
        console = self._running.get(known) if self.keep else None
        return None if console is None or console.ending else console

    async def start(self, size: Size) -> RunningConsole:
        """Start a console, if need be in place of one that is about to end. Raises TooManyConsolesError, OSError."""
        while len(self) >= self._most:
            ending = [console.done for console in self._running.values() if console.ending]
            if not ending:
                raise TooManyConsolesError
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
        self._starting += 1
        try:
            process = await self._start(size)
        finally:
            self._starting -= 1
        console = RunningConsole(process, keep=self.keep, forget=lambda: self._running.pop(console.id, None))
        self._running[console.id] = console
        log.info("console %d started", process.pid)
        return console

    async def close(self) -> None:
        running = list(self._running.values())
        for console in running:
            console.end()
        for console in running:
            with contextlib.suppress(Exception):  # one that failed has ended too
                await console.done


def within_limits(columns: float, rows: float) -> Size:
    return (
        min(max(int(columns), LEAST[0]), MOST[0]),
        min(max(int(rows), LEAST[1]), MOST[1]),
    )

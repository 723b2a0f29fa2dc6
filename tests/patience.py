"""How long a test waits for what must come. It only ends tests that fail: no machine is too slow to pass.

What can tell of itself is waited for (an event, a line, a process that ends); these are for what can't: a file that
another program writes, a process of another, a port, a page.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

PATIENCE = 100.0  # seconds; below the `timeout` of pyproject.toml, so that a test can say what it waited for
_LOOK = 0.02  # seconds between two looks


def until_there(there: Callable[[], bool], what: str) -> None:
    """Waits in a thread without a loop until `there` says so; `what` is what it waited for."""
    end = time.monotonic() + PATIENCE
    while not there():
        if time.monotonic() > end:
            raise TimeoutError(f"waited for {what}")
        time.sleep(_LOOK)


async def until_so(there: Callable[[], bool], what: str) -> None:
    """The same on an event loop, which goes on meanwhile."""

    async def look() -> bool:
        return there()

    await until_told(look, what)


async def until_told(look: Callable[[], Awaitable[object]], what: str) -> None:
    """The same for what has to be asked: until the answer is yes."""
    end = time.monotonic() + PATIENCE
    while not await look():
        if time.monotonic() > end:
            raise TimeoutError(f"waited for {what}")
        await asyncio.sleep(_LOOK)

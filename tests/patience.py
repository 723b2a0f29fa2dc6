"""How long a test waits for what must come. It only ends tests that fail: no machine is too slow to pass.

What can tell of itself is waited for (an event, a line, a process that ends); these two are for what can't: a file that
another program writes, a process of another, a port.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

PATIENCE = 100.0  # seconds; below the `timeout` of pyproject.toml, so that a test can say what it waited for
_LOOK = 0.02  # seconds between two looks


def until_there(there: Callable[[], bool], what: str) -> None:
    """Waits in a thread without a loop until `there` says so; `what` is what it waited for."""
    waiting = threading.Event()
    for _ in range(int(PATIENCE / _LOOK)):
        if there():
            return
        waiting.wait(_LOOK)
    raise TimeoutError(f"waited for {what}")


async def until_so(there: Callable[[], bool], what: str) -> None:
    """The same on an event loop, which goes on meanwhile."""
    for _ in range(int(PATIENCE / _LOOK)):
        if there():
            return
        await asyncio.sleep(_LOOK)
    raise TimeoutError(f"waited for {what}")

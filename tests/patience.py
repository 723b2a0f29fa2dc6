"""How long a test waits for what must come. It only ends tests that fail: no machine is too slow to pass."""

from __future__ import annotations

import threading
from collections.abc import Callable

PATIENCE = 100.0  # seconds; below the `timeout` of pyproject.toml, so that a test can say what it waited for


def until_there(there: Callable[[], bool], what: str) -> None:
    """Waits in a thread without a loop until `there` says so; `what` is what it waited for."""
    waiting = threading.Event()
    for _ in range(int(PATIENCE / 0.05)):
        if there():
            return
        waiting.wait(0.05)
    raise TimeoutError(f"waited for {what}")

"""Tell whether a process of this machine still runs."""

from __future__ import annotations

import os
from pathlib import Path


def process_runs(pid: int) -> bool:
    """Tell whether `pid` is a process that runs. One that has ended and waits for its parent to look does not, although
    it can still be sent signals: under a parent that never looks it would run for ever (`proc(5)`, state Z)."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OverflowError:  # a number that no process has
        return False
    except OSError:
        pass  # another user's: it runs
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:1]
    except OSError:
        return True  # a system that does not show it
    return state != [b"Z"]

"""Keeps the garbage collector off a long session: going through its objects would hold up the keys now and then."""

from __future__ import annotations

import gc
import time

LONG_LOOK = 0.01  # seconds


class FullLooks:
    """A callback for `gc.callbacks` that freezes all objects after a full collection that took long.

    Each full collection would take longer than the last while a session grows. Garbage among the frozen objects, which
    only rings of objects become, stays until another session is opened.
    """

    def __init__(self, longest: float = LONG_LOOK) -> None:
        """`longest` is how many seconds a look may take."""
        self.froze = False
        self._longest, self._began = longest, 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.thread_time()
        elif info["generation"] == 2 and time.thread_time() - self._began >= self._longest:
            gc.freeze()
            self.froze = True


full_looks = FullLooks()  # there is one collector


class Collector:
    """Hide an open long session from the garbage collector, and collect what is left of it once it is closed."""

    def __init__(self) -> None:
        self._frozen = False

    def session_opened(self, is_long: bool) -> None:
        """Collect the session that just left the screen, and freeze the objects of a long one that took its place."""
        frozen = self._frozen or full_looks.froze
        if frozen:
            gc.unfreeze()
            gc.collect()
        if is_long or frozen:
            gc.freeze()
        self._frozen = is_long
        full_looks.froze = False

"""Keeps the garbage collector off a long session: going through its objects would hold up the keys now and then."""

from __future__ import annotations

import gc
import time

LONG_LOOK = 0.01  # seconds


class FullLooks:
    """For `gc.callbacks`: what one full look of the collector took long to go through, no later one goes through.

    Each would take longer than the last while a session grows. What becomes garbage among it, which only rings of
    objects do, stays until another session is opened.
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
    """Of a long session that is open the collector sees nothing; of one that was, it finds what is left."""

    def __init__(self) -> None:
        self._frozen = False

    def session_opened(self, is_long: bool) -> None:
        """Another session is on screen, and the one before is gone from it."""
        frozen = self._frozen or full_looks.froze
        if frozen:
            gc.unfreeze()
            gc.collect()
        if is_long or frozen:
            gc.freeze()
        self._frozen = is_long
        full_looks.froze = False

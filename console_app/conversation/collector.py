"""Keeps the garbage collector off a long session: going through its objects would hold up the keys now and then."""

from __future__ import annotations

import gc


class Collector:
    """Of a long session that is open the collector sees nothing; of one that was, it finds what is left."""

    def __init__(self) -> None:
        self._frozen = False

    def session_opened(self, is_long: bool) -> None:
        """Another session is on screen, and the one before is gone from it."""
        if self._frozen:
            gc.unfreeze()
            gc.collect()
        if is_long or self._frozen:
            gc.freeze()
        self._frozen = is_long

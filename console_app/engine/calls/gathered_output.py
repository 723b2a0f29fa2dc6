"""Gathers the output of a running call, so that a thousand lines a second are told of as twenty events."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from console_app.domain import events as ev
from console_app.domain import safe_text

PAUSE = 0.05  # seconds that each event takes: 20 a second
MOST_AT_ONCE = 2**15  # characters of an event
PLENTY = 2**23  # bytes of a call, beyond which of each pause only a little of the newest is told
MOST_THEN = 2**10
_RUNS = 3  # pieces of other streams that are told each as an event; of more the streams are not told apart


# Takes a piece of output, the bytes before it, and how many of the newest of those were not told.
TellOutput = Callable[[ev.OutputStream, str, int, int], None]


class _Run(NamedTuple):
    stream: ev.OutputStream
    text: str
    dropped: int  # bytes right before it


class GatheredOutput:
    def __init__(self, tell: TellOutput) -> None:
        self._tell = tell
        self._pieces: deque[_Run] = deque()
        self._waiting = 0  # characters of them
        self._bytes = 0  # told or dropped
        self._timer: asyncio.TimerHandle | None = None
        self._free_at = 0.0

    def add(self, stream: ev.OutputStream, text: str, dropped: int = 0) -> None:
        """Take a piece, to tell it with those that come in the same pause. `dropped` bytes before it never came."""
        text = safe_text.encodable(text)
        self._pieces.append(_Run(stream, text, dropped))
        self._waiting += len(text)
        while self._waiting > 2 * MOST_AT_ONCE and len(self._pieces) > 1:
            oldest, following = self._pieces.popleft(), self._pieces.popleft()
            lost = following.dropped + oldest.dropped + safe_text.size_of(oldest.text)
            self._pieces.appendleft(following._replace(dropped=lost))
            self._waiting -= len(oldest.text)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(self._free_at, loop.time()), self.flush)

    def flush(self) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        runs = self._runs()
        self._pieces.clear()
        self._waiting = 0
        for stream, text, dropped in runs:
            most = MOST_AT_ONCE if self._bytes < PLENTY else MOST_THEN
            kept = text[-most:]
            dropped += safe_text.size_of(text[: len(text) - len(kept)])
            offset = self._bytes + dropped
            self._bytes = offset + safe_text.size_of(kept)
            self._tell(stream, kept, offset, dropped)
        self._free_at = asyncio.get_running_loop().time() + PAUSE * len(runs)

    def _runs(self) -> list[_Run]:
        """Join pieces of one stream; where many are left, join all behind the last gap."""
        runs: list[_Run] = []
        for many in (False, True):
            runs.clear()
            for piece in self._pieces:
                last = runs[-1] if runs else None
                if last is not None and not piece.dropped and (many or last.stream == piece.stream):
                    stream = last.stream if last.stream == piece.stream else "text"
                    runs[-1] = _Run(stream, last.text + piece.text, last.dropped)
                elif last is not None and many:
                    lost = last.dropped + safe_text.size_of(last.text) + piece.dropped
                    runs[-1] = piece._replace(dropped=lost)
                else:
                    runs.append(piece)
            if len(runs) <= _RUNS:
                break
        return runs

"""Plays an answer that is known in advance, chunk by chunk at its pace: the built-in models' stand-in for a network.

An object with `__anext__`, not an async generator: it can be closed from any task, at once, while it waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager

from console_app.domain import chunks as ch
from console_app.domain import ports
from console_app.records import dataclass

_LONG = 20_000  # characters; a longer text is counted by its beginning, since results of megabytes are common


def words(text: str) -> int:
    if len(text) <= _LONG:
        return len(text.split())
    return len(text[:_LONG].split()) * len(text) // _LONG


def request_words(request: ports.ModelRequest) -> int:
    """Return about how many words a request has: the system prompt, the conversation and the tools offered."""
    conversation = sum(words(message.content) for message in request.messages)
    offered = sum(words(f"{tool.name} {tool.description} {tool.input_schema}") for tool in request.tools)
    return words(request.system) + conversation + offered


@dataclass(frozen=True, slots=True)
class Hang:
    """A beat after which nothing comes, until the stream is closed."""


@dataclass(frozen=True, slots=True)
class Beat:
    """The next thing to play, `delay` seconds after the last: a chunk, an error to raise, silence, or nothing."""

    what: ch.Chunk | Exception | Hang | None
    delay: float = 0.0


class Playback(AsyncIterator[ch.Chunk]):
    """The chunks of `beats`, each when it is due. Delays add up on one clock, so a late beat is caught up with."""

    def __init__(self, beats: Iterable[Beat]) -> None:
        self._beats: Iterator[Beat] = iter(beats)
        self._closed = asyncio.Event()
        self._due: float | None = None
        self._played = 0

    async def __anext__(self) -> ch.Chunk:
        while not self._closed.is_set():
            beat = next(self._beats, None)
            if beat is None:
                break
            await self._wait(beat.delay)
            if self._closed.is_set():
                break
            match beat.what:
                case None:
                    continue
                case Hang():
                    await self._closed.wait()
                case Exception() as error:
                    self.close()
                    raise error
                case chunk:
                    return chunk
        raise StopAsyncIteration

    async def _wait(self, delay: float) -> None:
        now = asyncio.get_running_loop().time()
        self._due = (now if self._due is None else self._due) + delay
        self._played += 1
        if self._due > now:
            try:
                await asyncio.wait_for(self._closed.wait(), self._due - now)
            except TimeoutError:
                pass  # the usual case: the time has come, and nobody closed
        elif self._played % ch.SLICE == 0:
            await asyncio.sleep(0)

    def close(self) -> None:
        """End the playback now; who waits for a chunk is told that there is none."""
        self._closed.set()


@asynccontextmanager
async def playing(beats: Iterable[Beat]) -> AsyncGenerator[Playback]:
    """Return a playback that is closed when the context is left."""
    playback = Playback(beats)
    try:
        yield playback
    finally:
        playback.close()

"""The engine of one process: each item is a task on this loop, and all share its servers and limits."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

from console_app.domain import batch

_TOGETHER = 2  # items that begin in one round of the loop
CLOSING = 3.0  # seconds that items get to end, within the deadline of an interrupted run
_MOST_EVENTS = 10_000  # that nobody has read


class ItemWorker(Protocol):
    async def run(
        self, item: batch.WorkItem, tell: Callable[[batch.BatchEvent], None], note: Callable[[], Awaitable[bool]]
    ) -> batch.ItemResult:
        """Run one item to its end; cancelling the task ends it with a result. `note`: see BatchEngine."""
        ...

    def watch(self, item_id: str | None) -> None:
        """Send on the turn events of this item; None sends those of no item."""


class LocalEngine:
    """A BatchEngine. `capacity` gives how many items may run at once now."""

    def __init__(self, worker: ItemWorker, capacity: Callable[[], int]) -> None:
        self._worker = worker
        self._capacity = capacity
        self._waiting: deque[batch.WorkItem] = deque()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._starting = False
        self._results = TextStream()
        self._events = TextStream(lossy=True)
        self.note: Callable[[str], Awaitable[bool]] = noted_nowhere

    @property
    def capacity(self) -> int:
        return max(self._capacity(), 1)

    def submit(self, item: str) -> None:
        self._waiting.append(batch.WorkItem.model_validate_json(item))
        self._start()

    def results(self) -> AsyncIterator[str]:
        return self._results.read()

    def events(self) -> AsyncIterator[str]:
        return self._events.read()

    def watch(self, item_id: str | None) -> None:
        self._worker.watch(item_id)

    def cancel(self, item_id: str | None = None) -> None:
        for item in [one for one in self._waiting if item_id in (None, one.id)]:
            self._waiting.remove(item)
            self._give(batch.ItemResult.cancelled(item))
        for name, task in self._tasks.items():
            if item_id in (None, name):
                task.cancel()

    def kept(self, item_id: str) -> None:
        """Nothing waits for it here."""

    async def close(self) -> None:
        self.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=CLOSING)
        self._results.end()
        self._events.end()

    def _start(self) -> None:
        """Start items where there is room, a few in each round of the loop, or all would hold it up together."""
        for _ in range(_TOGETHER):
            if not self._waiting or len(self._tasks) >= self.capacity:
                return
            item = self._waiting.popleft()
            self._tasks[item.id] = task = asyncio.create_task(self._run(item), name=f"item {item.id}")
            task.add_done_callback(lambda done, item=item: self._ended(done, item))
        if not self._starting and self._waiting:
            self._starting = True
            asyncio.get_running_loop().call_later(0, self._go_on)

    def _go_on(self) -> None:
        self._starting = False
        self._start()

    async def _run(self, item: batch.WorkItem) -> None:
        self._give(await self._worker.run(item, self._tell, lambda: self.note(item.id)))

    def _ended(self, task: asyncio.Task[None], item: batch.WorkItem) -> None:
        del self._tasks[item.id]
        if task.cancelled():  # before its first step
            self._give(batch.ItemResult.cancelled(item))
        elif (error := task.exception()) is not None:
            words = f"{type(error).__name__}: {error} (see the log)"
            self._give(batch.ItemResult.cancelled(item).model_copy(update={"status": "failed", "error": words}))
        self._start()

    def _give(self, result: batch.ItemResult) -> None:
        self._results.put(result.model_dump_json())

    def _tell(self, event: batch.BatchEvent) -> None:
        self._events.put(event.model_dump_json())


async def noted_nowhere(item_id: str) -> bool:
    """Note nothing, for items that nobody has to remember."""
    return True


class TextStream:
    """Texts for one reader; where it is `lossy`, the oldest of more than 10,000 go unread."""

    def __init__(self, *, lossy: bool = False) -> None:
        self._texts: deque[str] = deque(maxlen=_MOST_EVENTS if lossy else None)
        self._changed = asyncio.Event()
        self._ended = False

    def put(self, text: str) -> None:
        self._texts.append(text)
        self._changed.set()

    def end(self) -> None:
        self._ended = True
        self._changed.set()

    async def read(self) -> AsyncIterator[str]:
        while True:
            while self._texts:
                yield self._texts.popleft()
            if self._ended:
                return
            self._changed.clear()
            await self._changed.wait()

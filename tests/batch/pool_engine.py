"""A BatchEngine on any PEP 3148 executor: text in, text out, a window of its own, and a worker a process."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Executor
from multiprocessing.util import Finalize
from typing import Any

from console_app import batch_worker, wiring
from console_app.batch import TextStream, noted_nowhere
from console_app.batch_worker import OpenWorker
from console_app.command_line import parse_arguments
from console_app.domain.batch import ItemResult, WorkItem

Run = Callable[[str], str]


class PoolEngine:
    """See BatchEngine. An executor tells nothing between beginning and end, so nothing that changes the world runs."""

    def __init__(self, executor: Executor, run: Run, capacity: int) -> None:
        self.note: Callable[[str], Awaitable[bool]] = noted_nowhere
        self.capacity = capacity
        self._executor, self._function = executor, run
        self._waiting: deque[WorkItem] = deque()
        self._running: dict[str, asyncio.Future[str]] = {}
        self._results, self._events = TextStream(), TextStream(lossy=True)

    def submit(self, item: str) -> None:
        self._waiting.append(WorkItem.model_validate_json(item))
        self._start()

    def results(self) -> AsyncIterator[str]:
        return self._results.read()

    def events(self) -> AsyncIterator[str]:
        return self._events.read()

    def watch(self, item_id: str | None) -> None: ...

    def kept(self, item_id: str) -> None: ...

    def cancel(self, item_id: str | None = None) -> None:
        for item in [one for one in self._waiting if item_id in (None, one.id)]:
            self._waiting.remove(item)
            self._give(ItemResult.cancelled(item))
        for name, future in self._running.items():
            if item_id in (None, name):
                future.cancel()

    async def close(self) -> None:
        self.cancel()
        if self._running:
            await asyncio.wait(self._running.values())
        self._results.end()
        self._events.end()

    def _start(self) -> None:
        while self._waiting and len(self._running) < self.capacity:
            item = self._waiting.popleft()
            text = item.model_dump_json(exclude_defaults=True)
            future = asyncio.wrap_future(self._executor.submit(self._function, text))
            self._running[item.id] = future
            future.add_done_callback(lambda done, item=item: self._ended(done, item))

    def _ended(self, done: asyncio.Future[str], item: WorkItem) -> None:
        del self._running[item.id]
        if done.cancelled():
            self._give(ItemResult.cancelled(item))
        elif (error := done.exception()) is not None:
            self._give(ItemResult.cancelled(item).model_copy(update={"status": "failed", "error": str(error)}))
        else:
            self._results.put(done.result())
        self._start()

    def _give(self, result: ItemResult) -> None:
        self._results.put(result.model_dump_json())


class PoolWorker:
    """A worker with its servers on a loop of its own, for the functions that a pool's process runs."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._ended = asyncio.Event()
        self._open: OpenWorker | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        self._ready.wait()

    def run(self, text: str) -> str:
        """An item to its result."""
        running = self._run(WorkItem.model_validate_json(text))
        return asyncio.run_coroutine_threadsafe(running, self._loop).result().model_dump_json()

    def end(self) -> None:
        """Ends its servers."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    async def _run(self, item: WorkItem) -> ItemResult:
        assert self._open is not None
        await self._open.models.load(item.model)
        return await self._open.worker.run(item, lambda event: None, self._refused)

    async def _refused(self) -> bool:
        return False

    def _work(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._live())
        finally:
            self._ready.set()

    async def _live(self) -> None:
        setup = wiring.prepare(parse_arguments(self._words))
        async with batch_worker.open_worker(setup, wiring.choose_servers(setup)) as self._open:
            await self._open.ready(lambda hub: hub.ready())
            await self._open.models.load()
            self._ready.set()
            await self._ended.wait()


_here: list[PoolWorker] = []


def open_pool_worker(words: list[str], environ: dict[str, str], folder: str) -> None:
    """The initializer of a pool's process."""
    import os

    os.environ.update(environ)
    os.chdir(folder)
    worker = PoolWorker(words)
    _here.append(worker)
    Finalize(None, worker.end, exitpriority=10)


def run_item(text: str) -> str:
    """Run an item in a pool's process: JSON in, JSON out."""
    return _here[0].run(text)


def pool_of(processes: int, words: list[str], environ: dict[str, str], folder: str) -> Any:
    """Processes that share nothing with this one."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    return ProcessPoolExecutor(
        processes, get_context("spawn"), initializer=open_pool_worker, initargs=(words, environ, folder)
    )

"""Runs items on a worker of a cluster, in a thread with its own loop, servers and models, as turns would starve the
heartbeats of the worker's."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from distributed import Scheduler, Worker, WorkerPlugin

from console_app import batch_worker, wiring
from console_app.batch import LocalEngine
from console_app.cluster.engine import OpenedNode, Opening, Orders, Told
from console_app.domain import FanoutError, batch
from console_app.engine import ManualCall, find_tools
from console_app.headless import servers

ABANDONED = 3600.0  # seconds without orders after which it ends by itself
_ENDING = 10.0  # seconds that its thread gets to close everything
log = logging.getLogger(__name__)


class ClusterNode:
    """A run on one worker. `exchange` and `end` may be called from any thread."""

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.id = secrets.token_hex(8)
        self._inside: _Inside | None = None
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._problem = ""
        self._thread = threading.Thread(target=self._work, name="fanout node", daemon=True)

    def start(self) -> str:
        self._thread.start()
        self._started.wait()
        return self._problem

    @property
    def alive(self) -> bool:
        return self._thread.is_alive() and self._inside is not None

    def opened(self) -> OpenedNode:
        if self._inside is None:
            return OpenedNode(problem=self._problem or "it has ended")
        return asyncio.run_coroutine_threadsafe(self._inside.opened(self.id), self._loop).result()

    async def exchange(self, orders: Orders) -> Told:
        inside = self._inside
        if inside is None or orders.node != self.id:
            return Told(gone=True)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(inside.exchange(orders), self._loop))

    def end(self) -> None:
        if (inside := self._inside) is not None:
            with suppress(RuntimeError):  # it ends by itself just now
                self._loop.call_soon_threadsafe(inside.ended.set)
        self._thread.join(_ENDING)

    def _work(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._run())
        except FanoutError as error:
            self._problem = " ".join(filter(None, (error.detail, error.hint)))
        except Exception as error:
            log.exception("a worker failed")
            self._problem = f"{type(error).__name__}: {error}"
        finally:
            self._inside = None
            self._started.set()

    async def _run(self) -> None:
        opening = self.opening
        setup = await asyncio.to_thread(wiring.prepare, Namespace(**opening.arguments))
        chosen = wiring.choose_servers(setup)
        calls = [ManualCall(tool, {}) for tool in opening.tools]
        if opening.calls:
            chosen = chosen.needed_for(opening.tools)
        async with batch_worker.open_worker(setup, chosen, named_servers=opening.calls) as worker:
            await worker.ready(lambda hub: hub.ready())
            for line in servers.failures(worker.hub.statuses()):
                raise FanoutError(line)
            find_tools(calls, worker.hub.tools())
            for model in opening.models:
                await worker.models.load(model)
            self._inside = inside = _Inside(worker, opening.arguments.get("jobs"))
            self._started.set()
            await inside.run()


class _Inside:
    def __init__(self, worker: batch_worker.OpenWorker, jobs: int | None) -> None:
        self.ended = asyncio.Event()
        self._jobs: Callable[[], int] = lambda: jobs or worker.models.jobs
        self._engine = LocalEngine(worker.worker, self._jobs)
        self._engine.note = self._ask
        self._held: dict[str, str] = {}  # id to digest
        self._results: dict[str, str] = {}  # that the client may not have on its disk
        self._told: set[str] = set()  # of these
        self._events: list[str] = []
        self._asking: dict[str, asyncio.Future[bool]] = {}
        self._asked: set[str] = set()  # of these, those that the client was told
        self._noted: set[str] = set()
        self._watched = ""
        self._news = asyncio.Event()
        self._heard = asyncio.get_running_loop().time()

    async def run(self) -> None:
        reading = [
            asyncio.create_task(self._read(self._engine.results(), self._take_result)),
            asyncio.create_task(self._read(self._engine.events(), self._events.append)),
        ]
        clock = asyncio.get_running_loop().time
        while not self.ended.is_set() and clock() - self._heard < ABANDONED:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.ended.wait(), ABANDONED / 60)
        await self._engine.close()
        await asyncio.wait(reading)
        self._news.set()

    async def opened(self, node: str) -> OpenedNode:
        self._told.clear()
        self._asked.clear()
        return OpenedNode(node=node, jobs=self._jobs(), held=dict(self._held), noted=tuple(self._noted))

    async def exchange(self, orders: Orders) -> Told:
        clock = asyncio.get_running_loop().time
        self._heard = clock()
        self._obey(orders)
        if orders.wait and not bool(
            self._events or self._results.keys() - self._told or self._asking.keys() - self._asked
        ):
            self._news.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), orders.wait)
        self._heard = clock()
        results = [text for name, text in self._results.items() if name not in self._told]
        self._told.update(self._results)
        asks = [name for name in self._asking if name not in self._asked]
        self._asked.update(asks)
        events, self._events[:] = tuple(self._events), []
        return Told(jobs=self._jobs(), results=tuple(results), events=events, asks=tuple(asks))

    def _obey(self, orders: Orders) -> None:
        if orders.again:
            self._told.clear()
            self._asked.clear()
        for name in orders.kept:
            self._results.pop(name, None)
            self._held.pop(name, None)
            self._told.discard(name)
            self._noted.discard(name)
        for item in orders.items:
            if item.id not in self._held:  # orders that got lost on their way come again
                self._held[item.id] = item.digest
                self._engine.submit(item.model_dump_json(exclude_defaults=True))
        for name in orders.cancel:
            self._engine.cancel(name)
        for name, may in (*((one, True) for one in orders.noted), *((one, False) for one in orders.refused)):
            self._noted.update({name} if may else ())
            self._asked.discard(name)
            if (asking := self._asking.pop(name, None)) is not None and not asking.done():
                asking.set_result(may)
        if orders.watch != self._watched:
            self._watched = orders.watch
            self._engine.watch(orders.watch or None)

    async def _ask(self, name: str) -> bool:
        """A call that isn't read-only waits here until the client has noted it on its disk, for as long as it takes."""
        if name in self._noted:
            return True
        if name not in self._asking:
            self._asking[name] = asyncio.get_running_loop().create_future()
            self._news.set()
        return await asyncio.shield(self._asking[name])

    def _take_result(self, text: str) -> None:
        name = batch.ItemResult.model_validate_json(text).id
        self._asking.pop(name, None)
        self._results[name] = text

    async def _read(self, texts: AsyncIterator[str], take: Callable[[str], Any]) -> None:
        async for text in texts:
            take(text)
            self._news.set()


EXCHANGE = "fanout_exchange"  # what a worker answers besides Dask's own requests


class NodePlugin(WorkerPlugin):
    """Owns a run's node on a worker: a worker that closes ends it."""

    def __init__(self, node: ClusterNode) -> None:
        self.node = node

    async def teardown(self, worker: Any) -> None:
        await asyncio.to_thread(self.node.end)


class PrivateScheduler(Scheduler):
    """A scheduler without Dask's pages, which every user of the machine could read."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Listen nowhere."""


class PrivateWorker(Worker):
    """A worker without these pages."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Listen nowhere."""


async def open_node(text: str, dask_worker: Any) -> str:
    opening = Opening.model_validate_json(text)
    found = _node(dask_worker, opening.run)
    if found is not None and (not found.alive or found.opening != opening):
        await dask_worker.plugin_remove(name=_name(opening.run))
        found = None
    if found is None:
        found = ClusterNode(opening)
        if problem := await asyncio.to_thread(found.start):
            return OpenedNode(problem=problem).model_dump_json()
        await dask_worker.plugin_add(NodePlugin(found), name=_name(opening.run))
        dask_worker.handlers[EXCHANGE] = _exchange(dask_worker)
    return (await asyncio.to_thread(found.opened)).model_dump_json()


async def end_node(run: str, dask_worker: Any) -> None:
    if _node(dask_worker, run) is not None:
        await dask_worker.plugin_remove(name=_name(run))


def _exchange(worker: Any) -> Callable[..., Awaitable[str]]:
    """Answer `Orders` with what is `Told`. A request of its own: Dask logs each function that it is given to run."""

    async def exchange(orders: str) -> str:
        wanted = Orders.model_validate_json(orders)
        node = _node(worker, wanted.run)
        return (await node.exchange(wanted) if node is not None else Told(gone=True)).model_dump_json()

    return exchange


def _node(worker: Any, run: str) -> ClusterNode | None:
    plugin = worker.plugins.get(_name(run))
    return plugin.node if isinstance(plugin, NodePlugin) else None


def _name(run: str) -> str:
    return f"fanout {run}"

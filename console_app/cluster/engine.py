"""The engine of a batch on many workers. No task of the cluster's scheduler is an item: it would run one again as it
likes. A call that isn't read-only waits until the client noted it on its disk, so that a lost worker's changes are
known."""

from __future__ import annotations

import asyncio
import heapq
import platform
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from pydantic import Field

from console_app._version import __version__
from console_app.batch import CLOSING, TextStream, noted_nowhere
from console_app.domain import FanoutError, batch
from console_app.domain.tools import Frozen
from console_app.records import dataclass, field

# Messages are JSON without keys, environment or settings files. What a lost answer said comes again with the next one,
# since workers keep results until the client has them on its disk.


def versions() -> dict[str, str]:
    return {"Fanout": __version__, "Python": ".".join(platform.python_version_tuple()[:2])}


class Opening(Frozen):
    """Has a worker start its servers and models, or go on with a run of the same name."""

    run: str  # the same whenever the run is started again
    arguments: dict[str, Any]  # the command line, as the parser gives it
    models: tuple[str, ...] = ()  # PROVIDER/MODEL of all items, "" for that of the settings
    tools: tuple[str, ...] = ()  # SERVER.TOOL that its items call
    calls: bool = False  # its items are calls


class OpenedNode(Frozen):
    problem: str = ""
    node: str = ""  # which start of the worker this is
    jobs: int = 1  # items that it takes at once
    held: dict[str, str] = Field(default_factory=dict[str, str])  # items that it runs, or has results of: id to digest
    noted: tuple[str, ...] = ()  # of these, those that may have changed something


class Orders(Frozen):
    run: str
    node: str
    wait: float = 0.0  # seconds until it wants an answer at the latest, even if there is nothing to tell
    items: tuple[batch.WorkItem, ...] = ()
    cancel: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()  # their calls may start
    refused: tuple[str, ...] = ()  # their calls must not start
    kept: tuple[str, ...] = ()  # results on the client's disk: to be forgotten
    again: bool = False  # the last answer got lost: all of it that counts is wanted once more
    watch: str = ""  # the item whose turn events are wanted


class Told(Frozen):
    gone: bool = False  # the worker was started again since, and knows nothing
    jobs: int = 1
    results: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()  # items that are about to start a call which isn't read-only


_LOOK = 1.0  # seconds between two looks at which workers there are
_POLL = 10.0  # seconds that a worker with nothing to tell may take for its answer
EXCHANGES = 500  # a second, of all workers together: what one scheduler passes on without falling behind
_MOST_LOSSES = 3  # workers that an item may be lost with


class Dealer:
    """Rooms of workers, by name. All members take a time that grows with the logarithm of their number."""

    def __init__(self) -> None:
        self._room: dict[str, int] = {}
        self._size: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []  # (-room, worker); entries that are no longer true are dropped when met

    @property
    def capacity(self) -> int:
        return sum(self._size.values())

    def resize(self, worker: str, size: int) -> None:
        grown = size - self._size.get(worker, 0)
        self._size[worker] = size
        if grown or worker not in self._room:
            self._change(worker, grown)

    def leave(self, worker: str) -> None:
        self._size.pop(worker, None)
        self._room.pop(worker, None)

    def take(self) -> str | None:
        while self._heap:
            negative, worker = self._heap[0]
            if self._room.get(worker) != -negative or negative >= 0:
                heapq.heappop(self._heap)
            else:
                heapq.heappop(self._heap)
                self._change(worker, -1)
                return worker
        return None

    def fill(self, worker: str) -> None:
        self._change(worker, -1)

    def free(self, worker: str) -> None:
        if worker in self._room:
            self._change(worker, 1)

    def _change(self, worker: str, by: int) -> None:
        self._room[worker] = room = self._room.get(worker, 0) + by
        if room > 0:
            heapq.heappush(self._heap, (-room, worker))


class ClusterError(FanoutError):
    title = "Cluster"


class WorkerUnreachable(Exception):
    """A worker didn't answer."""


class Cluster(Protocol):
    """Processes that can be reached. Raises ClusterError where the cluster itself is gone."""

    async def workers(self) -> Sequence[str]: ...

    async def open(self, worker: str, opening: str) -> str:
        """Return an `Opening` to an `OpenedNode`, as JSON. Raises WorkerUnreachable."""
        ...

    async def exchange(self, worker: str, orders: str) -> str:
        """`Orders` to what is `Told`, as JSON. Raises WorkerUnreachable."""
        ...

    async def end(self, worker: str, run: str) -> None:
        """End the run at a worker. Raises WorkerUnreachable."""


@dataclass(slots=True)
class _Link:
    worker: str
    node: str
    items: dict[str, batch.WorkItem] = field(default_factory=dict[str, batch.WorkItem])
    held: set[str] = field(default_factory=set[str])  # items of an earlier start of this run, not submitted yet
    changing: frozenset[str] = frozenset()  # of these, those that may have changed something
    early: set[str] = field(default_factory=set[str])  # of these, those that want to be noted
    ended: set[str] = field(default_factory=set[str])  # results that may not be on the disk yet
    lost: bool = False  # an answer
    new: list[batch.WorkItem] = field(default_factory=list[batch.WorkItem])
    cancel: list[str] = field(default_factory=list[str])
    noted: list[str] = field(default_factory=list[str])
    refused: list[str] = field(default_factory=list[str])
    kept: list[str] = field(default_factory=list[str])
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    tasks: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    def orders(self, run: str, watch: str, wait: float) -> Orders:
        orders = Orders(
            run=run,
            node=self.node,
            wait=wait,
            again=self.lost,
            watch=watch,
            items=tuple(self.new),
            cancel=tuple(self.cancel),
            noted=tuple(self.noted),
            refused=tuple(self.refused),
            kept=tuple(self.kept),
        )
        for sent in (self.new, self.cancel, self.noted, self.refused, self.kept):
            sent.clear()
        self.lost = False
        return orders

    def again(self, orders: Orders) -> None:
        """Send orders again that may not have arrived; getting them twice doesn't matter."""
        self.lost = True
        self.new[:0] = orders.items
        self.cancel += orders.cancel
        self.noted += orders.noted
        self.refused += orders.refused
        self.kept += orders.kept


class ClusterEngine:
    """A BatchEngine on workers of other machines, opened with `opening`. `items` are the run's, id to digest: an item
    from an earlier start that is none of these is cancelled."""

    def __init__(self, cluster: Cluster, opening: Opening, items: Mapping[str, str]) -> None:
        self.note: Callable[[str], Awaitable[bool]] = noted_nowhere
        self._cluster = cluster
        self._opening = opening
        self._wanted = dict(items)  # without those that were submitted
        self._links: dict[str, _Link] = {}
        self._dealer = Dealer()
        self._queue: deque[batch.WorkItem] = deque()
        self._results, self._events = TextStream(), TextStream(lossy=True)
        self._early: dict[str, str] = {}  # results of an earlier start, that nobody has asked for yet
        self._noted: set[str] = set()
        self._losses: Counter[str] = Counter()
        self._refused: dict[str, str] = {}  # workers that can't be used, with the reason
        self._watched = ""
        self._fault: FanoutError | None = None
        self._watching: asyncio.Task[None] | None = None
        self._asking: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self, tell: Callable[[str], None]) -> None:
        told = False
        while not self._links:
            await self._look()
            if self._refused and not self._links:
                raise ClusterError(next(iter(self._refused.values())))
            if not self._links:
                if not told:
                    tell("The cluster has no workers yet: waiting for one ...")
                told = True
                await asyncio.sleep(_LOOK)
        for reason in self._refused.values():
            tell(reason)
        self._watching = asyncio.create_task(self._watch_workers(), name="cluster")

    @property
    def known(self) -> set[str]:
        """Name items of an earlier start that a worker runs or has a result of."""
        return {name for link in self._links.values() for name in link.held}

    @property
    def capacity(self) -> int:
        return max(self._dealer.capacity, 1)

    def submit(self, item: str) -> None:
        one = batch.WorkItem.model_validate_json(item)
        self._wanted.pop(one.id, None)
        if holders := [link for link in self._links.values() if one.id in link.held]:
            self._take_up(holders, one)
        else:
            self._queue.append(one)
            self._deal()

    def results(self) -> AsyncIterator[str]:
        return self._texts(self._results)

    def events(self) -> AsyncIterator[str]:
        return self._texts(self._events)

    def watch(self, item_id: str | None) -> None:
        self._watched = item_id or ""
        for link in self._links.values():
            link.changed.set()

    def kept(self, item_id: str) -> None:
        for link in self._links.values():
            if item_id in link.ended:
                link.ended.discard(item_id)
                link.kept.append(item_id)
                link.changed.set()
        self._noted.discard(item_id)

    def cancel(self, item_id: str | None = None) -> None:
        for item in [one for one in self._queue if item_id in (None, one.id)]:
            self._queue.remove(item)
            self._results.put(batch.ItemResult.cancelled(item).model_dump_json())
        for link in self._links.values():
            link.cancel += [name for name in link.items if item_id in (None, name)]
            link.changed.set()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        tasks = [task for link in self._links.values() for task in link.tasks] + list(self._asking)
        tasks += [self._watching] if self._watching is not None else []
        for task in tasks:
            task.cancel()
        if self._fault is None:
            ending = [asyncio.ensure_future(self._cluster.end(name, self._opening.run)) for name in self._links]
            tasks += ending
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=CLOSING)
            for task in late:
                task.cancel()
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()  # a worker that can't be reached has nothing to end
        self._results.end()
        self._events.end()

    # Workers that come and go

    async def _watch_workers(self) -> None:
        try:
            while True:
                await asyncio.sleep(_LOOK)
                await self._look()
        except FanoutError as error:
            self._fail(error)

    async def _look(self) -> None:
        there = await self._cluster.workers()
        for worker in self._links.keys() - set(there):
            self._lose(self._links[worker])
        self._refused = {name: why for name, why in self._refused.items() if name in there}
        new = [name for name in there if name not in self._links and name not in self._refused]
        await asyncio.gather(*map(self._open, new))
        self._deal()

    async def _open(self, worker: str) -> None:
        try:
            opened = OpenedNode.model_validate_json(await self._cluster.open(worker, self._opening.model_dump_json()))
        except WorkerUnreachable:
            return  # it is looked for again
        if opened.problem:
            self._refused[worker] = f"Worker {worker} is of no use: {opened.problem}"
            self._tell(self._refused[worker])
            return
        held = {name for name, digest in opened.held.items() if self._wanted.get(name) == digest}
        link = self._links[worker] = _Link(worker, opened.node, held=held, changing=frozenset(opened.noted))
        link.cancel += opened.held.keys() - held
        link.changed.set()
        self._dealer.resize(worker, opened.jobs)
        for _ in opened.held:
            self._dealer.fill(worker)
        self._noted.update(opened.noted)
        link.tasks = [
            asyncio.create_task(self._poll(link), name=f"news of {worker}"),
            asyncio.create_task(self._send(link), name=f"orders to {worker}"),
        ]

    def _lose(self, link: _Link) -> None:
        if self._links.get(link.worker) is not link:
            return
        del self._links[link.worker]
        self._dealer.leave(link.worker)
        for task in link.tasks:
            if task is not asyncio.current_task():
                task.cancel()
        cut = [item for item in link.items.values() if item.id in self._noted]
        for item in reversed(link.items.values()):
            if item.id in self._noted:
                self._results.put(batch.ItemResult.interrupted(item).model_dump_json())
                continue
            self._losses[item.id] += 1
            if self._losses[item.id] >= _MOST_LOSSES:
                why = f"{_MOST_LOSSES} workers were lost while they ran it"
                failed = batch.ItemResult.cancelled(item).model_copy(update={"status": "failed", "error": why})
                self._results.put(failed.model_dump_json())
            else:
                self._queue.appendleft(item)
        again = len(link.items) - len(cut)
        self._tell(f"Worker {link.worker} is gone: of its items {again} run elsewhere, {len(cut)} are interrupted.")
        self._deal()

    def _fail(self, error: FanoutError) -> None:
        self._fault = error
        self._results.end()
        self._events.end()

    # What they are told, and tell

    def _deal(self) -> None:
        while self._queue and (worker := self._dealer.take()) is not None:
            item = self._queue.popleft()
            link = self._links[worker]
            link.items[item.id] = item
            link.new.append(item)
            link.changed.set()

    async def _poll(self, link: _Link) -> None:
        there = True
        while there:
            there = await self._exchange(link, _POLL)
            await asyncio.sleep(len(self._links) / EXCHANGES)

    async def _send(self, link: _Link) -> None:
        there = True
        while there:
            await link.changed.wait()
            link.changed.clear()
            there = await self._exchange(link, 0.0)
            await asyncio.sleep(len(self._links) / EXCHANGES)

    async def _exchange(self, link: _Link, wait: float) -> bool:
        orders = link.orders(self._opening.run, self._watched, wait)
        try:
            told = Told.model_validate_json(await self._cluster.exchange(link.worker, orders.model_dump_json()))
        except WorkerUnreachable:
            link.again(orders)
            await asyncio.sleep(_LOOK)  # the look at all workers says whether it is gone
            link.changed.set()
            return True
        except FanoutError as error:
            self._fail(error)
            return False
        if told.gone:
            self._lose(link)
            return False
        self._dealer.resize(link.worker, told.jobs)
        for text in told.events:
            self._events.put(text)
        for text in told.results:
            self._take(link, text)
        for name in told.asks:
            if name in link.held:
                link.early.add(name)  # it waits until it is submitted
            else:
                self._start_asking(link, name)
        self._deal()
        return True

    def _take_up(self, holders: Sequence[_Link], item: batch.WorkItem) -> None:
        """Settle an item that workers run since an earlier start: one that may have changed something goes on, else the
        first."""
        link = next((one for one in holders if item.id in one.changing), holders[0])
        for one in holders:
            one.held.discard(item.id)
            if one is not link:
                one.cancel.append(item.id)
                one.changed.set()
        if (early := self._early.pop(item.id, None)) is not None:
            link.ended.add(item.id)
            self._results.put(early)
            return
        link.items[item.id] = item
        if item.id in link.early:
            link.early.discard(item.id)
            self._start_asking(link, item.id)

    def _start_asking(self, link: _Link, name: str) -> None:
        task = asyncio.create_task(self._ask(link, name), name=f"note of {name}")
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    def _take(self, link: _Link, text: str) -> None:
        result = batch.ItemResult.model_validate_json(text)
        if result.id in link.ended or result.id in self._early:
            return  # said again
        self._dealer.free(link.worker)
        if link.items.pop(result.id, None) is not None:
            link.ended.add(result.id)
            self._results.put(text)
        elif result.id in link.held:
            self._early[result.id] = text
        else:  # nobody wants it
            link.kept.append(result.id)
            link.changed.set()

    async def _ask(self, link: _Link, name: str) -> None:
        """Answer for an item about to start a call that isn't read-only: only the worker that it was dealt to may."""
        mine = self._links.get(link.worker) is link and name in link.items
        if mine and name not in self._noted:
            mine = await self.note(name)
            self._noted.update({name} if mine else ())
        (link.noted if mine else link.refused).append(name)
        link.changed.set()

    def _tell(self, text: str) -> None:
        self._events.put(batch.EngineNotice(text=text).model_dump_json())

    async def _texts(self, stream: TextStream) -> AsyncIterator[str]:
        async for text in stream.read():
            yield text
        if self._fault is not None and stream is self._results:
            raise self._fault

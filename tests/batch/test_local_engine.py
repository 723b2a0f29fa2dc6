"""The port of a batch and the engine of one process: text in, text out, as many at once as there is room for."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable

from console_app.batch import BatchEngine, LocalEngine
from console_app.domain.batch import BATCH_EVENT, BatchEvent, ItemResult, ItemStarted, WorkItem
from tests.patience import PATIENCE
from tests.tui.quiet import quiet


class Gates:
    """A worker whose items wait until the test opens them; the word `boom` raises."""

    def __init__(self) -> None:
        self.gates: dict[str, asyncio.Event] = {}
        self.most = 0
        self.now = 0
        self.four = asyncio.Event()  # run at once
        self.watched: str | None = None

    def open(self, name: str) -> None:
        self.gates.setdefault(name, asyncio.Event()).set()

    def watch(self, item_id: str | None) -> None:
        self.watched = item_id

    async def run(
        self, item: WorkItem, tell: Callable[[BatchEvent], None], note: Callable[[], Awaitable[bool]]
    ) -> ItemResult:
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == 4:
            self.four.set()
        tell(ItemStarted(item=item.id))
        try:
            await self.gates.setdefault(item.id, asyncio.Event()).wait()
        except asyncio.CancelledError:
            return ItemResult(id=item.id, item=item.digest, status="cancelled")
        finally:
            self.now -= 1
        if item.prompt == "boom":
            raise RuntimeError("boom")
        return ItemResult(id=item.id, item=item.digest, status="completed", answer=item.prompt)


def submit(engine: BatchEngine, *items: WorkItem) -> None:
    for item in items:
        text = item.model_dump_json()
        assert pickle.loads(pickle.dumps(text)) == text
        engine.submit(text)


async def results(engine: BatchEngine, count: int) -> list[ItemResult]:
    found: list[ItemResult] = []
    async for text in engine.results():
        found.append(ItemResult.model_validate_json(text))
        if len(found) == count:
            break
    return found


async def test_items_end_in_any_order_and_no_more_run_at_once_than_fit() -> None:
    worker = Gates()
    engine = LocalEngine(worker, lambda: 2)
    submit(engine, *(WorkItem(id=str(n), prompt=f"p{n}") for n in range(4)))
    await quiet()
    for name in ("1", "0", "3", "2"):
        worker.open(name)
    found = await results(engine, 4)
    assert {one.id: one.answer for one in found} == {str(n): f"p{n}" for n in range(4)}
    assert worker.most == 2
    await engine.close()
    events = [BATCH_EVENT.validate_json(text) async for text in engine.events()]
    assert [event.item for event in events if isinstance(event, ItemStarted)] == ["0", "1", "2", "3"]


async def test_room_that_grows_is_used_with_the_next_end() -> None:
    worker, room = Gates(), [1]
    engine = LocalEngine(worker, lambda: room[0])
    submit(engine, *(WorkItem(id=str(n)) for n in range(5)))
    await quiet()
    room[0] = 4
    worker.open("0")
    await results(engine, 1)
    async with asyncio.timeout(PATIENCE):
        await worker.four.wait()
    await engine.close()


async def test_one_is_stopped_and_its_siblings_end_well() -> None:
    worker = Gates()
    engine = LocalEngine(worker, lambda: 2)
    submit(engine, *(WorkItem(id=name) for name in "abc"))
    await quiet()
    engine.cancel("a")
    engine.cancel("c")  # which waits
    worker.open("b")
    found = await results(engine, 3)
    assert {one.id: one.status for one in found} == {"a": "cancelled", "b": "completed", "c": "cancelled"}
    await engine.close()


async def test_closing_ends_everything_with_a_result() -> None:
    worker = Gates()
    engine = LocalEngine(worker, lambda: 2)
    submit(engine, *(WorkItem(id=name) for name in "abc"))
    await quiet()
    await engine.close()
    await engine.close()
    found = [ItemResult.model_validate_json(text) async for text in engine.results()]
    assert {(one.id, one.status) for one in found} == {(name, "cancelled") for name in "abc"}


async def test_a_worker_that_raises_fails_its_item_alone() -> None:
    worker = Gates()
    engine = LocalEngine(worker, lambda: 2)
    submit(engine, WorkItem(id="a", prompt="boom"), WorkItem(id="b"))
    worker.open("a")
    worker.open("b")
    found = {one.id: one for one in await results(engine, 2)}
    assert (found["a"].status, found["b"].status) == ("failed", "completed")
    assert "RuntimeError: boom" in (found["a"].error or "")
    await engine.close()


def test_an_item_is_the_same_whatever_it_is_called_and_wherever_it_stands() -> None:
    one = WorkItem(id="1", prompt="p", source="a:1")
    assert one.digest == WorkItem(id="2", prompt="p", source="b:9", max_price=1.0).digest
    assert one.digest != WorkItem(id="1", prompt="q").digest
    assert WorkItem.model_validate_json(one.model_dump_json(exclude_defaults=True)) == one

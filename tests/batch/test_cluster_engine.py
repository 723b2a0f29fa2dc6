"""The engine of many workers, with workers of this process: what they hold of an earlier start is taken up."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from console_app.cluster.engine import ClusterEngine, OpenedNode, Opening, Orders
from console_app.cluster.node import ClusterNode
from console_app.command_line import parse_arguments
from console_app.domain.batch import GivenCall, ItemResult, WorkItem
from tests.batch import changing_server
from tests.headless.inside import process_restored
from tests.patience import until_so

RUN = "run"
WORKER = "w"


class Here:
    """A Cluster of one worker, which lives in this process; `heard` is set once a client that was told of items to be
    noted is back with its next orders."""

    def __init__(self) -> None:
        self.node: ClusterNode | None = None
        self.heard = asyncio.Event()
        self._asked = False

    async def workers(self) -> Sequence[str]:
        return [WORKER]

    async def open(self, worker: str, opening: str) -> str:
        if self.node is None:
            self.node = ClusterNode(Opening.model_validate_json(opening))
            assert await asyncio.to_thread(self.node.start) == ""
        return (await asyncio.to_thread(self.node.opened)).model_dump_json()

    async def exchange(self, worker: str, orders: str) -> str:
        assert self.node is not None
        if self._asked:
            self.heard.set()
        told = await self.node.exchange(Orders.model_validate_json(orders))
        self._asked = self._asked or bool(told.asks)
        return told.model_dump_json()

    async def end(self, worker: str, run: str) -> None:
        if self.node is not None:
            await asyncio.to_thread(self.node.end)


@pytest.fixture
async def here() -> AsyncIterator[Here]:
    cluster = Here()
    with process_restored():  # a node logs as a process of its own does
        yield cluster
        await cluster.end(WORKER, RUN)


def opening_of(root: Path, monkeypatch: pytest.MonkeyPatch) -> Opening:
    home = root / "home"
    home.mkdir()
    env = {"JOURNAL": str(root / "journal"), "PYTHONPATH": str(Path(__file__).parents[2])}
    server = {"command": sys.executable, "args": ["-m", changing_server.__name__], "env": env}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"s": server}}))
    monkeypatch.setenv("FANOUT_HOME", str(home))
    words = ["call", "--from", "none", "--approval-mode", "yolo", "--jobs", "2", "--cwd", str(root)]
    return Opening(run=RUN, arguments=dict(vars(parse_arguments(words))), tools=("s.change", "s.look"), calls=True)


def call(tool: str, name: str) -> WorkItem:
    return WorkItem(id=name, calls=(GivenCall(tool=f"s.{tool}", arguments={"name": name}),))


async def hand_over(cluster: Here, opening: Opening, *items: WorkItem) -> None:
    """A client hands over items, and is gone."""
    opened = OpenedNode.model_validate_json(await cluster.open(WORKER, opening.model_dump_json()))
    assert cluster.node is not None
    await cluster.node.exchange(Orders(run=opening.run, node=opened.node, items=items))


async def test_an_item_that_asks_before_the_new_client_submits_it_waits_for_its_note(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, item = opening_of(tmp_path, monkeypatch), call("change", "c")
    await hand_over(here, opening, item)
    engine = ClusterEngine(here, opening, {item.id: item.digest})
    noted: list[str] = []

    async def note(name: str) -> bool:
        noted.append(name)
        return True

    engine.note = note
    try:
        await engine.start(print)
        assert engine.known == {"c"}
        await here.heard.wait()
        engine.submit(item.model_dump_json())
        result = ItemResult.model_validate_json(await anext(engine.results()))
    finally:
        await engine.close()
    assert (result.status, noted) == ("completed", ["c"])
    assert result.calls[0].outcome == "succeeded"
    assert (tmp_path / "journal").read_text() == "c\n"


async def test_what_a_worker_holds_that_is_no_item_any_more_leaves_its_room(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, new = opening_of(tmp_path, monkeypatch), call("change", "new")
    old, journal = [call("look", name) for name in ("wait-1", "wait-2")], tmp_path / "journal"
    await hand_over(here, opening, *old)
    await until_so(lambda: journal.exists() and journal.read_text().count("\n") == 2, "both")
    engine = ClusterEngine(here, opening, {new.id: new.digest})
    try:
        await engine.start(print)
        assert engine.known == set()
        engine.submit(new.model_dump_json())
        result = ItemResult.model_validate_json(await anext(engine.results()))
    finally:
        await engine.close()
    assert (result.id, result.status) == ("new", "completed")
    assert journal.read_text().split()[2:] == ["new"]

"""Code that a client runs on a Dask worker: functions and a plugin, found by their names; nothing is pickled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from distributed import Scheduler, Worker, WorkerPlugin

from console_app.cluster.messages import OpenedNode, Opening, Orders, Told, versions
from console_app.cluster.node import ClusterNode

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


def worker_versions() -> dict[str, str]:
    return versions()


async def open_node(text: str, dask_worker: Any) -> str:
    """Open a node for an `Opening`, or find the one that is there; return an `OpenedNode`, both as JSON."""
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
    """End a run on a worker."""
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

"""Opens the engine that `--engine` names, for the items of a run."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from console_app.cluster import dask_cluster
from console_app.cluster.engine import ClusterEngine
from console_app.cluster.messages import Opening
from console_app.domain import UsageError, batch
from console_app.wiring import Setup

# Options that say which items there are and what becomes of their results. They are the client's alone: a run that is
# started again with other ones still finds the work that its workers do for it.
_OF_THE_CLIENT = (
    *("words", "from_file", "prompt", "system", "schema", "format", "each", "repeat", "limit", "shuffle", "output"),
    *("retry", "rerun_changes", "fail_fast", "name", "plain", "report", "batch_price", "batch_tokens", "events"),
    *("dry_run", "json", "engine", "insecure", "own_process"),
)


@asynccontextmanager
async def cluster_engine(
    setup: Setup, items: Sequence[batch.WorkItem], results: Path, tell: Callable[[str], None], *, calls: bool
) -> AsyncGenerator[ClusterEngine]:
    """Return an engine whose first worker is ready. Raises UsageError or ClusterError."""
    arguments = setup.arguments
    if arguments.events is not None:
        raise UsageError("--events keeps files of this machine, and --engine runs elsewhere", "Leave out one.")
    address = dask_cluster.address_of(arguments.engine, insecure=arguments.insecure)
    async with dask_cluster.connected(address) as cluster:
        digests = {item.id: item.digest for item in items}
        engine = ClusterEngine(cluster, _opening(setup, items, results, calls=calls), digests)
        try:
            await engine.start(tell)
            yield engine
        finally:
            await engine.close()


def _opening(setup: Setup, items: Sequence[batch.WorkItem], results: Path, *, calls: bool) -> Opening:
    kept: dict[str, Any] = {name: value for name, value in vars(setup.arguments).items() if name not in _OF_THE_CLIENT}
    kept.update(cwd=str(setup.cwd), log_file=None, debug=False)
    name = f"{socket.gethostname()}:{results.absolute()}"
    return Opening(
        run=hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        arguments=kept,
        models=() if calls else tuple(sorted({item.model for item in items})),
        tools=tuple(sorted({call.tool for item in items for call in item.calls})),
        calls=calls,
    )

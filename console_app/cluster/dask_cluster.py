"""Dask as a cluster: an address that is checked before anything is sent there, or processes of this machine."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import logging
import os
import socket
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from console_app.cluster.engine import ClusterEngine, ClusterError, Opening, WorkerUnreachable, versions
from console_app.config.machine import extras
from console_app.domain import FanoutError, UsageError, batch, one_line, web_address
from console_app.wiring import Setup

LOCAL = "dask"
_PATIENCE = 20.0  # seconds for an answer of the scheduler


def address_of(engine: str, *, insecure: bool) -> str:
    if engine == LOCAL:
        return ""
    try:
        parts = urlsplit(engine)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    else:
        if parts.scheme not in ("dask", "tls") or parts.path.strip("/") or parts.username:
            host = None
    if not host or not port:
        raise UsageError(f"--engine {engine} is no engine", "As: local, dask, dask://HOST:PORT, tls://HOST:PORT.")
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if engine.startswith("tls:"):
        return f"tls://{address}"
    if not insecure:
        who = "other users of this machine own" if web_address.is_loopback_host(host) else "whoever reaches it owns"
        raise UsageError(
            f"--engine {engine}: {who} the workers of a scheduler without TLS, and their keys",
            "Use tls://HOST:PORT (docs/batch.md), or --insecure where you are alone.",
        )
    return f"tcp://{address}"


@asynccontextmanager
async def connected(address: str) -> AsyncGenerator[DaskCluster]:
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise UsageError("--engine needs Dask, which is not installed", extras.how_to_install("dask")) from None
    for name in ("distributed", "tornado", "asyncio"):  # what they say of connections goes to the log alone
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
    async with AsyncExitStack() as stack:
        try:
            security: Any = _certificates(distributed) if address.startswith("tls:") else None
            if not address:
                security = distributed.Security.temporary()
                # Workers import modules from their folders, and Dask's own place for these is the same for all users.
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fanout-", ignore_cleanup_errors=True))
                stack.enter_context(importlib.import_module("dask.config").set({"temporary-directory": folder}))
                from console_app.cluster.node import PrivateScheduler, PrivateWorker

                common = {"host": "127.0.0.1", "protocol": "tls", "security": security}
                worker = {"worker_class": PrivateWorker, "nthreads": 1, "silence_logs": logging.CRITICAL, **common}
                local = distributed.SpecCluster(
                    scheduler={"cls": PrivateScheduler, "options": common},
                    workers={
                        number: {"cls": distributed.Nanny, "options": worker} for number in range(os.cpu_count() or 1)
                    },
                    security=security,
                    asynchronous=True,
                    silence_logs=logging.CRITICAL,
                )
                stack.push_async_callback(local.close)
                await local
                address = local.scheduler_address
            client: Any = distributed.Client(
                address, asynchronous=True, security=security, set_as_default=False, timeout=_PATIENCE
            )
            stack.push_async_callback(client.close)
            await client
            cluster = DaskCluster(client)
            await cluster.check()
        except FanoutError:
            raise
        except Exception as error:  # whatever Dask makes of what is not there, or is killed meanwhile
            raise ClusterError(f"{address or LOCAL} can't be reached: {_words(error)}") from None
        yield cluster


class DaskCluster:
    """A Cluster, by a client of Dask's."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def check(self) -> None:
        found: Any = await self._client.get_versions(check=False)
        _same("the scheduler", found["client"]["packages"], found["scheduler"]["packages"])

    async def workers(self) -> Sequence[str]:
        try:
            found: Any = await asyncio.wait_for(self._client.scheduler.identity(), _PATIENCE)
        except (OSError, TimeoutError, RuntimeError) as error:
            raise ClusterError(f"it is gone: {_words(error)}", "What has ended is kept; start it again.") from None
        return list(found["workers"])

    async def open(self, worker: str, opening: str) -> str:
        from console_app.cluster import node

        if problem := await self._problem(worker):
            return problem
        return await self._run(worker, node.open_node, opening)

    async def exchange(self, worker: str, orders: str) -> str:
        from console_app.cluster.node import EXCHANGE

        try:
            message = {"op": EXCHANGE, "orders": orders}
            answers: Any = await self._client.scheduler.broadcast(msg=message, workers=[worker])
        except Exception as error:  # whatever Dask makes of a worker or a scheduler that is gone
            raise WorkerUnreachable(_words(error)) from None
        if not isinstance(answers.get(worker), str):
            raise WorkerUnreachable(_words(answers))
        return answers[worker]

    async def end(self, worker: str, run: str) -> None:
        from console_app.cluster import node

        await self._run(worker, node.end_node, run)

    async def _problem(self, worker: str) -> str:
        from console_app.cluster.engine import OpenedNode

        try:
            there = await self._run(worker, versions)
            _same("it", versions(), there)
        except ClusterError as error:
            return OpenedNode(problem=error.detail).model_dump_json()
        return ""

    async def _run(self, worker: str, function: Any, *arguments: Any) -> Any:
        try:
            answers: Any = await self._client.run(function, *arguments, workers=[worker])
        except (ImportError, AttributeError) as error:
            raise ClusterError(f"it has another Fanout, or none: {_words(error)}") from None
        except Exception as error:
            raise WorkerUnreachable(_words(error)) from None
        return answers[worker]


def _same(who: str, here: Any, there: Any) -> None:
    for name in ("Fanout", "Python", "python", "distributed", "dask"):
        mine, other = str(here.get(name)), str(there.get(name))
        if name == "python":
            mine, other = (".".join(text.split(".")[:2]) for text in (mine, other))
        if mine != other:
            raise ClusterError(f"{who} has {name} {other}, and here is {mine}", "Install the same on all machines.")


def _certificates(distributed: Any) -> Any:
    security = distributed.Security(require_encryption=True)
    names = {"CA_FILE": "tls_ca_file", "CLIENT__CERT": "tls_client_cert", "CLIENT__KEY": "tls_client_key"}
    if missing := [
        f"DASK_DISTRIBUTED__COMM__TLS__{name}" for name, field in names.items() if not getattr(security, field)
    ]:
        raise ClusterError("tls:// needs a certificate and its authority", f"Not set: {', '.join(missing)}.")
    try:
        security.get_connection_args("client")
    except OSError as error:
        named = filter(None, (security.tls_ca_file, security.tls_client_cert, security.tls_client_key))
        raise ClusterError(f"the certificates can't be used: {_words(error)}: {', '.join(named)}") from None
    return security


def _words(error: object) -> str:
    return one_line(str(error) or type(error).__name__, 200)


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
    arguments = setup.arguments
    if arguments.events is not None:
        raise UsageError("--events keeps files of this machine, and --engine runs elsewhere", "Leave out one.")
    address = address_of(arguments.engine, insecure=arguments.insecure)
    async with connected(address) as cluster:
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

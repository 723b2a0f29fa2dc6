"""A Dask scheduler and its workers as processes of their own, which end with the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.patience import until_there
from tests.program.process import Fanout


class Cluster:
    """On the loopback interface, without a dashboard and without nannies: a worker that is killed stays away."""

    def __init__(self, program: Fanout, root: Path, tls: Sequence[str] = ()) -> None:
        """`tls` are the options with which both speak TLS."""
        self._program = program
        self._tls = tls
        self._root = root
        self._file = root / "scheduler.json"
        self._processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", *(("--protocol", "tls") if tls else ())
        )
        until_there(lambda: bool(self._told()), "the scheduler")
        self.address = self._told()["address"].replace("tcp://", "dask://")
        self.engine = ("--engine", self.address, *(() if tls else ("--insecure",)))

    def add_worker(self, **env: str) -> subprocess.Popen[bytes]:
        """Start one more process, with one thread for Dask's own tasks."""
        options = ("--host", "127.0.0.1", "--no-nanny", "--nthreads", "1", "--local-directory", str(self._root))
        worker = self._start("worker", *options, env=env)
        self.workers.append(worker)
        return worker

    def close(self) -> None:
        """Ends all of it."""
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, what: str, *options: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        line = [
            sys.executable,
            "-m",
            "dask",
            what,
            "--scheduler-file",
            str(self._file),
            "--no-dashboard",
            *self._tls,
            *options,
        ]
        with (self._root / f"{what}{len(self._processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                line,
                cwd=self._root,
                env=self._program.environment(env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._processes.append(process)
        return process

    def _told(self) -> dict[str, str]:
        try:
            return json.loads(self._file.read_text())
        except (OSError, ValueError):
            return {}


@contextmanager
def cluster_of(program: Fanout, root: Path, workers: int, tls: Sequence[str] = ()) -> Iterator[Cluster]:
    """A cluster with that many workers."""
    folder = root / "dask"
    os.mkdir(folder)
    cluster = Cluster(program, folder, tls)
    try:
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.close()

"""Batches: scripted items, three calls each to the bundled calculator, 64 at once, each size in its own process.

`python -m benchmarks.bench_batch [N ...]`. CPU is this process's, without the server's. Times are noisy on a machine
that does other things; CPU an item, memory and the longest stall of the event loop are what to look at. `--events`
keeps each item's events in a file, `--profile` says where the time goes.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.console import parser, row

SIZES = (100, 1_000, 10_000)
JOBS = 64
SCRIPT = """
name = "three-sums"
protocol = "native"
[[answer]]
usage = { input = 120, output = 40 }
steps = [
  { call = "calculator.evaluate", arguments = { expression = "355/113" } },
  { call = "calculator.evaluate", arguments = { expression = "sqrt(2)" } },
  { call = "calculator.evaluate", arguments = { expression = "e^pi" } },
]
[[answer]]
steps = [ { text = "The last one is {{last_result}}." } ]
"""


def main() -> None:
    """Every size in a process of its own."""
    words = parser(__doc__)
    words.add_argument("sizes", metavar="N", type=int, nargs="*", help="items")
    words.add_argument("--profile", action="store_true", help="say where the time goes")
    words.add_argument("--events", action="store_true", help="with one event file an item")
    words.add_argument("--child", action="store_true", help="measure in this process, and print JSON")
    given = words.parse_args()
    sizes: list[int] = given.sizes or list(SIZES)
    if given.child:
        print(json.dumps(asyncio.run(_measured(sizes[0], profile=given.profile, events=given.events))))
        return
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="fanout-bench-") as home:
            options = ["--profile"] * given.profile + ["--events"] * given.events
            command = [sys.executable, "-m", "benchmarks.bench_batch", str(size), "--child", *options]
            environ = {**os.environ, "FANOUT_HOME": home}
            done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, check=True, text=True)
        *said, last = done.stdout.splitlines()
        print("\n".join(said))
        found = json.loads(last)
        row(f"{size:,} items, {JOBS} at once: items a second", f"{found['rate']:.0f}")
        row(f"{size:,} items: CPU an item", f"{found['cpu']:.1f} ms")
        row(f"{size:,} items: memory after 500, and at the end", f"{found['early']:.0f} MB, {found['late']:.0f} MB")
        stall = f"{found['stall'] * 1000:.0f} ms, {found['busy'] * 1000:.0f} ms of it at work"
        row(f"{size:,} items: longest stall of the loop", stall)


async def _measured(size: int, *, profile: bool, events: bool) -> dict[str, Any]:
    from console_app import batch_worker, wiring
    from console_app.batch import Limits, LocalEngine
    from console_app.batch.results_file import ChangeNotes, ResultsFile
    from console_app.batch.run import BatchRun
    from console_app.command_line import parse_arguments
    from console_app.domain import batch

    home = Path(os.environ["FANOUT_HOME"])
    script = home / "script.toml"
    script.write_text(SCRIPT)
    setup = wiring.prepare(parse_arguments(["batch", "none", "-m", f"scripted/{script}", "--mcp", "calculator"]))
    items = [batch.WorkItem(id=str(number), prompt=f"Sums, the {number}th time") for number in range(size)]
    results = ResultsFile(home / "results.jsonl")
    progress = batch.BatchProgress(size)
    folder = home / "events" if events else None
    async with batch_worker.open_worker(setup, wiring.choose_servers(setup), events=folder) as worker:
        await worker.ready(lambda hub: hub.ready())
        await worker.models.load()
        engine, changes = LocalEngine(worker.worker, lambda: JOBS), ChangeNotes(results)
        run = BatchRun(engine, items, results, progress, Limits(), changes)
        watch = _Watch(progress)
        watching = asyncio.create_task(watch.run())
        profiler = _started_profile() if profile else None
        began, cpu = time.monotonic(), time.process_time()
        await run.run()
        took, cpu = time.monotonic() - began, time.process_time() - cpu
        if profiler is not None:
            _print_profile(profiler)
        watching.cancel()
    await results.close()
    assert progress.counts == {"completed": size}, progress.snapshot(0)
    return {
        "rate": size / took,
        "cpu": cpu / size * 1000,
        "early": watch.early or _memory(),
        "late": _memory(),
        "stall": watch.stall,
        "busy": watch.busy,
    }


class _Watch:
    """The longest time in which the loop let nobody else run, how much of that it worked, which other programs don't
    lengthen, and the memory after 500 items."""

    def __init__(self, progress: Any) -> None:
        self.stall = self.busy = 0.0
        self.early = 0.0
        self._progress = progress

    async def run(self) -> None:
        while True:
            before, busy = time.monotonic(), time.thread_time()
            await asyncio.sleep(0.005)
            self.stall = max(self.stall, time.monotonic() - before - 0.005)
            self.busy = max(self.busy, time.thread_time() - busy)
            if not self.early and sum(self._progress.counts.values()) >= 500:
                self.early = _memory()


def _memory() -> float:
    """MB that the process takes now; the most it took where the system doesn't say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _started_profile() -> Any:
    import cProfile

    profiler = cProfile.Profile(time.process_time)
    profiler.enable()
    return profiler


def _print_profile(profiler: Any) -> None:
    import pstats

    profiler.disable()
    pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()

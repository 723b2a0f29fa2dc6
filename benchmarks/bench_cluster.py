"""A batch on a cluster: items a second of two worker processes against one process, and a simulated cluster of 1,000.

`python -m benchmarks.bench_cluster` (`make bench-cluster`). The simulation runs the real dealer of
items in virtual time.
"""

from __future__ import annotations

import heapq
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from console_app.cluster.dealer import Dealer
from console_app.cluster.engine import EXCHANGES

ITEMS = 400


def main() -> None:
    """Prints one line a measurement."""
    with tempfile.TemporaryDirectory() as folder:
        local = _run(Path(folder), "local")
        dask = _run(Path(folder), "dask")
    print(f"one process      {local:7.1f} items/s")
    print(f"--engine dask    {dask:7.1f} items/s  {dask / local:.2f} x")
    for workers in (10, 100, 1_000):
        print(simulated(1_000_000, workers, jobs=32, seconds=20.0, client_seconds=0.001))


def _run(folder: Path, engine: str) -> float:
    """Items a second between the first start and the last end, by their own times."""
    rows = [{"tool": "calculator.evaluate", "arguments": {"expression": f"{n}^2"}} for n in range(ITEMS)]
    (folder / "calls.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    results = folder / f"{engine}.jsonl"
    line = [
        "-m",
        "console_app",
        "call",
        "--from",
        "calls.jsonl",
        "-o",
        str(results),
        "--engine",
        engine,
        "--jobs",
        "32",
    ]
    subprocess.run([sys.executable, *line], cwd=folder, check=True, capture_output=True)
    times = [json.loads(text) for text in results.read_text().splitlines()]
    return ITEMS / (max(one["finished_at"] for one in times) - min(one["started_at"] for one in times))


def simulated(items: int, workers: int, *, jobs: int, seconds: float, client_seconds: float) -> str:
    """A line on so many items of `seconds` each, whose results take the one client `client_seconds`."""
    dealer, began = Dealer(), time.process_time()
    for number in range(workers):
        dealer.resize(str(number), jobs)
    gap = max(workers / EXCHANGES, 0.005)  # seconds between two exchanges with one worker
    ends: list[tuple[float, int, str]] = []
    left, now, client_free = items, 0.0, 0.0
    while left or ends:
        while left and (worker := dealer.take()) is not None:
            left -= 1
            heapq.heappush(ends, (now + gap / 2 + seconds * (0.5 + (left * 7919 % 1000) / 1000), left, worker))
        ended, _, worker = heapq.heappop(ends)
        now = client_free = max(client_free, ended + gap / 2) + client_seconds
        dealer.free(worker)
    ideal = items * seconds / (workers * jobs)
    spent = (time.process_time() - began) / items * 1e6
    return (
        f"{workers:5} workers: {items:,} items of {seconds:g} s in {now / 3600:6.2f} h, {ideal / now:4.0%} of "
        f"their time used; dealing took {spent:.1f} µs an item"
    )


if __name__ == "__main__":
    main()

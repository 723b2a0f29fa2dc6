"""A batch on a cluster: items a second of a worker process a processor against one process, for items that wait for
others and for items that take a processor, and a simulated cluster of 1,000.

`python -m benchmarks.bench_cluster` (`make bench-cluster`). The simulation runs the real dealer of
items in virtual time.
"""

from __future__ import annotations

import heapq
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.console import parser
from console_app.cluster.engine import EXCHANGES, Dealer

ROOT = Path(__file__).parents[1]
ITEMS = 400
BURNING, BURNT = 60, 0.4  # items that take a processor, and seconds of it that each takes


def main() -> None:
    """Prints one line a measurement."""
    parser(__doc__).parse_args()
    sums = [{"tool": "calculator.evaluate", "arguments": {"expression": f"{n}^2"}} for n in range(ITEMS)]
    burning = [{"tool": "burning.burn", "arguments": {"seconds": BURNT}, "id": str(n)} for n in range(BURNING)]
    for what, rows in (("a call to the calculator", sums), (f"{BURNT} s of a processor", burning)):
        with tempfile.TemporaryDirectory() as folder:
            local = _run(Path(folder), rows, "local")
            dask = _run(Path(folder), rows, "dask")
        print(f"{len(rows)} items of {what}: one process {local:.1f} items/s,", end=" ")
        print(f"--engine dask {dask:.1f} items/s, {dask / local:.2f} x")
    for workers in (10, 100, 1_000):
        print(simulated(1_000_000, workers, jobs=32, seconds=20.0, client_seconds=0.001))


def _run(folder: Path, rows: list[dict[str, Any]], engine: str) -> float:
    """Items a second between the first start and the last end, by their own times."""
    (folder / "calls.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    server = {"command": sys.executable, "args": ["-m", "benchmarks.burning_server"], "timeout": 600}
    bundled = json.loads((ROOT / "mcp.json").read_text())["mcpServers"]["calculator"]
    config = folder / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"calculator": bundled, "burning": {**server, "cwd": str(ROOT)}}}))
    results = folder / f"{engine}.jsonl"
    options = ["--engine", engine, "--jobs", "32", "--mcp-config", str(config), "--approval-mode", "yolo"]
    line = [sys.executable, "-m", "console_app", "call", "--from", "calls.jsonl", "-o", str(results), *options]
    environ = {**os.environ, "FANOUT_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
    subprocess.run(line, cwd=folder, env=environ, check=True, capture_output=True)
    times = [json.loads(text) for text in results.read_text().splitlines()]
    assert {one["status"] for one in times} == {"completed"}
    return len(rows) / (max(one["finished_at"] for one in times) - min(one["started_at"] for one in times))


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

"""What recording a server's wire costs a call, off the screen: `python -m benchmarks.bench_wire [CALLS]`.

Calls of a real server over stdio, one after the other, of which every second one is recorded; the quickest twentieth of
each kind counts, since all else that goes on on a machine only adds. The share is of the call's whole time.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.console import parser, row
from console_app.domain import ports
from console_app.mcp_client import Hub, Traffic
from tests.mcp_client.conftest import Reports, faulty
from tests.patience import PATIENCE

WANTED = 0.02


async def measure(calls: int) -> tuple[float, float]:
    """Seconds of a call: recorded, and not."""
    recording = Traffic.keep

    def nothing(*_: Any, **__: Any) -> None:
        return None

    took: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory(prefix="fanout-bench-") as folder:
        hub = Hub([faulty("plain")], log_dir=Path(folder, "logs"), files_dir=Path(folder, "files"))
        await hub.start()
        try:
            await hub.ready(PATIENCE)
            spec = hub.tools()[0]
            for number in range(2 * calls):
                records = number % 4 in (0, 3)
                Traffic.keep = recording if records else nothing  # pyright: ignore[reportAttributeAccessIssue]
                invocation = ports.Invocation(str(number), spec, {"text": "x" * 200})
                begun = time.perf_counter()
                await hub.call(invocation, Reports())
                took[records].append(time.perf_counter() - begun)
        finally:
            Traffic.keep = recording
            await hub.close()
    return _least(took[True]), _least(took[False])


def _least(seconds: list[float]) -> float:
    """The mean of the quickest twentieth: what a call takes when nothing else is in its way."""
    quickest = sorted(seconds)[: max(len(seconds) // 20, 1)]
    return sum(quickest) / len(quickest)


def main() -> None:
    """Prints the figures; exits 1 when recording costs more than it may."""
    words = parser(__doc__)
    words.add_argument("calls", metavar="CALLS", type=int, nargs="?", default=10_000)
    recorded, bare = asyncio.run(measure(words.parse_args().calls))
    share = recorded / bare - 1
    row("a call, its wire recorded", f"{recorded * 1000:.3f} ms")
    row("a call, not recorded", f"{bare * 1000:.3f} ms")
    row("recording costs", f"{share:.1%}")
    sys.exit(share > WANTED)


if __name__ == "__main__":
    main()

"""What recording a server's wire costs a call, off the screen: `python -m benchmarks.bench_wire [ROUNDS]`.

Calls of a real server over stdio, one after the other, in rounds that record and rounds that don't, in turns; the
smallest round of each counts, since all else on a machine only adds. The share is of the call's whole time, and means
nothing on a machine that is busy.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.console import row
from console_app.domain.ports.toolset import Invocation
from console_app.mcp_client.hub import Hub
from console_app.mcp_client.traffic import Traffic
from tests.mcp_client.conftest import Reports, faulty
from tests.patience import PATIENCE

WANTED = 0.02
CALLS = 60  # a round


async def measure(rounds: int) -> tuple[float, float]:
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
            for number in range(2 * rounds):
                records = number % 4 in (0, 3)
                Traffic.keep = recording if records else nothing  # pyright: ignore[reportAttributeAccessIssue]
                begun = time.perf_counter()
                for call in range(CALLS):
                    await hub.call(Invocation(f"{number}-{call}", spec, {"text": "x" * 200}), Reports())
                took[records].append((time.perf_counter() - begun) / CALLS)
        finally:
            Traffic.keep = recording
            await hub.close()
    return min(took[True]), min(took[False])


def main() -> None:
    """Prints the figures; exits 1 when recording costs more than it may."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    recorded, bare = asyncio.run(measure(rounds))
    share = recorded / bare - 1
    row("a call, its wire recorded", f"{recorded * 1000:.3f} ms")
    row("a call, not recorded", f"{bare * 1000:.3f} ms")
    row("recording costs", f"{share:.1%}")
    sys.exit(share > WANTED)


if __name__ == "__main__":
    main()

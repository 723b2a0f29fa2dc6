"""An end from outside begins one budget for the run's end: servers end while the rest is still written.

How long the end takes is a figure of `benchmarks/bench_limits.py`; here it is only what waits for what.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil

from console_app.headless import Interrupts, OutputStreams, run_turn, servers
from console_app.headless.interrupts import HURRIED, TimeToEnd
from console_app.mcp_client import Hub, ServerState
from tests.each import each
from tests.engine.peers import Model, calls, engine_of
from tests.mcp_client.conftest import faulty
from tests.patience import until_so


async def test_one_budget_is_shared_by_all_that_wait() -> None:
    to_end = TimeToEnd()
    assert to_end.left(3.0) == 3.0  # nothing hurries
    to_end.begin(time.monotonic() - HURRIED * 10)
    assert to_end.left(3.0) == to_end.left(0.5) == 0.2  # what is left when all is used up
    to_end.begin()
    assert to_end.left(3.0) == 0.2, "only the first beginning counts"


async def test_servers_end_at_once_when_the_work_was_ended_from_outside(tmp_path: Path) -> None:
    modes = ("stubborn", "never-answers")
    hub = Hub([faulty(mode, str(tmp_path / mode), name=mode) for mode in modes], log_dir=tmp_path, files_dir=tmp_path)
    to_end = TimeToEnd()
    async with servers.running(hub, to_end):
        await hub.ready()
        pids = [int(pid) for pid in (tmp_path / "stubborn").read_text().split()]
        assert all(map(psutil.pid_exists, pids))
        to_end.begin()
        await until_so(
            lambda: all(status.state is ServerState.STOPPED for status in hub.statuses()),
            "the end of the servers beside other work",
        )
    await until_so(lambda: not any(map(psutil.pid_exists, pids)), "the end of what ignores signals")


@each(("limit", "code", "hurried"), [(0.2, 124, True), (None, 0, False)])
async def test_a_time_limit_begins_the_end_and_an_answer_does_not(
    limit: float | None, code: int, hurried: bool
) -> None:
    interrupts = Interrupts()
    engine = engine_of(Model(calls({"do": "wait" if limit else "succeed", "n": 1})), turn_timeout=limit)
    nothing = os.open(os.devnull, os.O_WRONLY)
    output = OutputStreams(nothing, nothing)
    ending = await run_turn(engine, "go", output=output, output_format="text", interrupts=interrupts)
    await output.finish()
    output.close()
    os.close(nothing)
    assert (ending.code, interrupts.to_end.begun.is_set()) == (code, hurried)

"""Calls whose server floods: the newest line is in the panel, and no line is missing that isn't counted."""

from __future__ import annotations

from pathlib import Path

from console_app.console.reports.call_report import log_lines
from console_app.domain.approvals import ApprovalMode
from console_app.domain.tools import Outcome
from console_app.engine import ApprovalGate
from console_app.mcp_client import Hub
from console_app.tui.app import FanoutApp
from tests.mcp_client.conftest import faulty
from tests.patience import PATIENCE
from tests.tui.parts import WrittenModel, at_rest, calls, chat, decide, say, see, services, until

LINES = 3_000


async def test_a_flood_of_log_lines_shows_the_newest_and_counts_what_it_left_out(tmp_path: Path) -> None:
    hub = Hub([faulty("log-flood")], log_dir=tmp_path / "logs", files_dir=tmp_path / "files")
    await hub.start()
    await hub.ready(PATIENCE)
    model = WrittenModel(calls(("odd_work", f'{{"wait": true, "lines": {LINES}}}')), say("fine"))
    console = FanoutApp(services(tmp_path, model, hub, gate=ApprovalGate(ApprovalMode.YOLO)))
    try:
        async with console.run_test(size=(120, 40)) as pilot:
            await pilot.press(*"go", "enter")
            await see(pilot, f"line {LINES - 1}")  # the newest, while it runs
            await pilot.resize_terminal(80, 24)
            await at_rest(pilot)
            await see(pilot, f"line {LINES - 1}")
            (call,) = chat(console).services.engine.transcript.calls.values()
            assert call.logged == LINES
            lines = log_lines(call)
            missing = [int(line.split()[1].replace(",", "")) for line in lines if line.startswith("… ")]
            assert sum(missing) + len(lines) - len(missing) == LINES
            await pilot.press("alt+1")
            await decide(pilot, "x")
            await until(pilot, lambda: call.outcome is Outcome.CANCELLED, "its end")
            assert call.content.rstrip().endswith(f"line {LINES - 1}"), "the newest, for the model too"
    finally:
        await hub.close()

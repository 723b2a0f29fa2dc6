"""Each conversation has parts of its own, which go with it."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from console_app import wiring
from console_app.command_line import parse_arguments
from console_app.commands.acp import OpenedSessions
from console_app.headless import Interrupts


async def test_the_collector_looks_at_all_but_what_was_there_for_the_first_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANOUT_HOME", str(tmp_path))
    setup = wiring.prepare(parse_arguments(["acp", "--model", "offline/rehearsal", "--no-mcp"]))
    opened = OpenedSessions(setup, Interrupts())
    try:
        frozen: list[int] = []
        for _ in range(2):
            parts = await opened(tmp_path, [])
            await parts.start()
            frozen.append(gc.get_freeze_count())
            await parts.services.close()
        assert frozen[0] > 0
        assert frozen[1] <= frozen[0]
    finally:
        gc.unfreeze()
        gc.collect()
        gc.freeze()  # for the tests behind it

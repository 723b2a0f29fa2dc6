"""Servers whose handshake is odd: too slow for the newest one, or silent to what they don't know."""

from __future__ import annotations

import mcp.client.session
import pytest

from console_app.mcp_client import ServerState
from tests.mcp_client.conftest import StartHub, faulty


async def test_a_server_that_ignores_what_it_does_not_know_is_not_waited_for(
    start_hub: StartHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp.client.session, "DISCOVER_TIMEOUT_SECONDS", 3600.0)
    bench = await start_hub(faulty("silent"))
    assert (bench.status().state, bench.status().protocol_version) == (ServerState.READY, "2025-11-25")
    assert (await bench.call("work")).content == "work done"


async def test_a_slow_server_that_speaks_only_the_newest_protocol_connects(
    start_hub: StartHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp.client.session, "DISCOVER_TIMEOUT_SECONDS", 0.05)
    bench = await start_hub(faulty("modern-only"))
    assert (bench.status().state, bench.status().protocol_version) == (ServerState.READY, "2026-07-28")
    assert [spec.tool for spec in bench.hub.tools()] == ["work"]


async def test_a_slow_server_that_speaks_both_is_not_taken_to_the_older_protocol_by_a_ping(
    start_hub: StartHub,
) -> None:
    bench = await start_hub(faulty("both-protocols"))
    assert (bench.status().state, bench.status().protocol_version) == (ServerState.READY, "2026-07-28")
    assert [spec.tool for spec in bench.hub.tools()] == ["work"]

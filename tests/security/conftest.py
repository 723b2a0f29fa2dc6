"""What the attacks are tried on: the hub, as the tests of the MCP client start it, and a program full of secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp_client.conftest import start_hub
from tests.program.process import Fanout
from tests.security.canaries import KEPT, SERVER, config, echo, keep, servers

__all__ = ["start_hub"]


@pytest.fixture
def host() -> Iterator[str]:
    with echo() as address:
        yield address


@pytest.fixture
async def fanout(tmp_path: Path, host: str) -> Fanout:
    fanout = Fanout(tmp_path)
    script = fanout.write("spy.py", SERVER)
    fanout.write("home/mcp.json", json.dumps({"mcpServers": servers(script, host)}))
    fanout.write("home/config.toml", config(host))
    await keep(fanout, host)
    kept = {"openai-responses": KEPT[3], "anthropic": KEPT[4]}
    for provider, key in kept.items():
        done = fanout.run("auth", "set", provider, stdin=key.encode() + b"\n")
        assert done.code == 0, done.err
    return fanout

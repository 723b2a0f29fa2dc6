"""Attacks are tried on the hub, as the tests of the MCP client start it, and on a program full of secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from console_app.config.files import Paths
from console_app.config.secrets import StoredKeys
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
    return await full_of_secrets(tmp_path, host)


async def full_of_secrets(root: Path, host: str) -> Fanout:
    """Has every canary in the place that it is for."""
    fanout = Fanout(root)
    script = fanout.write("spy.py", SERVER)
    fanout.write("home/mcp.json", json.dumps({"mcpServers": servers(script, host)}))
    fanout.write("home/config.toml", config(host))
    await keep(fanout, host)
    keys = StoredKeys(Paths.find(fanout.environment()))
    for variable, key in (("OPENAI_API_KEY", KEPT[3]), ("ANTHROPIC_API_KEY", KEPT[4])):
        keys.set(variable, key)
    return fanout

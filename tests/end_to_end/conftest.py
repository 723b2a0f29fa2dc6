"""The calculator that comes along, as a running server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console_app.config.mcp_servers import ServerConfig
from console_app.mcp_client.hub import Hub
from tests.patience import PATIENCE


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[Hub]:
    server = ServerConfig(name="calculator", command="python", args=("-m", "console_app.servers.calculator"))
    hub = Hub([server], log_dir=tmp_path / "logs", files_dir=tmp_path / "files")
    await hub.start()
    await hub.ready(PATIENCE)
    yield hub
    await hub.close()

"""The calculator that comes along, as a running server: one for all tests, as it keeps nothing of a call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from console_app.config.servers import ServerConfig
from console_app.mcp_client import Hub
from tests.patience import PATIENCE

SHARED = {"hub", "desk"}  # fixtures that are made once


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Tests that use the fixtures of a session run on their event loop."""
    here = [item for item in items if pytest_asyncio.is_async_test(item) and item.module.__package__ == __package__]
    for item in here:
        if not SHARED.isdisjoint(item.fixturenames):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hub]:
    folder = tmp_path_factory.mktemp("calculator")
    server = ServerConfig(name="calculator", command="python", args=("-m", "console_app.servers.calculator"))
    hub = Hub([server], log_dir=folder / "logs", files_dir=folder / "files")
    await hub.start()
    await hub.ready(PATIENCE)
    yield hub
    await hub.close()

"""The same over streamable HTTP, with the SDK's own server of 2026-07-28."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from console_app.config.servers import ServerConfig
from tests.mcp_client.conftest import FIXTURES
from tests.patience import PATIENCE, until_so
from tests.tui.server_offers.conftest import OpenConsole


@pytest.fixture
async def url(tmp_path: Path) -> AsyncGenerator[str]:
    """Where fixtures/modern_server.py listens."""
    file = tmp_path / "port"
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(FIXTURES / "modern_server.py"), "--http", str(file)]
    process = subprocess.Popen(command, env=environment)  # noqa: ASYNC220 -- waits for nothing
    try:
        await until_so(lambda: file.exists() and bool(file.read_text()), "its port: it binds before it writes")
        yield f"http://127.0.0.1:{file.read_text()}/mcp"
    finally:
        process.kill()
        process.wait()


async def test_prompts_resources_and_changes_over_http(console: OpenConsole, url: str) -> None:
    async with console(ServerConfig(name="modern", url=url), size=(80, 24)) as shown:
        await shown.put("/modern:early")
        await shown.pilot.press("enter")
        await shown.see("/modern:early  written by the server")
        await shown.until(lambda: bool(shown.model.requests))
        assert shown.sent == "early"
        await shown.put("read @modern:note://a")
        await shown.pilot.press("enter")
        await shown.until(lambda: len(shown.model.requests) == 2)
        assert "a note" in shown.sent
        await shown.call("grow")
        await shown.until(lambda: shown.chat.commands.get("modern:late") is not None)
        await shown.chat.offers.watching.switch("modern", "note://a")
        watching = shown.chat.offers.watching
        async with asyncio.timeout(PATIENCE):
            while watching.mark("modern", "note://a") != "changed":  # the stream is opened anew in the background
                await shown.call("touch", uri="note://a")
        await shown.see("note://a of modern has changed.")
        await shown.pilot.press("ctrl+l")
        await shown.see("ready · http")
        await shown.see("protocol 2026-07-28")

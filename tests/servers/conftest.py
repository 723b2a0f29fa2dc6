"""The bundled servers as mcp.json starts them: programs over stdio in a folder of the test, through the hub."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from console_app.config.servers import ServerConfig
from tests.mcp_client.conftest import Bench, start_hub

__all__ = ["Serve", "bundled", "start_hub"]

Serve = Callable[..., Any]


def bundled(name: str, folder: Path, env: Mapping[str, str] | None = None) -> ServerConfig:
    """The bundled server `name`, started in `folder`."""
    args = ("-m", f"console_app.servers.{name}")
    return ServerConfig(name=name, command="python", args=args, cwd=str(folder), env=dict(env or {}))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder that the server works in."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def serve(start_hub: Callable[..., Any], work: Path) -> Serve:
    """Starts one bundled server in `work`; the same in every case of a test, with all that earlier cases left."""
    started = dict[object, Bench]()

    async def start(name: str, **env: str) -> Bench:
        key = (name, *sorted(env.items()))
        if key not in started:
            started[key] = await start_hub(bundled(name, work, env))
        bench = started[key]
        assert bench.status().state == "ready", bench.status()
        return bench

    return start

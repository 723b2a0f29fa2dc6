"""A fresh interpreter: the SDK is loaded only when a server needs it, and by many at once without harm."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.mcp_client.conftest import FIXTURES

ROOT = str(FIXTURES.parents[2])
LIGHT = """
import sys
import console_app.mcp_client.hub
assert not {"mcp", "anyio", "httpx2", "jsonschema"} & sys.modules.keys(), "the SDK was loaded"
"""
MANY = """
import asyncio, pathlib, sys, tempfile, threading
from console_app.mcp_client.connecting import sdk
from console_app.mcp_client.hub import Hub
from console_app.config.servers.mcp_servers import ServerConfig
from tests.mcp_client.conftest import faulty

async def main(folder):
    programs = [faulty("plain", name=f"program{n}") for n in range(4)]
    refused = [ServerConfig(name=f"web{n}", url="http://127.0.0.1:9/mcp") for n in range(4)]
    hub = Hub([*programs, *refused], log_dir=folder, files_dir=folder)
    threading.Thread(target=sdk.preload).start()
    await hub.start()
    await hub.ready()
    print(sorted({status.reason or "ready" for status in hub.statuses()}))
    await hub.close()

with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(pathlib.Path(folder)))
"""
PROGRAMS = """
import asyncio, pathlib, sys, tempfile
from console_app.mcp_client.connecting import sdk
from console_app.mcp_client.hub import Hub
from tests.mcp_client.conftest import faulty

async def main(folder):
    hub = Hub([faulty("plain", name=f"program{n}") for n in range(2)], log_dir=folder, files_dir=folder)
    await asyncio.to_thread(sdk.preload)
    await hub.start()
    await hub.ready()
    print(len(hub.tools()), {"jsonschema", "mcp.client.auth"} & sys.modules.keys())
    await hub.close()

with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(pathlib.Path(folder)))
"""


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_hub_alone_loads_no_sdk() -> None:
    assert _run(LIGHT) == ""


def test_servers_of_every_kind_start_at_once() -> None:
    assert _run(MANY) == "['connection refused at http://127.0.0.1:9', 'ready']\n"


def test_programs_with_plain_schemas_load_neither_the_validator_nor_what_signs_in() -> None:
    assert re.fullmatch(r"[1-9]\d* set\(\)\n", _run(PROGRAMS))

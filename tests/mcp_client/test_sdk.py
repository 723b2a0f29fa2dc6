"""The SDK of the protocol as a client loads it: without its servers, which whoever wants them still gets whole."""

from __future__ import annotations

import subprocess
import sys

LOADED = """
import sys
from console_app.mcp_client import preload
preload()
assert "mcp.client.client" in sys.modules
print(*sorted(name for name in sys.modules if name.split(".")[0] in ("starlette", "uvicorn", "sse_starlette")))
print(*sorted(name for name in sys.modules if name.startswith("mcp.server")))
import mcp
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
print(Server.__module__, MCPServer.__module__, mcp.server.__file__ is not None)
"""


def test_a_client_loads_no_server_and_leaves_no_stand_in() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=False)
    assert done.stdout == "\n\nmcp.server.lowlevel.server mcp.server.mcpserver.server True\n", done.stderr

"""What the attacks are tried on: the hub, as the tests of the MCP client start it."""

from __future__ import annotations

from tests.mcp_client.conftest import start_hub

__all__ = ["start_hub"]

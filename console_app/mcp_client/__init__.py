"""The MCP client: servers from mcp.json, each held by one owner task, together one set of tools."""

"""The MCP servers that ship with Fanout: small stdio programs, started from mcp.json like any other server."""

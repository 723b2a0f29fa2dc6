"""What the user decided: paths, settings, MCP servers and trust. Reads files and the environment, starts nothing."""

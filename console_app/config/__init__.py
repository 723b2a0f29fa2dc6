"""The user's decisions: paths, settings, MCP servers and trust. It reads files and the environment, starts nothing."""

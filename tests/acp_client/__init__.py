"""Agents of others, over the Agent Client Protocol: real programs on real pipes."""

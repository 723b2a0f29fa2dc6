"""Fanout: a terminal console for agents that call many tools at once."""

"""Drives turns without a terminal: a prompt in, text or JSON out. Knows nothing of the console."""

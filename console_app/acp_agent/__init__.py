"""Fanout as an agent of the Agent Client Protocol: conversations that editors hold, over standard input and output."""

"""Fanout's own tools: a to-do list, a question to the user, and the call that ends a turn. Typed, never approved."""

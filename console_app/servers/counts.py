"""A number of things in words, in what the servers' tools say."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

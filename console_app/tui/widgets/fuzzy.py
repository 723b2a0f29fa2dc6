"""Names that match what was typed, best first."""

from __future__ import annotations

from collections.abc import Iterable

from textual.fuzzy import FuzzySearch


def best(query: str, names: Iterable[str], limit: int) -> list[str]:
    """`names` that match `query` fuzzily, best first; all of them, in their order, for an empty query."""
    if not query:
        return list(names)[:limit]
    match, begin = FuzzySearch().match, query.casefold()
    doubled = ((match(query, name)[0] * (1 + name.casefold().startswith(begin)), name) for name in names)
    scored = [(score, -order, name) for order, (score, name) in enumerate(doubled)]
    return [name for score, _, name in sorted(scored, reverse=True) if score > 0][:limit]

"""Names that match what was typed, best first."""

from __future__ import annotations

from collections.abc import Iterable

from textual.fuzzy import FuzzySearch


def best(query: str, names: Iterable[str], limit: int) -> list[str]:
    """`names` that match `query` fuzzily, best first; all of them, in their order, for an empty query."""
    if not query:
        return list(names)[:limit]
    search = FuzzySearch()
    scored = [(_score(search, query, name), -order, name) for order, name in enumerate(names)]
    return [name for score, _, name in sorted(scored, reverse=True) if score > 0][:limit]


def _score(search: FuzzySearch, query: str, name: str) -> float:
    score = search.match(query, name)[0]
    return score * 2 if name.casefold().startswith(query.casefold()) else score

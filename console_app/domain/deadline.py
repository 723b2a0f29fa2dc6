"""When a running call ends by itself: the one rule, for the engine that ends it and for whoever counts it down."""

from __future__ import annotations

MOST_LIMITS = 24  # times its limit that a call may take whatever news it sends: two hours with the usual five minutes


def ends_at(news_at: float, counts_from: float, limit: float) -> float:
    """When it ends: `limit` seconds after its newest news, and in any case MOST_LIMITS times that after `counts_from`,
    when it started or a person last gave it its whole time."""
    return min(news_at + limit, counts_from + limit * MOST_LIMITS)

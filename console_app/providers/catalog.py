"""Knows prices and context windows of models without asking anyone.

Prices come from the table that genai-prices carries; nothing is downloaded. An endpoint is priced by its own name or
URL only: a model of the same name at a server of your own costs nothing that we know of, so its cost is None.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

_PRICE_LISTS = {"openai": "openai", "openai-responses": "openai", "anthropic": "anthropic"}
_LOCAL = re.compile(r"localhost$|::1$|(127|10|192\.168)\.|[^.:]+$")
_UNPRICED = frozenset({"ollama", "offline", "scripted"})


def preload() -> None:
    """Load the price table (0.3 s the first time): called in a thread."""
    cost("openai", "gpt-4o", 1, 1, None)


def cost(
    provider: str,
    model: str,
    input_tokens: int,
    output_tokens: int,
    cached_tokens: int | None = None,
    *,
    cache_written: int = 0,
    base_url: str | None = None,
) -> float | None:
    """Return the US dollars of one request, None where the price isn't known. `cached_tokens` and what was written to
    the cache are part of the input."""
    known = place_in_table(provider, base_url)
    if known is None:
        return None
    # 0.3 s to import, with its table of prices.
    from genai_prices import Usage, calc_price

    usage = Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=cached_tokens or 0,
        cache_write_tokens=cache_written,
    )
    try:
        return float(calc_price(usage, model, **known).total_price)
    except (LookupError, ValueError):
        return None


def context_window(provider: str, model: str, *, base_url: str | None = None) -> int | None:
    """Return the tokens that fit into one request and its answer, None where not known."""
    known = place_in_table(provider, base_url)
    if known is None:
        return None
    from genai_prices import data_snapshot

    try:
        _, found = data_snapshot.get_snapshot().find_provider_model(
            model, None, known.get("provider_id"), known.get("provider_api_url")
        )
    except (LookupError, ValueError):
        return None
    return found.context_window


def place_in_table(provider: str, base_url: str | None) -> dict[str, Any] | None:
    """Tell how the price table finds the endpoint; None when it can't be in it."""
    if provider in _UNPRICED:
        return None
    if base_url:
        return None if _LOCAL.match(urlsplit(base_url).hostname or "") else {"provider_api_url": base_url}
    return {"provider_id": _PRICE_LISTS[provider]} if provider in _PRICE_LISTS else None

"""What `fanout models` prints of a listing."""

from __future__ import annotations

from console_app.conversation.model_source import ModelListing
from console_app.domain.safe_text import one_line
from console_app.providers import catalog


def lines(listing: ModelListing, base_url: str | None) -> list[str]:
    """A line a model, with its context window where that is known."""
    found: list[str] = []
    for name in listing.models:
        window = catalog.context_window(listing.provider, name.partition("/")[2], base_url=base_url)
        found.append(f"{one_line(name, 100):<48}{f' {window:>12,} tokens' if window else ''}".rstrip())
    return found

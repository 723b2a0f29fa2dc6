"""What `fanout models` prints: each model with its context window, where that is known."""

from __future__ import annotations

from collections.abc import Iterator

from console_app.console.model_source import ModelListing
from console_app.domain.safe_text import one_line
from console_app.headless.json_outputs import ModelEntry
from console_app.providers import context_window


def entries(listing: ModelListing, base_url: str | None) -> Iterator[ModelEntry]:
    """The models of a listing."""
    for name in listing.models:
        window = context_window(listing.provider, name.partition("/")[2], base_url=base_url)
        yield ModelEntry(name=name, context_window=window)


def line(entry: ModelEntry) -> str:
    """A model for people."""
    window = f" {entry.context_window:>12,} tokens" if entry.context_window else ""
    return f"{one_line(entry.name, 100):<48}{window}".rstrip()

"""What `fanout models` prints: the models of every provider that can be reached, asked all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from console_app.domain.errors import FanoutError
from console_app.domain.safe_text import one_line
from console_app.providers import catalog
from console_app.providers.factory import list_models
from console_app.providers.provider_config import ProviderConfig

PATIENCE = 15.0  # seconds for an endpoint to list its models


@dataclass(frozen=True, slots=True)
class Listing:
    """The models of one provider, as PROVIDER/MODEL, or in one line why there are none."""

    provider: str
    models: tuple[str, ...] = ()
    problem: str = ""


async def list_all(providers: Mapping[str, ProviderConfig | FanoutError]) -> Sequence[Listing]:
    """Asks every endpoint; a provider that can't be asked is given as the error that says why."""
    return await asyncio.gather(*(_ask(name, config) for name, config in providers.items()))


async def _ask(name: str, config: ProviderConfig | FanoutError) -> Listing:
    if isinstance(config, FanoutError):
        return Listing(name, problem=f"{config.detail}.")
    try:
        async with asyncio.timeout(PATIENCE):
            models = await list_models(config)
    except FanoutError as error:
        return Listing(name, problem=f"{name}: {error.line}")
    except TimeoutError:
        return Listing(name, problem=f"{name}: no answer within {PATIENCE:g} s")
    return Listing(name, tuple(f"{name}/{model}" for model in models))


def lines(listing: Listing, base_url: str | None) -> list[str]:
    """A line a model, with its context window where that is known."""
    found: list[str] = []
    for name in listing.models:
        window = catalog.context_window(listing.provider, name.partition("/")[2], base_url=base_url)
        found.append(f"{one_line(name, 100):<48}{f' {window:>12,} tokens' if window else ''}".rstrip())
    return found

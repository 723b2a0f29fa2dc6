"""What `fanout models` prints: the models of every provider that can be reached, asked all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from console_app.domain.endpoint import ProviderConfig
from console_app.domain.errors import FanoutError, ProviderError
from console_app.domain.safe_text import one_line
from console_app.providers import catalog
from console_app.providers.factory import list_models

PATIENCE = 15.0  # seconds for an endpoint to list its models


@dataclass(frozen=True, slots=True)
class ModelListing:
    """The models of one provider, as PROVIDER/MODEL, or in one line why there are none."""

    provider: str
    models: tuple[str, ...] = ()
    problem: str = ""


async def list_all(providers: Mapping[str, ProviderConfig | FanoutError]) -> Sequence[ModelListing]:
    """Asks every endpoint; a provider that can't be asked is given as the error that says why."""
    return await asyncio.gather(*(_ask(name, config) for name, config in providers.items()))


async def _ask(name: str, config: ProviderConfig | FanoutError) -> ModelListing:
    if isinstance(config, FanoutError):
        return ModelListing(name, problem=f"{config.detail}.")
    try:
        return ModelListing(name, tuple(f"{name}/{model}" for model in await listed(config)))
    except FanoutError as error:
        return ModelListing(name, problem=f"{name}: {error.line}")


async def listed(config: ProviderConfig) -> list[str]:
    """The models of one endpoint. Raises ProviderError, also when it takes too long."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await list_models(config)
    except TimeoutError:
        raise ProviderError(f"{config.name}: no list of models within {PATIENCE:g} s") from None


def lines(listing: ModelListing, base_url: str | None) -> list[str]:
    """A line a model, with its context window where that is known."""
    found: list[str] = []
    for name in listing.models:
        window = catalog.context_window(listing.provider, name.partition("/")[2], base_url=base_url)
        found.append(f"{one_line(name, 100):<48}{f' {window:>12,} tokens' if window else ''}".rstrip())
    return found

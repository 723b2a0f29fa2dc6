"""The models of a batch: one client an endpoint, shared by all items, and each item's own reading around it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from console_app.config.models.model_choice import SCRIPTED, ModelChoice
from console_app.console.model_source import ConfiguredModels, warm_up
from console_app.domain.settings import identity
from console_app.providers.endpoint.rate_limiter import RateLimiter

if TYPE_CHECKING:
    from console_app.domain.ports import Provider
    from console_app.providers.scripted.format import Script

DEFAULT_JOBS = 32


class SharedModels:
    """Opens a provider an item. A model has to be loaded before it is opened."""

    def __init__(self, source: ConfiguredModels) -> None:
        self._source = source
        self._choices: dict[str, ModelChoice] = {}
        self._wires: dict[str, Provider] = {}
        self._scripts: dict[str, Script] = {}
        self._limiters: dict[tuple[str, str | None], RateLimiter] = {}

    async def load(self, name: str = "") -> ModelChoice:
        """Imports what the first request to PROVIDER/MODEL needs ("": the settings' model). Raises FanoutError for one
        that isn't there."""
        if name not in self._choices:
            choice = self._source.choose(name)
            await asyncio.to_thread(self._load, choice)
            self._choices[name] = await self._source.named(choice)
        return self._choices[name]

    def choice(self, name: str = "") -> ModelChoice:
        """A loaded model."""
        return self._choices[name]

    def open(self, name: str = "") -> Provider:
        """A provider for one conversation; it isn't closed."""
        return self._source.open(self._choices[name], self._wire)

    @property
    def jobs(self) -> int:
        """How many turns at once use what the endpoints allow; `DEFAULT_JOBS` while none has said."""
        known = [fits for limiter in self._limiters.values() if (fits := limiter.fits) is not None]
        return sum(known) if known else DEFAULT_JOBS

    @property
    def paused(self) -> float:
        """Seconds for which every endpoint holds its requests back; 0 where one doesn't."""
        return min((limiter.paused for limiter in self._limiters.values()), default=0.0)

    async def close(self) -> None:
        """Closes the connections."""
        wires, self._wires = list(self._wires.values()), {}
        await asyncio.gather(*(wire.close() for wire in wires))

    def _load(self, choice: ModelChoice) -> None:
        self._source.load(choice)
        if choice.provider == SCRIPTED:
            self._played(choice.model)
        self._source.open(choice)  # which imports what reads an answer
        warm_up(choice)

    def _wire(self, choice: ModelChoice) -> Provider:
        if choice.provider == SCRIPTED:  # which plays its script once a conversation
            return self._played(choice.model)
        if (wire := self._wires.get(choice.name)) is None:
            from console_app.providers import factory

            config = choice.config
            assert config is not None
            limiter = self._limiters.setdefault((identity(config), config.api_key), RateLimiter())
            wire = self._wires[choice.name] = factory.open_provider(config, self._source.refusals, limiter)
        return wire

    def _played(self, path: str) -> Provider:
        from console_app.providers.scripted.provider import ScriptedProvider
        from console_app.providers.scripted.reader import read_script

        if path not in self._scripts:
            self._scripts[path] = read_script(Path(path))
        return ScriptedProvider(self._scripts[path])

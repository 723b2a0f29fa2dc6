"""Choose the model that answers: one at the start, another from the next answer on, out of all that there are."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from console_app.domain import UsageError, one_line, ports

if TYPE_CHECKING:
    from console_app.config.models import ModelChoice
    from console_app.console.model_source import ModelSource
    from console_app.domain.settings import Effort
    from console_app.engine import Engine


class Models:
    def __init__(self, engine: Engine, source: ModelSource | None = None, choice: ModelChoice | None = None) -> None:
        """`choice` is what `engine` answers with now. Without a source no other model can be chosen."""
        self._engine = engine
        self._source = source
        self.choice = choice
        self.silent: Sequence[str] = ()
        self._window: int | None = None  # of the one that was chosen
        self._closing: set[asyncio.Task[None]] = set()
        engine.window = lambda: self.window

    @property
    def name(self) -> str:
        """Return `PROVIDER/MODEL` of the model that answers; "" while the endpoint is still to be asked for one."""
        provider = self._engine.provider
        return f"{provider.name}/{provider.model}" if provider.model else ""

    @property
    def window(self) -> int | None:
        other = ports.stand_in(self._engine.provider)
        return self._window if other is None else other.window

    @window.setter
    def window(self, tokens: int | None) -> None:
        self._window = tokens

    @property
    def host(self) -> str:
        if (other := ports.stand_in(self._engine.provider)) is not None:
            return other.host
        return self.choice.host if self.choice is not None else ""

    async def load(self, *, window: bool = True) -> None:
        """Import what the first request needs and, with `window`, look that up. A choice without a model gets one of
        its endpoint's. Raises FanoutError."""
        source, choice = self._source, self.choice
        if source is None or choice is None:
            return
        await asyncio.to_thread(source.load, choice)
        tokens = await asyncio.to_thread(source.window, choice) if window else None
        if self.choice is choice:  # none was picked meanwhile
            self.window = tokens
        named = await source.named(choice)
        if named is not choice and self.choice is choice:
            await self._use(source, named)

    async def switch(self, name: str) -> None:
        if self._source is None:
            raise UsageError("no other model can answer here")
        await self._use(self._source, self._source.choose(name))

    async def connect(self, source: ModelSource, name: str) -> None:
        """Take models from `source` from now on, and have its `name` answer. Raises FanoutError as `switch` does."""
        await self._use(source, source.choose(name))
        self._source = source

    def takes(self, effort: Effort) -> bool:
        """Tell whether the model takes this effort: not where it knows none, or its endpoint refused this one."""
        return bool(ports.effort_for(self._engine.provider, effort))

    def use_effort(self, effort: Effort | None) -> str:
        """Set the effort from the next answer on, None for the configured one; return a line on what came of it."""
        self._engine.settings = replace(self._engine.settings, effort=effort)
        if effort is None or self.takes(effort):
            return f"Effort: {effort or 'default'}, from the next answer on."
        return f"Effort: {effort}, for models that take it: {one_line(self._engine.provider.model, 40)} doesn't."

    async def known(self) -> Sequence[str]:
        """Return `PROVIDER/MODEL` of all models, the answering one first; `silent` providers gave no list."""
        names, self.silent = await self._source.names() if self._source is not None else ((), ())
        return list(dict.fromkeys((*filter(None, [self.name]), *names)))

    async def _use(self, source: ModelSource, choice: ModelChoice) -> None:
        provider, self.choice = source.open(choice), choice
        await asyncio.to_thread(source.load, choice)
        window = await asyncio.to_thread(source.window, choice)
        if self.choice is choice:
            provider, self._engine.provider, self.window = self._engine.provider, provider, window
        closing = asyncio.create_task(self._close(provider))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _close(self, provider: ports.Provider) -> None:
        if (activity := self._engine.activity) is not None:
            await asyncio.wait({activity.left})
        await provider.close()

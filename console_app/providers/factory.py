"""Opens the provider that a configuration names, asks it for its models, or puts another in reserve."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from importlib import import_module
from typing import assert_never

from console_app.config.models import KnownRefusals
from console_app.domain import FanoutError, errors, ports
from console_app.domain import chunks as ch
from console_app.domain.settings import ProviderConfig
from console_app.providers.endpoint.rate_limiter import RateLimiter
from console_app.providers.wire_provider import WireProvider


def open_provider(
    config: ProviderConfig, known: KnownRefusals | None = None, limiter: RateLimiter | None = None
) -> WireProvider:
    """Return the provider for `config`; `known` is what endpoints refused before, `limiter` is shared by all that ask
    the same one at once. Cheap: the HTTP library is imported by the first request, or before it by `preload`."""
    match config.api:
        case "openai-chat":
            from console_app.providers.formats.openai_chat import OpenAIChatProvider

            return OpenAIChatProvider(config, known=known, limiter=limiter)
        case "openai-responses":
            from console_app.providers.formats.openai_responses import OpenAIResponsesProvider

            return OpenAIResponsesProvider(config, known=known, limiter=limiter)
        case "anthropic":
            from console_app.providers.formats.anthropic import AnthropicMessagesProvider

            return AnthropicMessagesProvider(config, known=known, limiter=limiter)
        case _:
            assert_never(config.api)


def preload() -> None:
    """Import what a request is sent with (0.1 s): called in a thread after the first paint."""
    import_module("httpx2")


async def list_models(config: ProviderConfig) -> list[str]:
    """Return the models that the endpoint itself lists (`GET .../models`), in its order. Raises ProviderError."""
    provider = await asyncio.to_thread(open_provider, config)  # the first of its format imports that
    try:
        return await provider.models()
    finally:
        await provider.close()


class WithFallback(ports.Forwarding):
    """A provider with another in reserve: where `first` is overloaded or out of reach before anything of its answer was
    shown, the other answers, until the turn ends. So it is taken once a turn, and each turn tries the first one again.

    The other is what `open_other` opens: the model called `other_name`, PROVIDER/MODEL. What is known of that one
    `describe_other` says, in a thread. Name, model and all else are those of the one that answers now.
    """

    has_protocols = True

    def __init__(
        self,
        first: ports.Provider,
        other_name: str,
        open_other: Callable[[], ports.Provider],
        describe_other: Callable[[], ports.StandIn] = ports.StandIn,
    ) -> None:
        super().__init__(first)
        self._first = first
        self._other_name = other_name
        self._open_other = open_other
        self._describe_other = describe_other
        self._other: ports.Provider | None = None
        self._described = ports.StandIn()
        self._taken = False

    @property
    def inner(self) -> ports.Provider:
        return self._other if self._taken and self._other is not None else self._first

    @property
    def stand_in(self) -> ports.StandIn | None:
        """Return the other one, or what answers in its place, while that is so."""
        return self.inner.stand_in or self._described if self.inner is self._other else None

    def choose_protocol(self, mode: ports.ProtocolMode) -> None:
        """Choose another protocol for the first one."""
        self._first.choose_protocol(mode)

    def turn_began(self) -> None:
        """Try the first one again."""
        self._taken = False
        for provider in (self._first, self._other):
            if provider is not None:
                provider.turn_began()

    @asynccontextmanager
    async def stream(self, request: ports.ModelRequest) -> AsyncGenerator[AsyncIterator[ch.Chunk]]:
        async with aclosing(self._chunks(request)) as chunks:
            yield chunks

    async def close(self) -> None:
        await self._first.close()
        if self._other is not None:
            await self._other.close()

    async def _chunks(self, request: ports.ModelRequest) -> AsyncGenerator[ch.Chunk]:
        if not self._taken:
            shown = False
            try:
                async with self._first.stream(request) as chunks:
                    async for chunk in chunks:
                        shown = shown or not isinstance(chunk, ch.NoticeChunk | ch.RetryChunk)
                        yield chunk
                return
            except errors.ProviderError as error:
                if shown or not error.unavailable:
                    raise
                try:
                    if self._other is None:
                        self._other = self._open_other()
                        self._described = await asyncio.to_thread(self._describe_other)
                except FanoutError as problem:
                    yield ch.NoticeChunk(f"The fallback {self._other_name} can't be used. {problem.line}", "warning")
                    raise error from problem
                self._taken = True
                why = error.detail.rstrip(".")
                yield ch.NoticeChunk(f"{why}. {self._other_name} answers in its place until this turn ends.", "warning")
        async with self.inner.stream(request) as chunks:
            async for chunk in chunks:
                yield chunk

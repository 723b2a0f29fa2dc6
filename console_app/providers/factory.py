"""Opens the provider that a configuration names, or asks it for its models."""

from __future__ import annotations

from importlib import import_module
from typing import assert_never

from console_app.config.models import KnownRefusals
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
    provider = open_provider(config)
    try:
        return await provider.models()
    finally:
        await provider.close()

"""Makes the OpenAI SDK's client for both of its formats."""

from __future__ import annotations

from typing import Any

from console_app.domain.endpoint import ProviderConfig
from console_app.providers.endpoint_address import EndpointAddress
from console_app.providers.endpoint_headers import headers_left_out, headers_sent
from console_app.providers.http_client import make_http_client


def make_openai_client(config: ProviderConfig, where: EndpointAddress) -> Any:
    """A client without retries and without redirects, which could carry the key to another host."""
    from openai import AsyncOpenAI  # 0.5 s: the caller is in a thread

    http_client = make_http_client(config, where)
    return AsyncOpenAI(
        api_key=config.api_key or "",
        base_url=where.url,
        max_retries=0,
        timeout=http_client.timeout,
        default_headers=headers_sent(config, where, "OPENAI"),
        http_client=http_client,
        _enforce_credentials=False,
    )


def openai_headers(config: ProviderConfig, where: EndpointAddress) -> dict[str, Any]:
    """Headers that a request leaves out, in the SDK's way of saying so."""
    from openai import Omit

    return {name: Omit() for name in headers_left_out(config, where, "OPENAI")}

"""Which headers a request must not carry, whatever the SDKs find in the environment.

Both SDKs add headers of their own accord (`OPENAI_CUSTOM_HEADERS`, the organisation, `ANTHROPIC_CUSTOM_HEADERS`), and
those may hold credentials. They go to the host that the same environment names, or to the vendor, and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from console_app.domain.settings import ProviderConfig
from console_app.providers.endpoint.address import EndpointAddress

PLACEHOLDER = "none"  # what a server on this machine gets for a key: some want one, whatever it is
_ACCOUNT_HEADERS = ("OpenAI-Organization", "OpenAI-Project")


def headers_sent(
    config: ProviderConfig, where: EndpointAddress, prefix: str, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Headers of every request, over the SDK's own. `prefix` is that of the SDK's variables, as `OPENAI`."""
    sent = {name: value for name, value in config.headers.items() if value}
    key = PLACEHOLDER if where.is_loopback and not where.has_key else config.api_key
    # Else one of the environment would take its place.
    if (
        key
        and not (config.api_key and _belongs(where, prefix, environ))
        and "authorization" not in map(str.lower, sent)
    ):
        sent["Authorization"] = f"Bearer {key}"
    return sent


def headers_left_out(
    config: ProviderConfig, where: EndpointAddress, prefix: str, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Names of headers that no request may carry."""
    left_out = [name for name, value in config.headers.items() if not value]
    if not config.api_key:
        left_out.append("Authorization")
    if not _belongs(where, prefix, environ):
        lines = environ.get(f"{prefix}_CUSTOM_HEADERS", "").split("\n")
        left_out += [line.partition(":")[0].strip() for line in lines if ":" in line]
        left_out += _ACCOUNT_HEADERS
    sent = {name.lower() for name in headers_sent(config, where, prefix, environ)}
    return [name for name in left_out if name.lower() not in sent]


def _belongs(where: EndpointAddress, prefix: str, environ: Mapping[str, str]) -> bool:
    """Whether the environment's headers are meant for this endpoint."""
    return where.is_vendor or where.url.rstrip("/") == environ.get(f"{prefix}_BASE_URL", "").rstrip("/")

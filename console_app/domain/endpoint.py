"""Where a model is reached and how: the wire formats, their vendors' own addresses, the host that a key belongs to."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from console_app.domain.sampling import Sampling

Api = Literal["openai-chat", "openai-responses", "anthropic"]
VENDOR_URLS: dict[Api, str] = {
    "openai-chat": "https://api.openai.com/v1",
    "openai-responses": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
}


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """One model behind one endpoint: all that a provider needs to know.

    `base_url` is as the SDK of the format has it: with `/v1` for the OpenAI formats, without for Anthropic; None is
    the vendor's own. `api_key` None sends none. Times are seconds.
    """

    name: str
    api: Api
    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    key_hint: str = ""  # what to do when the endpoint wants a key, or another one
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    sampling: Sampling = field(default_factory=Sampling)
    max_tries: int = 5
    connect_timeout: float = 15.0
    read_timeout: float = 600.0  # longest silence between two pieces of an answer

    @property
    def url(self) -> str:
        """The base URL, the vendor's own where none is set."""
        return self.base_url or VENDOR_URLS[self.api]


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of `url`: a key that was given for one origin goes to no other."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def host(url: str) -> str:
    """`HOST`, or `HOST:PORT` where the port isn't the scheme's own."""
    return urlsplit(url).netloc.rpartition("@")[2]


def identity(config: ProviderConfig) -> str:
    """`API HOST` of an endpoint, with what comes before `/v1` where a gateway has several: what one of them gave goes
    back to that one alone."""
    path = urlsplit(config.url).path.rstrip("/").removesuffix("/v1")
    return f"{config.api} {host(config.url).lower()}{path}"


def is_loopback(url: str) -> bool:
    """Return whether `url` names this machine: servers there need no key."""
    return is_loopback_host(urlsplit(url).hostname or "")


def is_loopback_host(host: str) -> bool:
    """Return whether only this machine reaches `host`, a name or an address without brackets."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

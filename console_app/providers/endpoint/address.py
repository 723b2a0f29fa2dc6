"""Names an endpoint in messages for people, and takes its secrets out of any text that mentions it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from console_app.config.secrets import Redactor
from console_app.domain import one_line, web_address
from console_app.domain.settings import VENDOR_URLS, ProviderConfig

# Matches a key that endpoints quote in part, or with its middle left out.
_PART_OF_A_KEY = re.compile(r"\b(?:sk|pk|rk|gsk|xai)-[A-Za-z0-9_*.-]{6,}|(?<=Bearer )[^\s\"',]{6,}")
_PLAIN_HEADERS = frozenset({"anthropic-version", "anthropic-beta", "user-agent", "content-type", "http-referer"})


class EndpointAddress:
    """An endpoint: its URL, whose model is asked for, and its secrets, which are never printed."""

    def __init__(self, config: ProviderConfig) -> None:
        self.config = config
        self.model = one_line(config.model, 80)
        self.url = config.url
        parts = urlsplit(self.url)
        self.host = one_line(parts.hostname or self.url, 120)
        self.is_loopback = web_address.is_loopback(self.url)
        self.is_vendor = web_address.origin(self.url) == web_address.origin(VENDOR_URLS[config.api])
        lowered = {name.lower(): value for name, value in config.headers.items()}
        self.has_key = bool(config.api_key) or "authorization" in lowered or "x-api-key" in lowered
        hidden = [value for name, value in lowered.items() if name not in _PLAIN_HEADERS]
        secrets = {
            config.api_key or "",
            parts.password or "",
            *hidden,
            *(one.removeprefix("Bearer ") for one in hidden),
        }
        self._redactor = Redactor(secrets)
        shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
        self._line = f"{config.name} at {one_line(self.scrub(shown), 120)}"

    def __str__(self) -> str:
        return self._line

    def scrub(self, text: str) -> str:
        """Return `text` without keys: ours, those in headers and in the URL, and whatever looks like one."""
        return _PART_OF_A_KEY.sub(Redactor.HIDDEN, self._redactor.clean(text))

"""Names an endpoint in messages for people, and takes its secrets out of any text that mentions it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from console_app.domain.safe_text import one_line
from console_app.providers.provider_config import ProviderConfig

VENDOR_URLS = {
    "openai-chat": "https://api.openai.com/v1",
    "openai-responses": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
}
_KEY_LIKE = re.compile(r"\b(?:sk|pk|rk|gsk|xai)-[A-Za-z0-9_*.-]{6,}|(?<=Bearer )[^\s\"',]{6,}")
_PLAIN_HEADERS = frozenset({"anthropic-version", "anthropic-beta", "user-agent", "content-type", "http-referer"})


class EndpointAddress:
    """One endpoint: its URL, whose model is asked for, and what must never be printed."""

    def __init__(self, config: ProviderConfig) -> None:
        self.name = config.name
        self.model = one_line(config.model, 80)
        self.url = config.base_url or VENDOR_URLS[config.api]
        self.connect_timeout = config.connect_timeout
        self.read_timeout = config.read_timeout
        parts = urlsplit(self.url)
        self.host = one_line(parts.hostname or self.url, 120)
        self.is_loopback = self.host in ("localhost", "::1") or self.host.startswith("127.")
        self.is_vendor = self.host == urlsplit(VENDOR_URLS[config.api]).hostname
        lowered = {name.lower(): value for name, value in config.headers.items()}
        self.has_key = bool(config.api_key) or "authorization" in lowered or "x-api-key" in lowered
        variable = config.api_key_env or ("ANTHROPIC_API_KEY" if config.api == "anthropic" else "OPENAI_API_KEY")
        self.key_hint = f"Set {variable} to a valid key, or run without one: --model offline/rehearsal."
        secrets = {config.api_key or "", parts.password or "", *_secret_headers(lowered)}
        self._secrets = sorted((secret for secret in secrets if len(secret) >= 4), key=len, reverse=True)
        shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
        self._line = f"{self.name} at {one_line(self.scrub(shown), 120)}"

    def __str__(self) -> str:
        return self._line

    def scrub(self, text: str) -> str:
        """`text` without keys: ours, those in headers and in the URL, and whatever looks like one."""
        for secret in self._secrets:
            text = text.replace(secret, "(key)")
        return _KEY_LIKE.sub("(key)", text)


def _secret_headers(headers: dict[str, str]) -> list[str]:
    found: list[str] = []
    for name, value in headers.items():
        if name not in _PLAIN_HEADERS:
            found += [value, value.removeprefix("Bearer ")]
    return found

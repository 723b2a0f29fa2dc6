"""Connects a model by its address: names it in the settings, and keeps it for the next start.

The user's config.toml gets the model and, where no provider has that address yet, a table for one; the key goes into
the store of keys, bound to the address.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from console_app.config.files import Paths, disk, parse_toml
from console_app.config.secrets import StoredKeys, address_of, is_stored, with_key
from console_app.config.settings import (
    ACP,
    OFFLINE,
    SCRIPTED,
    ProviderSettings,
    Settings,
    check_base_url,
    own_settings,
)
from console_app.domain import UsageError, web_address
from console_app.domain.settings import VENDOR_URLS, Api

USUAL_PORTS: Mapping[int, str] = {11434: "ollama", 1234: "lm-studio", 8000: "vllm", 8080: "llama-cpp"}
_MORE_LABELS = {"www", "api", "inference", "llm", "openai", "v1", "com", "org", "net", "ai", "io", "dev", "co", "xyz"}


@dataclass(frozen=True, slots=True)
class TypedEndpoint:
    """An endpoint and its key ("": none), as settings and an environment of their own have it."""

    provider: str
    url: str
    key: str
    variable: str  # which holds the key; "" where there is none
    new: bool  # whether the settings don't have the provider yet
    settings: Settings  # those of before with the provider in them, and no base URL that would lead elsewhere
    environ: Mapping[str, str]

    @classmethod
    def of(cls, settings: Settings, environ: Mapping[str, str], url: str, key: str) -> TypedEndpoint:
        """Return how `url` is reached with `key`; without one with the key that its provider has, if any."""
        settings = settings.model_copy(update={"base_url": None})
        parts = urlsplit(url)
        said = f"{parts.hostname or ''} {parts.path}".lower()
        api: Api = "anthropic" if "anthropic" in said else "openai-chat"  # which nearly all others speak
        providers = settings.known_providers()

        def keyed(variable: str) -> Mapping[str, str]:
            return with_key(environ, variable, key, url) if key else environ

        for name, table in providers.items():
            variable = table.api_key_env or ""
            if _is_at(table, name, environ, api, url) and (not key or (variable and _may_hold(environ, variable, url))):
                return cls(name, url, key, variable, False, settings, keyed(variable))
        name = _free_name(url, set(providers) | {OFFLINE, SCRIPTED, ACP})
        variable = _free_variable(name, environ) if key else ""
        table = ProviderSettings(api=api, base_url=url, api_key_env=variable or None)
        settings = settings.model_copy(update={"providers": {**settings.providers, name: table}})
        return cls(name, url, key, variable, True, settings, keyed(variable))

    @property
    def api(self) -> Api:
        api = self.settings.known_providers()[self.provider].api
        assert api is not None  # known_providers sees to that
        return api

    def keep(self, paths: Paths, model: str) -> str:
        """Write the endpoint down, with `model` as the one that answers, and return the place of the key in words, ""
        without one. Raises ConfigError when it can't be kept."""
        place = StoredKeys(paths).set(self.variable, self.key, self.url) if self.key else ""
        path = paths.settings.resolve()  # a link stays one
        if self.new:
            own = self.settings.providers[self.provider]
            for name, value in (("api", own.api), ("base_url", own.base_url), ("api_key_env", own.api_key_env)):
                if value:
                    own_settings.write_setting(path, f"providers.{self.provider}.{name}", value)
        if path.exists() and "base_url" in parse_toml(disk.read_text(path), path):
            # It is the address of the model that stands beside it.
            own_settings.write_setting(path, "base_url", self.url)
        own_settings.write_setting(path, "model", f"{self.provider}/{model}")
        return place


def checked_url(text: str) -> str:
    """Return the base URL that was typed; a host alone gets a scheme. Raises UsageError."""
    typed = text.strip()
    if not typed:
        raise UsageError("no address is given", "Type one, as http://127.0.0.1:1234/v1.")
    if "://" not in typed:
        typed = f"{'http' if _is_near(typed) else 'https'}://{typed}"
    try:
        parts = urlsplit(typed)
        if parts.username or parts.password:
            raise UsageError("the address has a name or password in it", "A key belongs into the field below.")
        return check_base_url(typed)
    except ValueError as error:
        raise UsageError(f"the address {error}") from None


def checked_key(text: str) -> str:
    """Return the key that was typed. Raises UsageError for what can't be one, and doesn't repeat it."""
    key = text.strip()
    if not key.isascii() or (key and not key.isprintable()) or " " in key:
        raise UsageError("the key has a character that no key has", "Paste it again, alone.")
    return key


def _may_hold(environ: Mapping[str, str], variable: str, url: str) -> bool:
    """Return whether a key for `url` can be kept under `variable`: a value of the environment itself would go before
    it, and a key that was given for another host stays with that host."""
    if variable in environ and not is_stored(environ, variable):
        return False
    given_for = address_of(environ, variable)
    return not given_for or web_address.origin(given_for) == web_address.origin(url)


def _is_at(table: ProviderSettings, name: str, environ: Mapping[str, str], api: Api, url: str) -> bool:
    if table.api != api:
        return False
    if name == "ollama" and not table.base_url:
        return "OLLAMA_HOST" not in environ and url == "http://127.0.0.1:11434/v1"
    moved = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}.get(name, "")
    return not environ.get(moved) and (table.base_url or VENDOR_URLS[api]) == url


def _is_near(address: str) -> bool:
    host = address.partition("/")[0].rpartition(":")[0] or address.partition("/")[0]
    return host in ("localhost", "[::1]") or re.fullmatch(r"\d+(\.\d+){3}", host) is not None


def _free_name(url: str, taken: set[str]) -> str:
    parts = urlsplit(url)
    host = parts.hostname or "endpoint"
    if host in ("127.0.0.1", "localhost", "::1"):
        name = USUAL_PORTS.get(parts.port or 0, f"local-{parts.port or 80}")
    else:
        labels = [label for label in host.split(".") if label not in _MORE_LABELS and not label.isdigit()]
        name = labels[-1] if labels else f"at-{host}"
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_") or "endpoint"
    return _free(name, "-", taken)


def _free_variable(name: str, environ: Mapping[str, str]) -> str:
    variable = re.sub(r"[^A-Z0-9]+", "_", f"{name}_api_key".upper())
    return _free(f"_{variable}" if variable[0].isdigit() else variable, "_", environ)


def _free(name: str, sign: str, taken: Collection[str]) -> str:
    numbered = (f"{name}{sign}{number}" for number in range(2, len(taken) + 3))
    return next(one for one in (name, *numbered) if one not in taken)

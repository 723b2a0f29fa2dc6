"""Chooses the model that answers: a name, the configured default, the first provider with a key, else the offline
model.

A choice is plain data, ready to be turned into a provider by wiring; the key is looked up here and never printed. A key
belongs to its provider's own endpoint: the `base_url` of its table, else the variable that its vendor's SDK reads, else
the vendor's. `--base-url` moves the chosen provider alone, and without a key that was given for another host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from console_app.config.secrets import address_of, has_key, is_stored
from console_app.config.settings import (
    ACP,
    BUILT_IN,
    OFFLINE,
    OFFLINE_MODEL,
    SCRIPTED,
    ModelSettings,
    ProviderSettings,
    Settings,
    check_base_url,
    vendor_of,
)
from console_app.domain import ConfigError, web_address
from console_app.domain.settings import VENDOR_URLS, Api, ProviderConfig

_BASE_URL_VARIABLES = {
    "openai": "OPENAI_BASE_URL",
    "openai-responses": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
}
_OLLAMA_PORT = 11434
_NO_KEY = "no key is set"
NO_KEY_HINT = "Set it, keep one with `fanout auth set`, or use the built-in model, offline/rehearsal."
_KEY_FOR_A_NAME = "Write PROVIDER/MODEL there, and keep the key with `fanout auth set`."
_HEADERS_OF_KEYS = {"authorization", "x-api-key", "api-key"}


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model and how to reach it. `config` is None for the providers that need no endpoint."""

    provider: str
    model: str  # "": the first one that the endpoint lists
    why: str  # in words: what decided it
    settings: ModelSettings = field(default_factory=ModelSettings)  # of all that speaks of it, the strongest
    config: ProviderConfig | None = None

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model or '(the first that is listed)'}"

    @property
    def agent(self) -> str:
        """The agent of others that answers in the place of a model; "" where a model does."""
        return self.model.partition("/")[0] if self.provider == ACP else ""

    @property
    def notice(self) -> str:
        """A line for a user who doesn't see which model answers; "" for one that was chosen or has a key."""
        if self.why != _NO_KEY:
            return ""
        return f"No key is set and no model named: {self.name} answers, a scripted demo. Name one with -m."

    @property
    def host(self) -> str:
        """The endpoint's host, "" where it is the vendor's own or there is none."""
        config = self.config
        return (
            web_address.host(config.url)
            if config and web_address.origin(config.url) != web_address.origin(VENDOR_URLS[config.api])
            else ""
        )


def choose_model(settings: Settings, environ: Mapping[str, str], *, name: str = "", source: str = "") -> ModelChoice:
    """Return the model that answers, or the one called `name`; `source` says who set it. A ConfigError names what is
    missing.

    The settings' base URL is the one of the provider that they choose, whatever `name` is.
    """
    return _Choosing(settings, environ).choose(name or settings.model or "", source or "configured")


class _Choosing:
    """A choice among the providers of some settings."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._environ = environ
        self._providers = settings.known_providers()
        self._chosen = settings.chosen_provider(self._providers)

    def choose(self, name: str, why: str) -> ModelChoice:
        if name:
            return self._named(name, why)
        if self._settings.base_url:
            return self._open(self._chosen, "", "a base URL was given")
        for provider, table in self._providers.items():
            if table.api_key_env and self._environ.get(table.api_key_env) and table.model:
                return self._open(provider, "", f"{table.api_key_env} is set")
        return ModelChoice(OFFLINE, OFFLINE_MODEL, _NO_KEY)

    def _named(self, name: str, why: str) -> ModelChoice:
        if has_key(name):  # which every session would keep as the name of its model
            raise ConfigError("what stands in place of a model's name looks like a key", _KEY_FOR_A_NAME)
        provider, _, model = name.partition("/")
        if provider == OFFLINE:
            if model not in ("", OFFLINE_MODEL):
                raise ConfigError(f"offline has no model {model}", f"Its one model is {OFFLINE}/{OFFLINE_MODEL}.")
            return ModelChoice(OFFLINE, OFFLINE_MODEL, why)
        if provider == SCRIPTED:
            if not model:
                raise ConfigError("scripted needs the path of a script", "Write -m scripted/PATH.")
            settings = ModelSettings.merged(self._settings)
            fallback = self._settings.fallback_of(SCRIPTED, model) or None
            return ModelChoice(SCRIPTED, model, why, settings.model_copy(update={"fallback": fallback}))
        if provider == ACP:
            if model.partition("/")[0] not in self._settings.agents:
                there = ", ".join(self._settings.agent_models)
                hint = f"There are: {there}." if there else "[agents.NAME] in config.toml names its command."
                raise ConfigError(f'no agent is called "{model.partition("/")[0]}"', hint)
            return ModelChoice(ACP, model, why)
        if provider in self._providers:
            return self._open(provider, model, why)
        if self._settings.base_url and self._chosen in self._providers:
            return self._open(self._chosen, name, why)
        if not model and (vendor := vendor_of(name)):
            return self._open(vendor, name, why)
        raise ConfigError(
            f'no provider is called "{provider}"',
            f"Write PROVIDER/MODEL; known: {', '.join((*self._providers, OFFLINE, SCRIPTED, ACP))}.",
        )

    def _open(self, name: str, model: str, why: str) -> ModelChoice:
        provider = self._providers[name]
        base_url = self._settings.base_url if name == self._chosen else None
        model = model or ("" if base_url else provider.model or "")
        if not model and not base_url:
            raise ConfigError(
                f"{name} needs the name of a model", f"Write -m {name}/MODEL (`fanout models` lists them)."
            )
        own = self._own_url(name)
        owner = self._owner(name, base_url) if base_url else name
        key, headers, variable = None, dict[str, str](), ""
        if owner is not None:
            headers, variable = self._providers[owner].headers, self._providers[owner].api_key_env or ""
            url = self._own_url(owner)
            key = self._key(variable, url or VENDOR_URLS[self._api(owner)])
            # Endpoints of built-in providers that are not the vendor's may have no key, as servers on this machine.
            asks = bool(variable) and (url is None or (owner not in BUILT_IN and not web_address.is_loopback(url)))
            if asks and key is None:
                given_for = web_address.host(address_of(self._environ, variable))
                why = f"the one that is kept was given for {given_for}" if given_for else f"{variable} is not set"
                raise ConfigError(f"{owner} needs a key, and {why}", NO_KEY_HINT)
        settings = ModelSettings.merged(self._settings, provider.models.get(model, ModelSettings()), provider)
        settings = settings.model_copy(update={"fallback": self._settings.fallback_of(name, model) or None})
        if owner is not None and key and is_stored(self._environ, variable):
            hint = f"The key stored for {variable} was sent: `fanout auth set {owner}` keeps another."
        elif owner is not None and _HEADERS_OF_KEYS & {header.lower() for header in headers}:
            hint = f"The key of the headers of [providers.{owner}] in config.toml was sent: set another there."
        else:
            hint = _key_hint(name, provider, variable, base_url if owner is None else None)
        native = settings.tool_search, settings.runs_programs
        config = ProviderConfig(name, self._api(name), model, base_url or own, key, hint, headers, settings, *native)
        return ModelChoice(name, model, why, settings, config)

    def _owner(self, name: str, url: str) -> str | None:
        """Return the provider whose key was given for the host of `url`: `name` where it is its own, else any with a
        key."""
        vendors = VENDOR_URLS[self._api(name)]
        for other in (name, *self._providers):
            has_key = self._environ.get(self._providers[other].api_key_env or "")
            alike = has_key and VENDOR_URLS[self._api(other)] == vendors  # as both formats of OpenAI
            if (other == name or alike) and web_address.origin(self._own_url(other) or vendors) == web_address.origin(
                url
            ):
                return other
        return None

    def _api(self, name: str) -> Api:
        api = self._providers[name].api
        assert api is not None  # known_providers sees to that
        return api

    def _own_url(self, name: str) -> str | None:
        """Return a table's base URL, else the variable that the vendor's own SDK reads, else the vendor's (None)."""
        if table := self._providers[name].base_url:
            return table
        variable = "OLLAMA_HOST" if name == "ollama" else _BASE_URL_VARIABLES.get(name, "")
        value = self._environ.get(variable, "").strip()
        try:
            if name == "ollama":
                return _ollama_url(value or "127.0.0.1")
            return check_base_url(value) if value else None
        except ValueError as error:
            raise ConfigError(f"{variable} {error}") from None

    def _key(self, variable: str, url: str) -> str | None:
        """Return the key for `url`; one that is kept for another host is none. It goes into a header: a key with a line
        break or a typographic quote was pasted wrong."""
        given_for = address_of(self._environ, variable)
        if given_for and web_address.origin(given_for) != web_address.origin(url):
            return None
        key = self._environ.get(variable, "").strip() if variable else ""
        if not (key.isascii() and (not key or key.isprintable())):
            raise ConfigError(f"{variable} holds a character that no key has", "Set it again.")
        return key or None


def _key_hint(name: str, provider: ProviderSettings, variable: str, foreign: str | None) -> str:
    """Return what to do when the endpoint wants a key: the provider's own, or a `foreign` base URL, which gets none."""
    if foreign is None and variable:
        return f"Set {variable} to a valid key, or choose another model; offline/rehearsal needs none."
    if foreign is None:
        return f"Name the variable that holds its key: api_key_env of [providers.{name}] in config.toml."
    sdk = _BASE_URL_VARIABLES.get(name)
    reason = "A key is sent only to the host it was given for:"
    if sdk and provider.api_key_env and not provider.base_url:
        return f"{reason} set {sdk}={foreign} beside {provider.api_key_env}, in place of --base-url."
    return f"{reason} give [providers.{name}] of config.toml base_url and api_key_env, in place of --base-url."


def _ollama_url(host: str) -> str:
    """Return the base URL for a value of OLLAMA_HOST: `HOST`, `HOST:PORT` or a URL; 0.0.0.0 means this machine."""
    url = host if "://" in host else f"http://{host}"
    parts = urlsplit(check_base_url(url))
    name = parts.hostname or "127.0.0.1"
    name = "127.0.0.1" if name == "0.0.0.0" else f"[{name}]" if ":" in name else name
    port = parts.port or (443 if parts.scheme == "https" else _OLLAMA_PORT)
    return f"{parts.scheme}://{name}:{port}{parts.path}/v1"

"""Chooses the model that answers: a name, the configured default, the first provider with a key, else the offline
model; or connects one by its address, which goes into the user's config.toml.

A choice is plain data, ready to be turned into a provider by wiring; the key is looked up here and never printed. A key
belongs to its provider's own endpoint: the `base_url` of its table, else the variable that its vendor's SDK reads, else
the vendor's. `--base-url` moves the chosen provider alone, and without a key that was given for another host.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar
from urllib.parse import urlsplit

from console_app.config.files import Paths, disk, parse_toml
from console_app.config.secrets import Redactor, StoredKeys, address_of, is_stored, with_key
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
    own_settings,
    vendor_of,
)
from console_app.domain import ConfigError, UsageError, web_address
from console_app.domain.settings import VENDOR_URLS, Api, ProviderConfig
from console_app.records import dataclass, field

_BASE_URL_VARIABLES = {
    "openai": "OPENAI_BASE_URL",
    "openai-responses": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
}
_OLLAMA_PORT = 11434
_NO_KEY = "no key is set"
_KEY_FOR_A_NAME = "Write PROVIDER/MODEL there, and keep the key with `fanout auth set`."
_HEADERS_OF_KEYS = {"authorization", "x-api-key", "api-key"}


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model and how to reach it. `config` is None for the providers that need no endpoint."""

    NO_KEY_HINT: ClassVar = "Set it, keep one with `fanout auth set`, or use the built-in model, offline/rehearsal."
    REHEARSAL: ClassVar = f"{OFFLINE}/{OFFLINE_MODEL}"  # needs no endpoint

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
        if Redactor.has_key(name):  # which every session would keep as the name of its model
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
                raise ConfigError(f"{owner} needs a key, and {why}", ModelChoice.NO_KEY_HINT)
        settings = ModelSettings.merged(self._settings, provider.models.get(model, ModelSettings()), provider)
        settings = settings.model_copy(update={"fallback": self._settings.fallback_of(name, model) or None})
        if owner is not None and key and is_stored(self._environ, variable):
            hint = f"The key stored for {variable} was sent: `fanout auth set {owner}` keeps another."
        elif owner is not None and _HEADERS_OF_KEYS & {header.lower() for header in headers}:
            hint = f"The key of the headers of [providers.{owner}] in config.toml was sent: set another there."
        else:
            hint = _key_hint(name, provider, variable, base_url if owner is None else None)
        native = settings.tool_search, settings.runs_programs, settings.late_outputs
        config = ProviderConfig(name, self._api(name), model, base_url or own, key, hint, headers, settings, *native)
        return ModelChoice(name, model, why, settings, config)

    def _owner(self, name: str, url: str) -> str | None:
        """Return the provider whose key was given for the host of `url`: `name` itself, else any with a key."""
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


_MORE_LABELS = {"www", "api", "inference", "llm", "openai", "v1", "com", "org", "net", "ai", "io", "dev", "co", "xyz"}


@dataclass(frozen=True, slots=True)
class TypedEndpoint:
    """An endpoint and its key ("": none), as settings and an environment of their own have it."""

    USUAL_PORTS: ClassVar[Mapping[int, str]] = {11434: "ollama", 1234: "lm-studio", 8000: "vllm", 8080: "llama-cpp"}
    provider: str
    url: str
    key: str
    variable: str  # which holds the key; "" where there is none
    new: bool  # whether the settings don't have the provider yet
    settings: Settings  # those of before with the provider in them, and no base URL that would lead elsewhere
    environ: Mapping[str, str]

    @classmethod
    def of(cls, settings: Settings, environ: Mapping[str, str], url: str, key: str) -> TypedEndpoint:
        """Return how `url` is reached with `key`; without one with the key that its provider has, if any.

        Raises UsageError."""
        settings, key = settings.model_copy(update={"base_url": None}), _checked_key(key)
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
        variable = re.sub(r"[^A-Z0-9]+", "_", f"{name}_api_key".upper())
        variable = _free(f"_{variable}" if variable[0].isdigit() else variable, "_", environ) if key else ""
        table = ProviderSettings(api=api, base_url=url, api_key_env=variable or None)
        settings = settings.model_copy(update={"providers": {**settings.providers, name: table}})
        return cls(name, url, key, variable, True, settings, keyed(variable))

    @staticmethod
    def urls(address: str) -> Sequence[str]:
        """Return the base URLs that a typed address may mean, the likeliest first. Raises UsageError."""
        url = checked_url(address)
        path = url.partition("://")[2].partition("/")[2]
        if "anthropic" in url.lower():
            return (url.removesuffix("/v1"),)
        if path.endswith("v1"):
            return (url,)
        return (url, f"{url}/v1") if path else (f"{url}/v1", url)

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


def _checked_key(text: str) -> str:
    """Return the key that was typed. Raises UsageError for what can't be one, and doesn't repeat it."""
    key = text.strip()
    if not key.isascii() or (key and not key.isprintable()) or " " in key:
        raise UsageError("the key has a character that no key has", "Paste it again, alone.")
    return key


def _may_hold(environ: Mapping[str, str], variable: str, url: str) -> bool:
    """Return whether `variable` can keep a key for `url`: no value of the environment, and no key for another host."""
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
        name = TypedEndpoint.USUAL_PORTS.get(parts.port or 0, f"local-{parts.port or 80}")
    else:
        labels = [label for label in host.split(".") if label not in _MORE_LABELS and not label.isdigit()]
        name = labels[-1] if labels else f"at-{host}"
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_") or "endpoint"
    return _free(name, "-", taken)


def _free(name: str, sign: str, taken: Collection[str]) -> str:
    numbered = (f"{name}{sign}{number}" for number in range(2, len(taken) + 3))
    return next(one for one in (name, *numbered) if one not in taken)

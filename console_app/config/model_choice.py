"""Which model answers: a name, the configured default, the first provider with a key, else the offline model.

A choice is plain data, ready to be turned into a provider by wiring; the key is looked up here and never printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from console_app.config.endpoint import check_base_url, is_loopback, ollama_url
from console_app.config.settings import Api, ModelSettings, ParallelToolCalls, ProviderSettings, Settings
from console_app.domain.errors import ConfigError

OFFLINE = "offline"
OFFLINE_MODEL = "rehearsal"
SCRIPTED = "scripted"
BUILT_IN: Mapping[str, ProviderSettings] = {
    "openai": ProviderSettings(api="openai-chat", api_key_env="OPENAI_API_KEY", model="gpt-6.1-sol"),
    "anthropic": ProviderSettings(api="anthropic", api_key_env="ANTHROPIC_API_KEY", model="claude-sonnet-5-5"),
    "openai-responses": ProviderSettings(api="openai-responses", api_key_env="OPENAI_API_KEY", model="gpt-6.1-sol"),
    "ollama": ProviderSettings(api="openai-chat"),
}
_BASE_URL_VARIABLES = {
    "openai": "OPENAI_BASE_URL",
    "openai-responses": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
}
_VENDORS = {"gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "claude": "anthropic"}
NO_KEY_HINT = "Set it, or use the built-in model: -m offline/rehearsal."


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model and how to reach it. `api` is None for the two providers that need no endpoint."""

    provider: str
    model: str
    why: str  # in words: what decided it
    api: Api | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    api_key_env: str = ""
    needs_key: bool = True
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    parallel_tool_calls: ParallelToolCalls = "send"
    protocol: Literal["auto", "native", "text", "xml"] = "auto"
    dialect: str | None = None
    context_window: int | None = None
    max_tokens: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        """PROVIDER/MODEL."""
        return f"{self.provider}/{self.model}"


def choose_model(settings: Settings, environ: Mapping[str, str], *, source: str = "") -> ModelChoice:
    """The model that answers; `source` says who set `settings.model`. A ConfigError names what is missing."""
    providers = known_providers(settings)
    if settings.model:
        return _named(settings.model, settings, providers, environ, source or "configured")
    if settings.base_url:
        return _open("openai", "", settings, providers, environ, "a base URL was given")
    for name, provider in providers.items():
        if provider.api_key_env and environ.get(provider.api_key_env) and provider.model:
            return _open(name, "", settings, providers, environ, f"{provider.api_key_env} is set")
    return ModelChoice(OFFLINE, OFFLINE_MODEL, "no key is set", needs_key=False)


def known_providers(settings: Settings) -> dict[str, ProviderSettings]:
    """Built-in providers with what the configuration changes in them, then the configuration's own."""
    providers = dict(BUILT_IN)
    for name, own in settings.providers.items():
        if name in (OFFLINE, SCRIPTED):
            raise ConfigError(f"the provider name {name} is taken", f"Rename [providers.{name}].")
        below = providers.get(name)
        if below is None and own.api is None:
            hint = 'Add api = "openai-chat", "openai-responses" or "anthropic".'
            raise ConfigError(f"[providers.{name}] lacks api", hint)
        said = {key: getattr(own, key) for key in own.model_fields_set}
        providers[name] = below.model_copy(update=said) if below else own
    return providers


def _named(
    name: str,
    settings: Settings,
    providers: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
    why: str,
) -> ModelChoice:
    provider, _, model = name.partition("/")
    if provider == OFFLINE:
        if model not in ("", OFFLINE_MODEL):
            raise ConfigError(f"offline has no model {model}", f"Its one model is {OFFLINE}/{OFFLINE_MODEL}.")
        return ModelChoice(OFFLINE, OFFLINE_MODEL, why, needs_key=False)
    if provider == SCRIPTED:
        if not model:
            raise ConfigError("scripted needs the path of a script", "Write -m scripted/PATH.")
        return ModelChoice(SCRIPTED, model, why, needs_key=False, protocol=settings.protocol or "auto")
    if provider in providers:
        return _open(provider, model, settings, providers, environ, why)
    vendor = next((vendor for start, vendor in _VENDORS.items() if name.lower().startswith(start)), None)
    if settings.base_url or (vendor and not model):
        return _open(vendor or "openai", name, settings, providers, environ, why)
    raise ConfigError(
        f'no provider is called "{provider}"',
        f"Write PROVIDER/MODEL; known: {', '.join((*providers, OFFLINE, SCRIPTED))}.",
    )


def _open(
    name: str,
    model: str,
    settings: Settings,
    providers: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
    why: str,
) -> ModelChoice:
    provider = providers[name]
    model = model or provider.model or ""
    if not model:
        raise ConfigError(f"{name} needs the name of a model", f"Write -m {name}/MODEL (`fanout models` lists them).")
    special = provider.models.get(model, ModelSettings())
    base_url = settings.base_url or _base_url(name, provider, environ)
    variable = provider.api_key_env or ""
    key = environ.get(variable, "").strip() or None if variable else None
    # A key is asked for where the vendor's own endpoint does, or one that the configuration gave a key's name to.
    # Others, as servers on this machine or one named by --base-url, may have none.
    own_endpoint = base_url is None or name not in BUILT_IN
    needs_key = bool(variable) and own_endpoint and not (base_url and is_loopback(base_url))
    if needs_key and key is None:
        raise ConfigError(f"{name} needs a key, and {variable} is not set", NO_KEY_HINT)
    return ModelChoice(
        provider=name,
        model=model,
        why=why,
        api=provider.api,
        base_url=base_url,
        api_key=_checked_key(key, variable),
        api_key_env=variable,
        needs_key=needs_key,
        headers=provider.headers,
        parallel_tool_calls=special.parallel_tool_calls or provider.parallel_tool_calls or "send",
        protocol=settings.protocol or special.protocol or provider.protocol or "auto",
        dialect=special.dialect or provider.dialect,
        context_window=special.context_window or provider.context_window,
        max_tokens=settings.max_tokens or special.max_tokens or provider.max_tokens,
        extra_body={**provider.extra_body, **special.extra_body},
    )


def _base_url(name: str, provider: ProviderSettings, environ: Mapping[str, str]) -> str | None:
    """A table's base URL, else the variable that the vendor's own SDK reads, else the vendor's (None)."""
    if provider.base_url:
        return provider.base_url
    variable = "OLLAMA_HOST" if name == "ollama" else _BASE_URL_VARIABLES.get(name, "")
    value = environ.get(variable, "").strip()
    try:
        if name == "ollama":
            return ollama_url(value or "127.0.0.1")
        return check_base_url(value) if value else None
    except ValueError as error:
        raise ConfigError(f"{variable} {error}") from None


def _checked_key(key: str | None, variable: str) -> str | None:
    """A key goes into a header: one with a line break or a typographic quote in it was pasted wrong."""
    if key and not (key.isascii() and key.isprintable()):
        raise ConfigError(f"{variable} holds a character that no key has", "Set it again.")
    return key

"""Which model answers in the place of one that is overloaded or out of reach: the chain that the settings name."""

from __future__ import annotations

from console_app.config.settings.model import ModelSettings, Settings
from console_app.domain.errors import ConfigError


def fallback_of(settings: Settings, provider: str, model: str) -> str:
    """PROVIDER/MODEL that stands in for `model` of `provider`: what its own table says, its provider's, else the
    setting for all models, which ends a chain; "" for none."""
    table = settings.providers.get(provider)
    own = (table.models.get(model, ModelSettings()).fallback or table.fallback) if table else None
    name = own or settings.fallback or ""
    return "" if name == f"{provider}/{model}" and own is None else name


def check_fallbacks(settings: Settings) -> None:
    """Raises ConfigError for a chain of fallbacks that comes back to a model of it."""
    starts = [
        f"{name}/{model}"
        for name, table in settings.providers.items()
        for model in (*table.models, table.model)
        if model
    ]
    if settings.model and "/" in settings.model:
        starts.append(settings.model)
    for start in starts:
        chain = [start]
        while following := fallback_of(settings, *_parts(chain[-1])):
            chain.append(following)
            if following in chain[:-1]:
                raise ConfigError(
                    f"the fallbacks go round in a circle: {' -> '.join(chain)}",
                    "Take `fallback` out of one of them in config.toml.",
                )


def _parts(name: str) -> tuple[str, str]:
    provider, _, model = name.partition("/")
    return provider, model

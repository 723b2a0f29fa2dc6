"""`fanout auth`: keeps a provider's key, forgets it, or says which are kept. A key is never shown."""

from __future__ import annotations

import sys

from console_app.config.files import Paths
from console_app.config.secrets import StoredKeys
from console_app.config.settings import Settings
from console_app.domain.errors import UsageError


def run_auth(action: str, provider: str | None, settings: Settings, paths: Paths) -> str:
    """Does what `action` says (set, remove, list); what to print. Raises UsageError and ConfigError."""
    keys = StoredKeys(paths)
    if action == "list":
        return "\n".join(keys.addresses()) or "No key is kept."
    variable = _variable(provider, settings)
    if action == "remove":
        return f"{variable} is forgotten." if keys.remove(variable) else f"No key for {variable} is kept."
    key = _read(variable)
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError("that is no key", "Type or pipe the key alone, on one line.")
    return f"{variable} is kept in {keys.set(variable, key)}. The environment's own value goes before it."


def _variable(provider: str | None, settings: Settings) -> str:
    providers = settings.known_providers()
    named = {name: found.api_key_env for name, found in providers.items() if found.api_key_env}
    if provider not in named:
        raise UsageError(f"no provider {provider or ''} takes a key".replace("  ", " "), f"Known: {', '.join(named)}.")
    return named[provider]


def _read(variable: str) -> str:
    """From the terminal without showing it, else from standard input."""
    if sys.stdin.isatty():
        import getpass

        return getpass.getpass(f"{variable}: ").strip()
    return sys.stdin.readline().strip()

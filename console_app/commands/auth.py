"""`fanout auth`: keeps a provider's key, forgets it, or says which are kept. A key is never shown."""

from __future__ import annotations

import sys

from console_app.command_line import json_outputs
from console_app.commands.standard_output import write_out
from console_app.config.secrets import StoredKeys
from console_app.config.settings import Settings
from console_app.domain import UsageError, safe_text, visible
from console_app.headless import Exit
from console_app.wiring import Setup


def auth(setup: Setup) -> int:
    action: str = setup.arguments.action
    keys = StoredKeys(setup.paths)
    if action == "list" and setup.arguments.json:
        said = safe_text.json_line(json_outputs.KeysReport(keys=tuple(keys.addresses())).model_dump())
    elif action == "list":
        said = "\n".join(keys.addresses()) or "No key is kept."
    else:
        said = _changed(keys, action, _variable(setup.arguments.provider, setup.settings))
    write_out(visible(said) + "\n")
    return Exit.DONE


def _changed(keys: StoredKeys, action: str, variable: str) -> str:
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
        why = f"the provider {provider} takes no key" if provider else "a key is for a provider, and none is named"
        raise UsageError(why, f"There are {', '.join(named)}.")
    return named[provider]


def _read(variable: str) -> str:
    if sys.stdin.isatty():
        import getpass

        return getpass.getpass(f"{variable}: ").strip()
    return sys.stdin.readline().strip()

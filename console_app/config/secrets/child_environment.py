"""Gives other programs their part of Fanout's environment: servers get a documented minimum, your editor all but the
secrets, a console in a browser the minimum, its settings and what was named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from console_app.config.secrets.secret_sources import is_secret_name, secrets_of_url

_MINIMUM: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", "TMP", "TEMP"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    }
)
_EDITORS: Final = ("VISUAL", "EDITOR")
_PROXIES: Final = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})


def for_servers(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a program needs to run and to reach the network, and nothing that was meant for another.

    A proxy with a password is left out: it is named in the `env` of those that may have it. Exported functions of
    shells (values that begin with `()`) are code, and left out too.
    """
    return {name: value for name, value in environ.items() if _is_needed(name, value) and not value.startswith("()")}


def for_own_programs(environ: Mapping[str, str]) -> dict[str, str]:
    """Return all variables but those that hold secrets, for the editor and the opener of files."""
    return {
        name: value for name, value in environ.items() if not is_secret_name(name) and not _has_password(name, value)
    }


def for_consoles(environ: Mapping[str, str], named: Iterable[str]) -> dict[str, str]:
    """Return for a console in a browser what servers get, Fanout's settings and what is `named`; the terminal is the
    page's."""
    own = {name: value for name, value in environ.items() if name.startswith("FANOUT_") or name in _EDITORS}
    more = {name: environ[name] for name in named if name in environ}
    return {**for_servers(environ), **own, **more, "TERM": "xterm-256color", "COLORTERM": "truecolor"}


def _has_password(name: str, value: str) -> bool:
    if name.upper() in _PROXIES and "://" not in value:
        value = f"http://{value}"  # a proxy may be written without its scheme
    return any(secrets_of_url(value, query=False))


def _is_needed(name: str, value: str) -> bool:
    if name.upper() in _PROXIES:
        return not _has_password(name, value)
    return name in _MINIMUM or name.startswith("LC_")

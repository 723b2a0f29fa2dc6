"""Checks base URLs and names of variables, and reads the loose forms in which OLLAMA_HOST is written."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_OLLAMA_PORT = 11434
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENDPOINTS = ("/chat/completions", "/responses", "/messages", "/models")


def check_variable(name: str) -> str:
    """`name` if an environment variable can be called so: a key pasted in its place is refused, and not repeated."""
    if _VARIABLE.fullmatch(name) is None:
        raise ValueError("has to be the name of an environment variable, not the key itself")
    return name


def check_base_url(url: str) -> str:
    """`url` without a trailing slash; ValueError says what is wrong with it."""
    if any(ord(character) <= 0x20 or ord(character) >= 0x7F for character in url):
        raise ValueError("has a space or another character that no URL has")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("is no URL: write it as http://HOST:PORT, with a number as the port") from None
    no_port = port == 0 or parts.netloc.endswith(":")
    if parts.scheme not in ("http", "https") or not parts.hostname or no_port:
        raise ValueError("is no URL: write it as http://HOST or https://HOST, with the path that the endpoint has")
    if parts.query or parts.fragment:
        raise ValueError("may not have a query or a fragment")
    trimmed = url.rstrip("/")
    for ending in _ENDPOINTS:
        if trimmed.endswith(ending):
            rest = trimmed.removesuffix("/v1/messages").removesuffix(ending).rstrip("/")
            raise ValueError(f"is one endpoint of the API, not its base: write {rest}")
    return trimmed


def ollama_url(host: str) -> str:
    """The base URL for a value of OLLAMA_HOST: `HOST`, `HOST:PORT` or a URL; 0.0.0.0 means this machine."""
    url = host if "://" in host else f"http://{host}"
    parts = urlsplit(check_base_url(url))
    name = parts.hostname or "127.0.0.1"
    name = "127.0.0.1" if name == "0.0.0.0" else f"[{name}]" if ":" in name else name
    port = parts.port or (443 if parts.scheme == "https" else _OLLAMA_PORT)
    return f"{parts.scheme}://{name}:{port}{parts.path}/v1"

"""Which program or address stands behind the name of a server: what approvals and rules are bound to."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from console_app.config.secrets.redaction import Redactor
from console_app.config.secrets.secret_sources import secrets_of_server
from console_app.config.servers.mcp_servers import ServerConfig
from console_app.domain.tools import ServerIdentity


def identity_of(config: ServerConfig, folder: Path) -> ServerIdentity:
    """The command with its arguments, or the URL; never the name.

    A command that names a file relative to where it is started (`folder`, where mcp.json has no `cwd`) is another
    program in another folder, so that folder is part of it. Values of `env` and headers are not: they are often keys,
    which change without the program being another. The text is stored and exported, so it holds no secret of the
    entry; the digest knows every word as it is, since another secret argument may be another program.
    """
    clean = Redactor(secrets_of_server(config, sure=True)).clean
    if config.url:
        return ServerIdentity(digest=_digest([config.url]), text=clean(_without_keys(config.url)))
    words = (config.command or "", *config.args)
    where = folder / Path(config.cwd).expanduser() if config.cwd else folder
    place = str(where) if config.cwd or any(_is_there(where, word) for word in words) else ""
    # A word is cleaned before it is quoted, which would change what is looked for.
    shown = " ".join(shlex.quote(word) if (cleaned := clean(word)) == word else cleaned for word in words)
    text = f"{shown}, in {clean(place)}" if place else shown
    return ServerIdentity(digest=_digest([*words, place]), text=text)


def _without_keys(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "a URL that can't be read"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "…" if parts.query else "", ""))


def _is_there(folder: Path, word: str) -> bool:
    try:
        return bool(word) and not Path(word).is_absolute() and (folder / word).exists()
    except (OSError, ValueError):
        return False


def _digest(parts: list[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()

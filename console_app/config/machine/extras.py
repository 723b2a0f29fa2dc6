"""Tells which optional parts of the package (`fanout-console[web]`) are here, and the command that installs one.

The command is for where this Fanout was installed from and with what, so that it can be pasted as it stands.
"""

from __future__ import annotations

import json
import platform
import re
import shlex
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from console_app._version import __version__

ALL = "all"  # the extra that brings all others
_PACKAGE = "fanout-console"
_OF_SERVERS = {  # the module of a bundled server: its extra, and what it imports of that
    "console_app.servers.duckduckgo": ("search", "ddgs"),
    "console_app.servers.pptx_generator": ("slides", "pptx"),
}


def _wanted() -> Iterator[tuple[str, str]]:
    """Yield each library that the package asks for with the extra that brings it, "" for one that comes with all."""
    try:
        wanted = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        return  # run from its folder, never installed
    for requirement in wanted:
        name, extra = re.match(r"[\w.-]+", requirement), re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
        if name:
            yield name[0], extra[1] if extra else ""


def optional() -> dict[str, tuple[str, str | None]]:
    """Return the libraries of the extras, each with its extra and its version, None where it isn't installed."""
    return {name: (extra, version_of(name)) for name, extra in _wanted() if extra not in ("", ALL)}


def installed() -> dict[str, str | None]:
    """Return the versions of Fanout, Python and every library that Fanout asks for; None for one that isn't there."""
    python = f"{platform.python_version()} on {sys.platform}"
    asked = {name: version_of(name) for name, extra in _wanted() if not extra}
    return {"fanout": __version__, "python": python, **asked}


def version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def missing_for(server: str) -> str:
    """Return one line about what a bundled server (its module) lacks and what installs it; "" with nothing missing."""
    extra, library = _OF_SERVERS.get(server, ("", ""))
    if not library:
        return ""
    try:
        if find_spec(library) is not None:
            return ""
    except ValueError:
        pass  # it is barred from being imported
    return f"it needs {library}, which is not installed. {how_to_install(extra)}"


def how_to_install(extra: str) -> str:
    """Return the command that installs this extra too; it names those that are here, since what isn't named goes."""
    there: dict[str, bool] = {}
    for name, version in optional().values():
        there[name] = there.get(name, True) and version is not None
    source, editable = _source(",".join(sorted({extra, *(name for name, whole in there.items() if whole)})))
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").is_file():
        command = ["pipx", "install", "--force"]
    elif (prefix / "uv-receipt.toml").is_file():
        command = ["uv", "tool", "install", "--force"]
    else:
        command = [sys.executable, "-m", "pip", "install"]
    return "Install it with: " + shlex.join([*command, *(["--editable"] if editable else []), source])


def _source(extras: str) -> tuple[str, bool]:
    """Return what to install, and whether as a folder that is edited: PEP 610 says where the package came from."""
    named = f"{_PACKAGE}[{extras}]"
    try:
        origin: dict[str, Any] = json.loads(metadata.distribution(_PACKAGE).read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        origin = {}
    url = str(origin.get("url", ""))
    if "dir_info" in origin:
        return f"{unquote(urlsplit(url).path)}[{extras}]", bool(origin["dir_info"].get("editable"))
    if version := origin.get("vcs_info"):
        return f"{named} @ {version.get('vcs', 'git')}+{url}@{version.get('commit_id', 'HEAD')}", False
    return (f"{named} @ {url}" if url else named), False

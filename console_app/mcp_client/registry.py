"""Finds servers in a registry of MCP servers (API v0.1), and says how each would be written in mcp.json.

A registry is asked only once the user has set one, and only read. What it says is anybody's: names and commands are
shown before anything is written, and nothing is started.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from console_app.domain import UsageError, errors, one_line, safe_text
from console_app.records import dataclass

MOST_FOUND = 20
_LARGEST = 4_000_000  # bytes of an answer
_SECONDS = 15.0
_RUNNERS: Mapping[str, tuple[str, tuple[str, ...], str]] = {  # program, its own words, what stands before a version
    "npm": ("npx", ("-y",), "@"),
    "pypi": ("uvx", (), "=="),
    "oci": ("docker", ("run", "-i", "--rm"), ":"),
}
_REMOTES = {"streamable-http": "http", "sse": "sse"}
_PACKAGE = re.compile(r"(?![-.])[\w@./:+-]{1,200}")
_VERSION = re.compile(r"[\w.+-]{1,60}")
_VARIABLE = re.compile(r"[A-Za-z_]\w{0,79}")


@dataclass(frozen=True, slots=True)
class Listed:
    """A server of a registry; `fields` is how mcp.json would have it, and `needs` are variables that it asks for."""

    name: str
    description: str
    version: str
    fields: Mapping[str, Any]
    needs: tuple[str, ...] = ()

    @property
    def runs(self) -> str:
        """The command or the address behind it, and the variables of yours that it is given."""
        words = [self.fields["command"], *self.fields["args"]] if "command" in self.fields else [self.fields["url"]]
        return shlex.join(words) + (f" with {', '.join(self.needs)}" if self.needs else "")


async def find_servers(address: str, words: str) -> list[Listed]:
    """Ask the registry at `address` for servers whose name has `words`. Raises ServerError, and UsageError without
    one."""
    if not address:
        raise UsageError(
            "no registry of servers is asked before you set one",
            'Set mcp_registry = "official", or its address.',
        )
    asked: dict[str, str | int] = {"search": words, "limit": MOST_FOUND, "version": "latest"}
    try:
        found: Any = json.loads(await fetched(f"{address.rstrip('/')}/v0.1/servers", asked))
    except (ValueError, RecursionError):
        raise errors.ServerError("the registry's answer can't be read") from None
    return list(_servers(found))


async def fetched(address: str, asked: Mapping[str, str | int] | None = None) -> bytes:
    """Return what the registry at `address` answers. Raises ServerError where it gives nothing, or too much."""
    import httpx2

    try:
        async with (
            httpx2.AsyncClient(timeout=_SECONDS, follow_redirects=False) as client,
            client.stream("GET", address, params=dict(asked or {})) as answer,
        ):
            if answer.status_code != 200:
                raise errors.ServerError(f"the registry answered with status {answer.status_code}")
            body = bytearray()
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > _LARGEST:
                    raise errors.ServerError(f"the registry answered with more than {_LARGEST:,} bytes")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        why = one_line(str(error) or type(error).__name__, 200)
        raise errors.ServerError(f"the registry gave no answer: {why}") from None
    return bytes(body)


def _servers(found: Any) -> Iterator[Listed]:
    for entry in safe_text.as_list(safe_text.as_object(found).get("servers"))[:MOST_FOUND]:
        server = safe_text.as_object(safe_text.as_object(entry).get("server")) or safe_text.as_object(entry)
        name = server.get("name")
        if not isinstance(name, str) or not _PACKAGE.fullmatch(name):
            continue
        if (made := _fields(server)) is not None:
            about, version = (one_line(str(server.get(key) or ""), 300) for key in ("description", "version"))
            yield Listed(name, about, version, *made)


def _fields(server: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]] | None:
    """Return how a server would be written, and what it needs; None where none of its forms is known here."""
    for package in map(safe_text.as_object, safe_text.as_list(server.get("packages"))):
        identifier, version = package.get("identifier"), package.get("version")
        runner = _RUNNERS.get(str(package.get("registryType")))
        if runner is None or not isinstance(identifier, str) or not _PACKAGE.fullmatch(identifier):
            continue
        program, words, sign = runner
        fixed = isinstance(version, str) and _VERSION.fullmatch(version) and sign not in identifier[1:]
        whole = f"{identifier}{sign}{version}" if fixed else identifier
        needs = tuple(_needs(package.get("environmentVariables")))
        passed = [part for name in needs for part in ("-e", name)] if program == "docker" else []
        entry: dict[str, Any] = {"command": program, "args": [*words, *passed, whole]}
        return entry | ({"env": {name: f"${{{name}}}" for name in needs}} if needs else {}), needs
    for remote in map(safe_text.as_object, safe_text.as_list(server.get("remotes"))):
        url, kind = remote.get("url"), _REMOTES.get(str(remote.get("type")))
        if kind is not None and isinstance(url, str) and url.startswith("https://") and one_line(url) == url:
            return {"url": url, "type": kind}, ()
    return None


def _needs(variables: Any) -> Iterator[str]:
    for one in map(safe_text.as_object, safe_text.as_list(variables)):
        name = one.get("name")
        if one.get("isRequired") and isinstance(name, str) and _VARIABLE.fullmatch(name):
            yield name

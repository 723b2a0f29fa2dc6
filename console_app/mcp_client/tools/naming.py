"""Names of tools on the wire: legal with every provider, unique, and looked up in a table, never taken apart."""

from __future__ import annotations

import hashlib
import re

LONGEST = 64  # characters, the least that a provider allows
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def plain(server: str, tool: str) -> str:
    """Return the name that a tool has where it isn't too long and nobody has it yet."""
    return f"{_ILLEGAL.sub('_', server)}_{_ILLEGAL.sub('_', tool)}"


class WireNames:
    """Gives each (server, tool) its name and keeps it for good: a model may still use one it saw earlier."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def name(self, server: str, tool: str) -> str:
        """Return the name of a tool, the same each time it is asked for."""
        key = (server, tool)
        if (known := self._names.get(key)) is not None:
            return known
        wanted = plain(server, tool)
        name, number = _shortened(wanted, f"{server}\0{tool}"), 2
        while name in self._taken:
            suffix = f"_{number}"
            name, number = _shortened(wanted, f"{server}\0{tool}", LONGEST - len(suffix)) + suffix, number + 1
        self._names[key] = name
        self._taken.add(name)
        return name


def _shortened(name: str, unique: str, longest: int = LONGEST) -> str:
    if len(name) <= longest:
        return name
    return f"{name[: longest - 9]}_{hashlib.sha256(unique.encode('utf-8', 'replace')).hexdigest()[:8]}"

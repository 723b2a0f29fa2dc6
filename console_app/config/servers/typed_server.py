"""Turns what is typed about a server (a command or an address, lines of variables or headers) into its entry."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from console_app.domain import safe_text

_LINE = re.compile(r"\s*([^\s=:]+)\s*[=:]\s?(.*)")


@dataclass(frozen=True, slots=True)
class Typed:
    """The three fields of the form for a server."""

    name: str
    target: str  # a command line, or an address
    lines: str  # NAME=value or Name: value, one a line

    @classmethod
    def of(cls, name: str, written: Mapping[str, Any]) -> Typed:
        command: Any = written.get("command")
        words = [str(word) for word in safe_text.as_list(command)] or ([str(command)] if command else [])
        words += [str(word) for word in safe_text.as_list(written.get("args"))]
        pairs = safe_text.as_object(written.get("headers" if written.get("url") else "env"))
        target = str(written.get("url") or shlex.join(words))
        return cls(name, target, "\n".join(f"{key}={value}" for key, value in pairs.items()))

    def problems(self, taken: set[str]) -> dict[str, str]:
        """Return what is wrong in a few words, by field: `name`, `target` or `lines`. Empty when it can be written."""
        found: dict[str, str] = {}
        name, target = self.name.strip(), self.target.strip()
        if not name:
            found["name"] = "is needed"
        elif name in taken:
            found["name"] = "is the name of another server"
        if not target:
            found["target"] = "is needed: a command, or an address that begins with http:// or https://"
        elif _is_address(target):
            if not re.match(r"https?://[^\s/]+", target, re.IGNORECASE) or " " in target:
                found["target"] = "must be one address that begins with http:// or https://"
        elif wrong := command_problem(target):
            found["target"] = wrong
        for number, line in enumerate(self.lines.splitlines(), 1):
            if line.strip() and not _LINE.fullmatch(line):
                found["lines"] = f"line {number} is not NAME=value"
                break
        return found

    def fields(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the entry for mcp.json; what `before` says beside these fields is kept, in its order."""
        target = self.target.strip()
        found = [match for line in self.lines.splitlines() if (match := _LINE.fullmatch(line))]
        values = {str(match[1]): str(match[2]) for match in found}
        if _is_address(target):
            own: dict[str, Any] = {"url": target} | ({"headers": values} if values else {})
            gone = {"command", "args", "env", "cwd"}
        else:
            command, *arguments = shlex.split(target)
            own = (
                {"command": command} | ({"args": arguments} if arguments else {}) | ({"env": values} if values else {})
            )
            gone = {"url", "serverUrl", "httpUrl", "headers", "auth"}
        gone |= {"command", "args", "env", "url", "headers"}
        other = {key: value for key, value in before.items() if key not in gone}
        if _is_address(target) != bool(before.get("url")):
            other.pop("type", None)
            other.pop("transport", None)
        return own | other

    def explained(self) -> str:
        target = self.target.strip()
        if not target:
            return "A command to start, as npx -y some-server, or an address, as https://example.org/mcp"
        if _is_address(target):
            return f"Connects to {target}; the lines below are headers."
        if command_problem(target):
            return ""
        command, *arguments = shlex.split(target)
        count = f" with {len(arguments)} argument{'' if len(arguments) == 1 else 's'}" if arguments else ""
        return f"Starts the program {command}{count}; the lines below are its environment."


def _is_address(target: str) -> bool:
    return "://" in target.split(" ", 1)[0]


def command_problem(line: str) -> str:
    """Return in a few words what keeps a command line from naming a program; "" when nothing does."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        return "ends in a backslash" if "escape" in str(error) else "has a quote that is not closed"
    return "" if words and words[0].strip() else "names no program"

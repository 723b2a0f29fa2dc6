"""Writes single servers into an mcp.json and takes them out, and leaves everything else in it exactly as it is; turns
what is typed about a server (a command or an address, lines of variables or headers) into its entry.

The text is changed where the server stands and nowhere else, so comments, the order and the way the file is laid out
are kept. What comes out is read again before it is written: a change that would break the file is refused.

The servers that other MCP clients are set up with are found where these keep them. Nothing of theirs is written, or
taken over by itself: `fanout mcp import` shows what is there, and takes what it is told to.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console_app.config.files import Paths, disk, trusted
from console_app.config.servers import json_positions
from console_app.config.servers.mcp_servers import containers, load_mcp_config, parsed, read_mcp_config
from console_app.domain import ConfigError, safe_text
from console_app.records import dataclass

if TYPE_CHECKING:
    from console_app.config.servers.server_choice import ServerChoice

_EMPTY = '{\n  "mcpServers": {}\n}\n'


@dataclass(frozen=True, slots=True)
class ServerFile:
    """The mcp.json that is written to: the uppermost, and the user's own in place of the bundled one."""

    paths: Paths
    path: Path
    below: tuple[Path, ...] = ()  # the files whose servers are read too

    @classmethod
    def of(cls, paths: Paths, choice: ServerChoice) -> ServerFile:
        if choice.path is None or choice.bundled:
            return cls(paths, paths.mcp, choice.files)
        return cls(paths, choice.path, choice.files[1:])

    def names(self) -> list[str]:
        """Return the servers that are written in it, and those below that it would hide."""
        return [server.name for path in self._there for server in load_mcp_config(path).servers]

    def fields(self, name: str) -> dict[str, Any]:
        """Return what is written of a server where it counts, `${VAR}` as it stands; empty for one that isn't there."""
        return self.entry(name)[1]

    def entry(self, name: str) -> tuple[Path, dict[str, Any]]:
        """Return the file where a server's entry counts, and the entry's `fields`."""
        found = ((path, _fields(disk.read_text(path), name, path)) for path in self._there)
        return next((one for one in found if one[1]), (self.path, dict[str, Any]()))

    def put(self, name: str, fields: Mapping[str, Any]) -> str:
        """Add a server or replace the one of that name, and return the new text.

        Raises ConfigError when the file is broken or can't be written, or the server would not be understood.
        """
        before = self._before()
        text = with_server(_EMPTY if before is None else before, name, fields, self.path)
        for problem in read_mcp_config(text, self.path, {}).problems:
            if problem.server == name and problem.fatal and "environment variable" not in problem.text:
                raise ConfigError(f"server {name}: {problem.text}")
        return self._write(before, text)

    def remove(self, name: str) -> None:
        """Take a server out. Raises ConfigError when it isn't there, or the file can't be read or written."""
        before = self._before()
        self._write(before, without_server(_EMPTY if before is None else before, name, self.path))

    @property
    def _there(self) -> list[Path]:
        return [path for path in (self.path, *self.below) if path.exists()]

    def _before(self) -> str | None:
        return disk.read_text(self.path) if self.path.exists() else None

    def _write(self, before: str | None, text: str) -> str:
        """Write the file, private if it is new; one that you trusted stays trusted."""
        path = self.path
        read_mcp_config(text, path, {})  # a change that would break the file is refused
        if before is not None:
            try:
                path.resolve().write_text(text, encoding="utf-8")  # its mode and links stay as they are
            except OSError as error:
                raise ConfigError(f"can't write {path}: {error.strerror or error}") from None
        else:
            disk.write_private(path, text)
        trusted.trust_edit(self.paths, path, trusted.Written(before, text))
        return text


def _fields(text: str, name: str, path: Path) -> dict[str, Any]:
    document = parsed(text, path, "Correct the file at that place first.")
    return safe_text.as_object(_container(document, path)[1].get(name))


def with_server(text: str, name: str, fields: Mapping[str, Any], path: Path) -> str:
    """Return `text` with the server, under the name it has or behind the last one."""
    document = parsed(text, path, "Correct the file at that place first.")
    where, servers = _container(document, path)
    if name in servers:
        begin, end = document.spans[*where, name]
        return text[:begin] + _laid_out(fields, _indent_at(text, document.offsets[(*where, name)])) + text[end:]
    if servers:
        last = (*where, list(servers)[-1])
        _, end = document.spans[last]
        indent = _indent_at(text, document.offsets[last])
        entry = f"{json.dumps(name, ensure_ascii=False)}: {_laid_out(fields, indent)}"
        comma = _comma_after(text, end)
        if comma is not None:  # a trailing comma, as JSON with comments allows
            return f"{text[: comma + 1]}\n{indent}{entry},{text[comma + 1 :]}"
        return f"{text[:end]},\n{indent}{entry}{text[end:]}"
    begin, end = document.spans[where]
    outer = _indent_at(text, begin)
    indent = f"{outer}  "
    entry = f"{json.dumps(name, ensure_ascii=False)}: {_laid_out(fields, indent)}"
    comments = text[begin + 1 : end - 1].rstrip()  # comments, if any
    return f"{text[: begin + 1]}{comments}\n{indent}{entry}\n{outer}{text[end - 1 :]}"


def without_server(text: str, name: str, path: Path) -> str:
    """Return `text` without the server and the comma that parted it from its neighbours."""
    document = parsed(text, path, "Correct the file at that place first.")
    where, servers = _container(document, path)
    if name not in servers:
        raise ConfigError(f"{path} has no server {name}", f"It has: {', '.join(servers) or 'none'}.")
    begin, (_, end) = document.offsets[(*where, name)], document.spans[*where, name]
    names = list(servers)
    comma = _comma_after(text, end)
    if comma is not None:
        end = comma + 1
    elif names.index(name):
        before = document.spans[*where, names[names.index(name) - 1]][1]
        parting = _comma_after(text, before)
        if parting is not None:
            text = text[:parting] + " " + text[parting + 1 :]
            begin = parting if not text[parting:begin].strip() else begin
    line = text.rfind("\n", 0, begin)
    if begin > line + 1 and not text[line + 1 : begin].strip():
        begin = max(line, 0)  # the entry had lines of its own
    return text[:begin] + text[end:]


def _container(document: json_positions.Document, path: Path) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the path of the servers, and what is there."""
    values = safe_text.as_object(document.value)
    for where, value in containers(values):
        if isinstance(value, dict):
            return where, safe_text.as_object(value)
    if values and all(isinstance(value, dict) for value in values.values()):
        return (), values
    raise ConfigError(f"{path} has no list of servers", 'It looks like {"mcpServers": {NAME: {...}}}.')


def _comma_after(text: str, at: int) -> int | None:
    """Return the place of the comma behind a value, past spaces and comments."""
    match = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*,", re.DOTALL).match(text, at)
    return match.end() - 1 if match else None


def _indent_at(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip())]


def _laid_out(fields: Mapping[str, Any], indent: str) -> str:
    step = "\t" if "\t" in indent else "  "
    return json.dumps(dict(fields), indent=step, ensure_ascii=False).replace("\n", f"\n{indent}")


@dataclass(frozen=True, slots=True)
class OtherClient:
    """A file of another client: the servers in it as they are written, `${VAR}` unfilled."""

    client: str
    path: Path
    servers: Mapping[str, Mapping[str, Any]]
    problem: str = ""  # why it couldn't be read

    @classmethod
    def read(cls, path: Path, client: str = "") -> OtherClient:
        try:
            text = disk.read_text(path)
            if path.suffix == ".toml":
                written = safe_text.as_object(tomllib.loads(text).get("mcp_servers"))
                found = {name: json.loads(json.dumps(fields, default=str)) for name, fields in written.items()}
            else:
                names = [server.name for server in read_mcp_config(text, path, {}).servers]
                found = {name: _fields(text, name, path) for name in names}
        except ConfigError as error:
            # A client's settings without any server are nothing to complain of.
            empty = "has no key mcpServers" in error.detail
            return cls(client, path, {}, "" if empty else error.detail)
        except tomllib.TOMLDecodeError as error:
            return cls(client, path, {}, f"{path}: {error}")
        return cls(client, path, {name: fields for name, fields in found.items() if fields})


def other_clients(home: Path, cwd: Path) -> list[OtherClient]:
    """Return the files of other clients that are there and hold servers, or can't be read."""
    apps = home / "Library" / "Application Support" if sys.platform == "darwin" else home / ".config"
    places = [
        ("claude-desktop", apps / "Claude" / "claude_desktop_config.json"),
        ("claude-code", home / ".claude.json"),
        ("claude-code", cwd / ".mcp.json"),
        ("cursor", home / ".cursor" / "mcp.json"),
        ("cursor", cwd / ".cursor" / "mcp.json"),
        ("vscode", apps / "Code" / "User" / "mcp.json"),
        ("vscode", cwd / ".vscode" / "mcp.json"),
        ("windsurf", home / ".codeium" / "windsurf" / "mcp_config.json"),
        ("gemini", home / ".gemini" / "settings.json"),
        ("gemini", cwd / ".gemini" / "settings.json"),
        ("lmstudio", home / ".lmstudio" / "mcp.json"),
        ("codex", home / ".codex" / "config.toml"),
    ]
    found = [OtherClient.read(path, client) for client, path in places if path.is_file()]
    return [one for one in found if one.servers or one.problem]


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

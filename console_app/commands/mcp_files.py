"""`fanout mcp add`, `get`, `remove` and `import`: what they read and write, without starting any server."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from console_app.command_line import json_outputs
from console_app.config.files import Paths, disk, trusted
from console_app.config.secrets import Redactor, secret_sources
from console_app.config.servers import (
    ServerChoice,
    command_problem,
    load_mcp_config,
    mcp_edit,
    mcp_import,
)
from console_app.domain import UsageError, one_line, safe_text


@dataclass(frozen=True, slots=True)
class ServerFile:
    """The mcp.json that is written to: the one that counts, and the user's own in place of the bundled one."""

    paths: Paths
    path: Path
    start: str = ""  # what a file that isn't there begins as: the bundled servers stay

    @classmethod
    def of(cls, paths: Paths, choice: ServerChoice) -> ServerFile:
        """The file for the servers that count now."""
        if choice.path is None or choice.bundled:
            return cls(paths, paths.mcp, disk.read_text(choice.path) if choice.path is not None else "")
        return cls(paths, choice.path)

    def names(self) -> list[str]:
        """The servers in it."""
        return [server.name for server in load_mcp_config(self.path).servers] if self.path.exists() else []

    def fields(self, name: str) -> dict[str, Any]:
        """Return what is written of a server. Raises UsageError when there is none of that name."""
        text = disk.read_text(self.path) if self.path.exists() else self.start
        fields = mcp_edit.server_fields(text, name, self.path) if text else {}
        if not fields:
            raise UsageError(f"{self.path} has no server {name}", "See fanout mcp list.")
        return fields

    def put(self, name: str, fields: Mapping[str, Any]) -> None:
        """Adds or replaces a server; a file that you trusted as it was is trusted as you have just made it."""
        trusted.trust_edit(self.paths, self.path, mcp_edit.put_server(self.path, name, fields, start=self.start))

    def remove(self, name: str) -> None:
        """Takes a server out."""
        trusted.trust_edit(self.paths, self.path, mcp_edit.remove_server(self.path, name, start=self.start))


def server_of(
    words: Sequence[str], *, env: Sequence[str], headers: Sequence[str], transport: str | None
) -> dict[str, Any]:
    """Return what `add` writes: from a URL, a command with its arguments, or one JSON object."""
    if not words:
        raise UsageError(
            "fanout mcp add NAME needs a URL or a command", "As: fanout mcp add time -- uvx mcp-server-time"
        )
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        try:
            fields: Any = json.loads(words[0])
        except ValueError as error:
            raise UsageError(f"the server's JSON can't be read: {error}") from None
        return fields
    fields = {}
    if transport:
        fields["type"] = transport
    if words[0].lower().startswith(("http://", "https://")):
        if len(words) > 1:
            raise UsageError(f"{words[1]} behind the URL means nothing", "A header is given with --header.")
        fields["url"] = words[0]
    else:
        if wrong := command_problem(words[0] if len(words) == 1 else shlex.join(words)):
            raise UsageError(
                f"the command {one_line(words[0], 60)!r} {wrong}", "As: fanout mcp add NAME -- COMMAND ARG"
            )
        command = shlex.split(words[0]) if len(words) == 1 else list(words)
        fields["command"] = command[0]
        if command[1:]:
            fields["args"] = command[1:]
    if env:
        fields["env"] = dict(_pair(text, "=", "--env NAME=VALUE") for text in env)
    if headers:
        fields["headers"] = dict(_pair(text, ":", "--header 'NAME: VALUE'") for text in headers)
    return fields


def imported(file: ServerFile, source: str, names: Sequence[str], *, home: Path, cwd: Path) -> Iterator[str]:
    """Takes over the servers of a client or a file (with `names`, those of them); a line each on what came of it."""
    clients = [one for one in mcp_import.other_clients(home, cwd) if one.client == source]
    if not clients:
        path = cwd / Path(source).expanduser()
        if not path.is_file():
            raise UsageError(f"{source} is neither a client with servers nor a file", "See fanout mcp import.")
        clients = [mcp_import.OtherClient.read(path)]
    there, taken = set(file.names()), set[str]()
    for client in clients:
        if client.problem:
            yield f"✗ {one_line(client.problem)}"
        for name, fields in client.servers.items():
            if names and name not in names:
                continue
            taken.add(name)
            if name in there:
                yield f"○ {one_line(name, 40)}: there already, left as it is"
                continue
            file.put(name, fields)
            there.add(name)
            yield f"✓ {one_line(name, 40)}: {summary(fields)}"
    if missing := [name for name in names if name not in taken]:
        raise UsageError(f"{source} has no server {missing[0]}")


def importable(file: ServerFile, *, home: Path, cwd: Path) -> json_outputs.ImportableReport:
    """Return the servers that there are to import."""
    there = set(file.names())
    return json_outputs.ImportableReport(
        clients=tuple(
            json_outputs.ImportableFile(
                client=client.client,
                file=safe_text.encodable(str(client.path)),
                problem=client.problem,
                servers=tuple(
                    json_outputs.ImportableServer(name=name, starts=summary(fields), there=name in there)
                    for name, fields in client.servers.items()
                ),
            )
            for client in mcp_import.other_clients(home, cwd)
        )
    )


def importable_lines(report: json_outputs.ImportableReport) -> Iterator[str]:
    """Write the importable servers for people."""
    for client in report.clients:
        yield f"{client.client:<16} {one_line(client.file)}"
        if client.problem:
            yield f"    ✗ {one_line(client.problem)}"
        for server in client.servers:
            yield f"    {'○' if server.there else '+'} {one_line(server.name, 40):<20} {server.starts}"
    found = "To take them over: fanout mcp import CLIENT [NAME ...]"
    yield found if report.clients else "No other client's servers were found."


def summary(fields: Mapping[str, Any]) -> str:
    """A server in a few words, without its secrets: no values of its environment or headers."""
    target = fields.get("url") or fields.get("serverUrl") or fields.get("httpUrl")
    if target:
        return one_line(_without_secrets(str(target), (), target), 100)
    command: Any = fields.get("command")
    words: list[Any] = [*(command if isinstance(command, list) else [command]), *(fields.get("args") or ())]
    given = [str(word) for word in words if word is not None]
    return one_line(_without_secrets(shlex.join(given), given), 100)


def shown(fields: Mapping[str, Any]) -> str:
    """A server as it is written, as JSON; secrets that stand in it themselves, not as `${VAR}`, are left out."""
    hidden = {
        key: _hidden(value) if key in {"env", "headers", "auth", "auth_token"} else value
        for key, value in fields.items()
    }
    text = json.dumps(hidden, ensure_ascii=False, indent=2)
    return _without_secrets(text, [str(word) for word in fields.get("args") or ()], fields.get("url"))


def _without_secrets(text: str, words: Sequence[str], url: Any = None) -> str:
    """`text` without what stands in a URL or behind a secret flag itself, not as `${VAR}`."""
    found = (*secret_sources.secrets_of_url(str(url or "")), *secret_sources.secrets_of_arguments(words))
    return Redactor(secret for secret in found if "${" not in secret).without_known(text)


def _hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _hidden(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, str) and value not in {"", "oauth", "none", "bearer"} and "${" not in value:
        return "…"
    return value


def _pair(text: str, sign: str, form: str) -> tuple[str, str]:
    name, found, value = text.partition(sign)
    if not found or not name.strip():
        raise UsageError(f"{text!r} is not {form}")
    return name.strip(), value.strip() if sign == ":" else value

"""Reads MCP servers from mcp.json in any of the shapes that clients write it, checked key by key.

A file that can't be read is an error with its line and column. A server that is written wrongly is a problem of that
server alone: it stays in the list with its reason, and the others run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from console_app.config.files import disk, line_column
from console_app.config.secrets import Redactor, keys_in, secret_sources
from console_app.config.servers import json_positions
from console_app.domain import ConfigError, safe_text
from console_app.domain.tools import ServerIdentity
from console_app.records import dataclass

Transport = Literal["stdio", "http", "sse"]
Protocol = Literal["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
Roots = Literal["cwd", "none"] | tuple[str, ...]

# Options of launchers whose value says where the server's program is.
_LAUNCHERS: Final = frozenset({"--directory", "--project", "--from", "--with-editable", "--prefix", "--env-file", "-C"})
_TRANSPORTS: Final[dict[str, Transport]] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamablehttp": "http",
    "sse": "sse",
}
# Keys that other clients write for the same thing, and keys that they keep in the file for themselves.
_ALIASES: Final = {"type": "transport", "serverUrl": "url", "httpUrl": "url", "requireApproval": "require_approval"}
_OTHERS: Final = frozenset({"alwaysAllow", "autoApprove", "gallery", "icon", "note", "comment", "$schema", "version"})
# The keys by which Atlas authenticates, in place of `auth` and `headers`.
_ATLAS_KEYS: Final = frozenset({"auth_type", "auth_token", "auth_header", "oauth_config"})
_ATLAS_KINDS: Final = ("none", "api_key", "bearer", "jwt", "oauth")
_ATLAS_HEADER: Final = "X-API-Key"
_VARIABLE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{([^}]*)\}")


def _transport(value: object) -> object:
    return _TRANSPORTS.get(value.lower(), value) if isinstance(value, str) else value


def _as_text(value: object) -> object:
    # Numbers and booleans as values of env or headers are meant as their text.
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int | float) else value


Texts = dict[str, Annotated[str, BeforeValidator(_as_text)]]
Names = Annotated[tuple[str, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]


def _roots(value: object) -> object:
    # One folder may stand without its list; a word that is neither of the two would be a folder by mistake.
    if isinstance(value, str) and value not in ("cwd", "none"):
        if not value.startswith(("/", "~", ".")):
            raise ValueError('must be "cwd", "none" or a list of folders')
        return (value,)
    return value


class ServerConfig(BaseModel):
    """A server. Either `command` (a program spoken to over its stdin and stdout) or `url` is set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Texts = Field(default_factory=dict, repr=False)  # the whole environment, beside a safe few
    cwd: str | None = None
    url: str | None = None
    headers: Texts = Field(default_factory=dict, repr=False)
    auth: str | dict[str, Any] | None = Field(default=None, repr=False)
    transport: Annotated[Transport | None, BeforeValidator(_transport)] = None
    protocol: Protocol | None = None  # the one version that is spoken; None: the newest that both know
    disabled: bool = False
    groups: Names = ()
    require_approval: Names = ()  # tools that always ask; "*" is every tool
    timeout: float | None = Field(default=None, gt=0)  # seconds without progress, of connecting or of a call
    max_concurrency: int | None = Field(default=None, ge=1)
    # Folders that it is told it may work in; None: the working folder, or none where its arguments name folders.
    roots: Annotated[Roots | None, BeforeValidator(_roots)] = None
    # Whether requests hold its tools' definitions, or the model searches for them; auto: as the setting `tools` says.
    tools: Literal["auto", "always", "search"] = "auto"
    description: str = ""
    short_description: str = ""
    author: str = ""
    help_email: str = ""
    compliance_level: str = ""
    auth_type: str = ""  # as Atlas writes it; `auth` and `headers` are what counts
    problem: str = ""  # why it can't be started, "" where nothing is wrong
    variables: tuple[str, ...] = ()  # of the environment, that its values are filled in from
    folder: str = ""  # where it is started; "" for the process's own, which is that of most conversations

    @property
    def kind(self) -> Transport:
        return self.transport or ("stdio" if self.command else "http")

    @property
    def only_off(self) -> bool:
        """Tell whether its entry says that it is off, and nothing more."""
        return self.disabled and not self.command and not self.url

    @property
    def bundled_module(self) -> str:
        """The module of a server that ships with Fanout, and so changes with it; "" for another."""
        option, module = (*self.args, "", "")[:2]
        return module if option == "-m" and module.startswith("console_app.servers.") else ""

    @property
    def started_in(self) -> str:
        """The folder that its program is started in; "" for the process's own."""
        return os.path.join(self.folder, os.path.expanduser(self.cwd or ""))

    @property
    def root_plan(self) -> Roots:
        """`roots`, or where nothing is said the working folder, or none where the arguments name folders.

        Servers that take roots take them in place of the folders that their own arguments name.
        """
        if self.roots is not None:
            return self.roots
        return "none" if self.kind == "stdio" and _names_folders(self.args, self.started_in) else "cwd"

    def root_folders(self, working: Sequence[Path]) -> tuple[Path, ...]:
        """Return the folders that the server is told it may work in; `working` are those of the session."""
        plan = self.root_plan
        if isinstance(plan, str):
            return tuple(working) if plan == "cwd" else ()
        return tuple(Path(os.path.abspath(os.path.expanduser(root))) for root in plan)

    def for_groups(self, groups: Sequence[str] | None) -> ServerConfig:
        """Return it; off, with the reason why it can't be started, where it is for other groups than the user's."""
        if groups is None or not self.groups or self.problem or set(groups) & set(self.groups):
            return self
        yours = ", ".join(groups) or "none"
        problem = f"it is for the groups {', '.join(self.groups)}, and yours (the setting `groups`): {yours}"
        return self.model_copy(update={"problem": problem, "disabled": True})

    def identity(self, folder: Path) -> ServerIdentity:
        """Return the command with its arguments, or the URL, and never the name: approvals and rules are bound to it.

        A command that names a file relative to where it is started (`folder`, where mcp.json has no `cwd`) is another
        program in another folder, so that folder is part of it. Values of `env` and headers are not: they are often
        keys, which change without the program being another. The text is stored and exported, so it holds no secret of
        the entry. The digest knows every word as it is, since another secret argument may be another program.
        """
        clean = Redactor(self.secrets(sure=True)).clean
        if self.url:
            try:
                parts = urlsplit(self.url)._replace(fragment="")
                shown = parts._replace(
                    netloc=parts.netloc.rpartition("@")[2], query="…" if parts.query else ""
                ).geturl()
            except ValueError:
                shown = "a URL that can't be read"
            return ServerIdentity(digest=_digest([self.url]), text=clean(shown))
        words = (self.command or "", *self.args)
        where = folder / Path(self.cwd).expanduser() if self.cwd else folder
        place = str(where) if self.cwd or any(_is_there(where, word) for word in words) else ""
        # A word is cleaned before it is quoted, which would change what is looked for.
        shown = " ".join(shlex.quote(word) if (cleaned := clean(word)) == word else cleaned for word in words)
        text = f"{shown}, in {clean(place)}" if place else shown
        return ServerIdentity(digest=_digest([*words, place]), text=text)

    def secrets(self, *, sure: bool = False) -> Iterator[str]:
        """Yield every value of `env`, `headers` and `auth`, and those in the URL and behind secret flags of arguments.

        With `sure` only those of `env` that a name or the look of the value shows to be secret: a folder or the name of
        a project is what a server talks about, and its results would make no sense without it.
        """
        for name, value in self.env.items():
            if not sure or secret_sources.may_be_secret(name, value):
                yield value
            yield from secret_sources.secrets_of_url(value)
        yield from secret_sources.secrets_of_headers(self.headers)
        yield from secret_sources.secrets_of_url(self.url or "")
        yield from secret_sources.secrets_of_auth(self.auth)
        yield from secret_sources.secrets_of_arguments(self.args)
        yield from keys_in(" ".join(self.args))

    @property
    def facts(self) -> tuple[str, ...]:
        said = {"groups": ", ".join(self.groups), "by": self.author, "help": self.help_email}
        said |= {"compliance": self.compliance_level}
        return tuple(f"{what} {value}" for what, value in said.items() if value)

    @model_validator(mode="before")
    @classmethod
    def _shapes(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        fields = _with_auth(cast("dict[str, Any]", data))
        if not isinstance(fields.get("command"), list):
            return fields
        words: list[Any] = fields["command"]
        return fields | {"command": words[0] if words else "", "args": [*words[1:], *fields.get("args", ())]}

    @model_validator(mode="after")
    def _startable(self) -> ServerConfig:
        if self.problem:
            return self
        if not self.command and not self.url:
            raise ValueError("needs a `command` to start or a `url` to connect to")
        if self.command and self.url:
            raise ValueError("has both a `command` and a `url`: keep one")
        if (self.kind == "stdio") != bool(self.command):
            raise ValueError(f"transport {self.kind} needs a `{'command' if self.kind == 'stdio' else 'url'}`")
        if self.url and not self.url.lower().startswith(("http://", "https://")):
            raise ValueError("`url` must start with http:// or https://")
        return self


@dataclass(frozen=True)
class EntryProblem:
    """A fault in the file that doesn't keep it from being used. `line` and `column` count from 1."""

    path: Path
    line: int
    column: int
    key: str  # dotted, as mcpServers.git.comand
    text: str
    server: str = ""  # the server it concerns
    fatal: bool = False  # that server can't be started

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.key}: {self.text}"


@dataclass(frozen=True)
class McpConfig:
    """The servers of a file in its order, those with a problem too, and the problems to show."""

    path: Path
    servers: tuple[ServerConfig, ...] = ()
    problems: tuple[EntryProblem, ...] = ()


def load_mcp_config(path: Path, environ: Mapping[str, str] | None = None) -> McpConfig:
    """Read `path`. Raises ConfigError when it is missing, unreadable, not JSON or holds no list of servers."""
    try:
        text = disk.contents(path, piped=True).decode("utf-8-sig")
    except OSError as error:
        why = f"{path}: {(error.strerror or str(error)).lower()}"
        raise ConfigError(why, "Name another with --mcp-config.") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}).", "Save it as UTF-8.") from None
    return read_mcp_config(text, path, os.environ if environ is None else environ)


def read_mcp_config(text: str, path: Path, environ: Mapping[str, str]) -> McpConfig:
    """Read a text as `load_mcp_config` reads a file; `path` is only for messages."""
    return _Reader(parsed(text, path, "Correct the file at that place; it must be JSON."), path, environ).read()


def parsed(text: str, path: Path, hint: str) -> json_positions.Document:
    """Read JSON. A ConfigError names the place where it stops being that."""
    try:
        return json_positions.parse(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}:{error.colno}: {error.msg}", hint) from None


def containers(root: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield what stands under each key where clients keep their servers, the usual ones first."""
    for where in (("mcpServers",), ("servers",), ("mcp", "servers"), ("mcp", "mcpServers")):
        value: Any = root
        for key in where:
            value = safe_text.as_object(value).get(key)
        if value is not None:
            yield where, value


class _Reader:
    """Reads one document, and gathers its servers and problems."""

    def __init__(self, document: json_positions.Document, path: Path, environ: Mapping[str, str]) -> None:
        self._document = document
        self._path = path
        self._environ = environ
        self._problems: list[EntryProblem] = []
        self._filled_in: dict[str, None] = {}  # names of variables, of the server that is read

    def read(self) -> McpConfig:
        where, servers = self._find_servers()
        for repeated, offset in self._document.repeated:
            self._add(repeated, "", "given twice; the last one counts", offset=offset)
        found = [self._server((*where, name), name, fields) for name, fields in servers.items()]
        return McpConfig(self._path, tuple(found), tuple(self._problems))

    def _find_servers(self) -> tuple[json_positions.Path, dict[str, Any]]:
        root = self._document.value
        if not isinstance(root, dict):
            raise self._broken((), "must be an object with a key mcpServers")
        top = cast("dict[str, Any]", root)
        for where, value in containers(top):
            if not isinstance(value, dict):
                raise self._broken(where, "must be an object: server name to server")
            return where, cast("dict[str, Any]", value)
        marks = {"command", "url", *_ALIASES}
        if all(isinstance(value, dict) and marks & cast("dict[str, Any]", value).keys() for value in top.values()):
            return (), top
        near = get_close_matches("mcpServers", list(top), n=1, cutoff=0.6)
        raise self._broken(
            tuple(near), "has no key mcpServers" + (f"; did you mean that by `{near[0]}`?" if near else "")
        )

    def _broken(self, where: json_positions.Path, text: str) -> ConfigError:
        line, column = self._document.position(where)
        key = f"{'.'.join(map(str, where))}: " if where else ""
        return ConfigError(f"{self._path}:{line}:{column}: {key}{text}", 'It looks like {"mcpServers": {NAME: {...}}}.')

    def _server(self, where: json_positions.Path, name: str, fields: Any) -> ServerConfig:
        if not isinstance(fields, dict):
            return self._unusable(where, name, "must be an object")
        if not name.strip():
            return self._unusable(where, name or "?", "a server needs a name")
        if any(secret_sources.secrets_of_url(name)):  # a name is in rules, sessions and on the screen
            return self._unusable(
                where[:-1], name.partition("://")[0], "a server's name can't be an address with a secret"
            )
        known = self._known_fields(where, name, cast("dict[str, Any]", fields))
        if known == {"disabled": True}:
            return ServerConfig(name=name, disabled=True, problem="its entry only says that it is off")
        self._filled_in.clear()
        unset = ""
        try:
            known = safe_text.changed(known, str, lambda text: _VARIABLE.sub(self._variable, text))
        except _UnsetError as error:
            if known.get("disabled") is not True:
                texts = self._document.texts(where)
                place = next((path for path, text in texts if error.token in text), where)
                return self._unusable(place, name, str(error))
            unset = str(error)  # no problem before somebody switches the server on
        try:
            return ServerConfig(name=name, problem=unset, variables=tuple(self._filled_in), **known)
        except ValidationError as error:
            first = error.errors()[0]
            loc = first["loc"]
            text = first["msg"].removeprefix("Value error, ")
            return self._unusable((*where, *loc), name, f"`{loc[0]}`: {text[:1].lower()}{text[1:]}" if loc else text)

    def _known_fields(self, where: json_positions.Path, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        allowed = (ServerConfig.model_fields.keys() - {"name", "problem", "variables", "folder"}) | _ATLAS_KEYS
        known: dict[str, Any] = {}
        for key, value in fields.items():
            field = _ALIASES.get(key, key)
            if field in allowed:
                if value is not None:
                    known[field] = value
            elif key == "enabled" and isinstance(value, bool):
                pass
            elif key not in _OTHERS and not key.startswith(("_", "//")):
                near = get_close_matches(key.lower(), [*allowed, "type"], n=1, cutoff=0.6)
                text = f"unknown key; did you mean `{near[0]}`?" if near else "unknown key, ignored"
                self._add((*where, key), name, text)
        for key, text in _without_effect(known).items():
            self._add((*where, key), name, text)
        if fields.get("enabled") is False:  # as Atlas writes it; what one of the two switches off is off
            known["disabled"] = True
        return known

    def _variable(self, match: re.Match[str]) -> str:
        name, default, other = match.groups()
        if other is not None:
            raise _UnsetError(f"`{match[0]}` can't be filled in; only ${{VAR}} and ${{VAR:-default}} can", match[0])
        value = self._environ.get(name)
        if value:
            self._filled_in[name] = None
        if default is not None:
            return value or default  # as in a shell: the default also stands for an empty variable
        if value is None:
            raise _UnsetError(f"the environment variable {name} is not set", match[0])
        return value

    def _unusable(self, where: json_positions.Path, name: str, text: str) -> ServerConfig:
        problem = self._add(where, name, text, fatal=True)
        return ServerConfig(name=name, problem=f"{text} ({problem.path.name}:{problem.line}:{problem.column})")

    def _add(
        self, where: json_positions.Path, server: str, text: str, *, fatal: bool = False, offset: int | None = None
    ) -> EntryProblem:
        known = self._document.position(where)
        line, column = known if offset is None else line_column(self._document.text, offset)
        problem = EntryProblem(self._path, line, column, ".".join(map(str, where)), text, server, fatal)
        self._problems.append(problem)
        return problem


class _UnsetError(Exception):
    def __init__(self, text: str, token: str) -> None:
        super().__init__(text)
        self.token = token


def _names_folders(args: Sequence[str], cwd: str) -> bool:
    """Return whether arguments name a folder that is there: as a path, with or without an option before `=`."""
    base = os.path.abspath(os.path.expanduser(cwd))
    for before, argument in zip(("", *args), args, strict=False):
        path = argument.partition("=")[2] if argument.startswith("-") else argument
        is_path = path.startswith(("~", ".")) or os.sep in path
        if before not in _LAUNCHERS and is_path and os.path.isdir(os.path.join(base, os.path.expanduser(path))):
            return True
    return False


def _is_there(folder: Path, word: str) -> bool:
    try:
        return bool(word) and not Path(word).is_absolute() and (folder / word).exists()
    except (OSError, ValueError):
        return False


def _digest(parts: list[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _with_auth(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a server with `auth` and `headers` in place of Atlas's keys. Raises ValueError in words."""
    if not _ATLAS_KEYS & fields.keys():
        return fields
    own = {key: value for key, value in fields.items() if key not in _ATLAS_KEYS}
    kind, token, header = (str(fields.get(key) or "").strip() for key in ("auth_type", "auth_token", "auth_header"))
    signing_in: Any = fields.get("oauth_config")
    kind = kind.lower() or ("api_key" if header else "bearer" if token else "oauth" if signing_in else "none")
    if kind not in _ATLAS_KINDS:
        raise ValueError(f"`auth_type` is {kind!r}; known are {', '.join(_ATLAS_KINDS)}")
    if "auth" in own:
        raise ValueError("has both `auth` and `auth_type`: keep one")
    if kind in ("api_key", "bearer", "jwt") and not token:
        raise ValueError(f"`auth_type` {kind} needs an `auth_token`")
    if header and kind != "api_key":
        raise ValueError(f"`auth_header` goes with `auth_type` api_key, not {kind}")
    own["auth_type"] = kind
    match kind:
        case "api_key":
            given = safe_text.as_object(own.get("headers"))
            return own | {"headers": {**given, header or _ATLAS_HEADER: token}, "auth": "none"}
        case "bearer" | "jwt":
            return own | {"auth": {"type": "bearer", "token": token}}
        case _:
            port = safe_text.as_object(signing_in).get("callback_port")
            own_port = kind == "oauth" and port is not None
            return own | {"auth": {"type": kind, "redirect_port": port} if own_port else kind}


def _without_effect(fields: dict[str, Any]) -> dict[str, str]:
    """Return the keys of Atlas that change nothing for this server, each with the reason, for people."""
    found: dict[str, str] = {}
    if more := sorted(safe_text.as_object(fields.get("oauth_config")).keys() - {"callback_port"}):
        found["oauth_config"] = f"only its `callback_port` is read, not {', '.join(f'`{key}`' for key in more)}"
    if fields.get("command") and not fields.get("url"):
        why = "has no effect: a program that is started signs in nowhere; what it needs goes into `env`"
        kind = str(fields.get("auth_type") or "none").lower()
        found |= {key: why for key in ("auth_token", "auth_header", "oauth_config") if fields.get(key)}
        found |= {"auth_type": why} if kind != "none" else {}
    return found

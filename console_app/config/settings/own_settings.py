"""Settings as a person reads and changes them: value, source, meaning, and the text of a new value.

A change is written into a config.toml and leaves everything else in it, comments and order, as it is.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, ValidationError

from console_app.config.files import disk, parse_toml
from console_app.config.secrets import Redactor
from console_app.config.settings.layers import BrokenSettings, LayeredSettings, in_words, settings_file
from console_app.config.settings.model import Settings, UiSettings
from console_app.domain import ConfigError, UsageError, one_line
from console_app.domain import schema as json_schema
from console_app.records import dataclass

Kind = Literal["bool", "choice", "number", "text", "list", "table"]
_KINDS: Mapping[str, Kind] = {
    "boolean": "bool",
    "integer": "number",
    "number": "number",
    "array": "list",
    "object": "table",
}

MEANINGS: Mapping[str, str] = {
    "model": "which model answers, as PROVIDER/MODEL",
    "base_url": "address of the endpoint, in place of the provider's own",
    "fallback": "model that answers while another is overloaded or out of reach",
    "theme": "colours of the console",
    "protocol": "how tools are offered and calls are read",
    "dialect": "the form in which models write calls as text",
    "policy": "how the calls of one answer run",
    "dispatch": "eager: a call runs once its own arguments are complete; batch: after the answer",
    "strategy": "how a turn goes on from answer to answer",
    "builtin_tools": "Fanout's own tools that the model is offered",
    "tools": "auto: the model searches for tools that would fill a tenth of its window; all; search",
    "programs": "auto: the model may write programs that call tools; only: it calls tools in no other way; off",
    "send_agents": "whether the model may send agents, each with a conversation of its own",
    "max_agents": "agents that run at once",
    "agent_steps": "most answers that all agents of a turn may give together",
    "ask_agents": "agents that one answer may send without asking you",
    "ask_agent_cost": "US dollars that the agents of an answer may cost, about, without asking you; 0 is no limit",
    "tool_choice": "whether requests leave calling to the model, forbid or demand it",
    "dedupe": "equal calls that only read run once",
    "finish_todos": "open to-do items keep a turn from completing",
    "never_parallel": "SERVER.TOOL patterns that never run beside another call of the same tool",
    "limits": "calls at once of a server or a SERVER.TOOL pattern",
    "approval_mode": "what runs without asking you",
    "max_steps": "most requests of a turn",
    "max_calls": "most calls of one answer that run",
    "max_parallel": "most calls at once",
    "max_price": "US dollars that a turn may cost; 0 is no limit",
    "max_turn_tokens": "tokens that a turn may use",
    "max_result_chars": "most characters of a result that the model reads",
    "background_after": "seconds until a call that still runs goes to the background",
    "call_timeout": "seconds without progress before a call times out; 0 is no limit",
    "timeout": "seconds that a whole turn may take; 0 is no limit",
    "approval_timeout": "seconds until a waiting call is denied; 0 is no limit",
    "question_timeout": "seconds until a server's question is cancelled; 0 is no limit",
    "system_prompt": "what the model is told before the conversation",
    "hooks": "programs that are asked before and after calls, in the form of others",
    "trace": "a file or a collector's URL that gets every turn and call as OpenTelemetry spans",
    "trace_contents": "spans hold what was said, and not only how long it took",
    "save_sessions": "conversations are kept",
    "mcp_config": "the file of MCP servers, in place of the usual ones",
    "mcp_registry": "where servers are looked for: official, or an address; nowhere until you set it",
    "groups": "your groups: a server that names others is off",
    "injected": "arguments filled in for tools that name them",
    "keys": "keys by the id of what they do",
    "providers": "endpoints of your own: base_url, headers, models, context_window",
    "agent_registry": "a file, or an address, where agents of others are looked for; nowhere until you set it",
    "agents": "agents of others, programs that speak the Agent Client Protocol: command, env, mode, model",
    "max_tokens": "most tokens of an answer",
    "temperature": "how freely the model writes, 0 to 2",
    "stop": "texts that end an answer",
    "effort": "how much the model thinks before it answers",
    "parallel_tool_calls": "whether requests allow several calls an answer, forbid them or say nothing",
    "cache": "whether requests are marked for the provider's cache",
    "extra_body": "goes into every request as it is",
    "notifications": "how you are told of what waits or ended while the terminal has no focus: bell, osc9, osc777",
    "window_title": "the window's title says what the console does",
    **{f"ui.{name}": str(field.description) for name, field in UiSettings.model_fields.items()},
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting. `value` is plain data, None where it is not set; `waiting` is the value in a file without trust."""

    name: str
    value: Any
    source: str  # "default", or who set it
    kind: Kind
    choices: tuple[str, ...]  # of a "choice"
    optional: bool  # whether it may be unset
    meaning: str
    waiting: str = ""

    @property
    def shown(self) -> str:
        return shown(self.value)


def setting_list(layered: LayeredSettings) -> list[Setting]:
    project, values, said = layered.project, layered.settings, layered.sources
    lines = project.lines if project is not None and not project.trusted else ()
    waiting = {name: value for name, _, value in (line.partition(" = ") for line in lines)}
    return [
        Setting(
            name,
            plain(attrgetter(name)(values)),
            said.get(name, "default"),
            *_shape_of(name),
            meaning,
            waiting.get(name, ""),
        )
        for name, meaning in MEANINGS.items()
    ]


def _shape_of(name: str) -> tuple[Kind, tuple[str, ...], bool]:
    """Return the kind of a setting, its choices, and whether it may be unset."""
    whole = UiSettings.model_json_schema() if name.startswith("ui.") else _schema()
    schema, optional, _ = json_schema.resolved(json_schema.properties(whole)[name.removeprefix("ui.")], whole)
    if named := json_schema.choices(schema):
        return "choice", tuple(map(str, named)), optional
    return _KINDS.get(json_schema.text(schema, "type"), "text"), (), optional


def plain(value: Any) -> Any:
    """Return a value as plain data; headers and environments, which may hold keys, are hidden."""
    if isinstance(value, BaseModel):
        fields = {name: plain(getattr(value, name)) for name in value.model_fields_set}
        for name in {"headers", "env"} & fields.keys():
            fields[name] = dict.fromkeys(fields[name], Redactor.HIDDEN)
        return fields
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [plain(item) for item in cast("tuple[Any, ...]", value)]
    return str(value) if isinstance(value, Path) else value


def shown(value: Any) -> str:
    match value:
        case None:
            return "not set"
        case bool():
            return "true" if value else "false"
        case list() | dict():
            return ", ".join(map(str, cast("list[Any]", value))) or "none"
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return " ".join(str(value).split())


@cache
def _schema() -> dict[str, Any]:
    return Settings.model_json_schema()


class OwnSettings:
    """The settings as a front end shows and changes them: read anew each time, written into the user's own file.

    `load` reads all layers anew; `apply` has a changed setting hold now and says whether it could. Both read or write
    files, as the methods do, so they are for a thread.
    """

    NEXT_START = "It holds from the next start on."

    def __init__(self, path: Path, load: Callable[[], LayeredSettings], apply: Callable[[str, Settings], bool]) -> None:
        self.path = path
        self._load = load
        self._apply = apply

    def read(self) -> Sequence[Setting]:
        return setting_list(self._load())

    def write(self, name: str, text: str) -> None:
        write_setting(self.path.resolve(), name, text)  # a link stays one

    def remove(self, name: str) -> bool:
        return remove_setting(self.path.resolve(), name)

    def take_effect(self, name: str) -> str:
        """Have a changed setting hold, and return "" where it does from now on; else the words say when it will, what
        outranks it, or what is wrong beside it."""
        try:
            layered = self._load()
        except ConfigError as error:
            return f"It can't hold before this is mended: {error.detail}"
        source = layered.sources.get(name, "default")
        if source not in ("default", str(self.path)):
            return f"Your file is changed, but {source} outranks it."
        return "" if self._apply(name, layered.settings) else self.NEXT_START

    def to_edit(self) -> Path:
        """Return the file that is broken, which may be the project's; else the user's own."""
        return error.path if (error := self._broken()) is not None else self.path

    def text(self, path: Path) -> str:
        """Return a file as it is written, "" where there is none. Raises ConfigError where it can't be read."""
        return disk.read_text(path) if path.exists() else ""

    def replace(self, path: Path, text: str) -> str:
        """Put another text in place of the file's; where a file was broken before, say what is wrong still, else "".

        Raises ConfigError for a text that would break the file, which is then as it was.
        """
        was_broken, before = self._broken(), self.text(path)
        file = path.resolve() if path == self.path else path  # your own link stays one
        if was_broken is None:
            with settings_file(path):
                parse_toml(text, path)
        _replace_file(file, text)
        try:
            self._load()
        except ConfigError as error:
            if was_broken is not None:
                return error.detail
            _replace_file(file, before)
            raise
        return ""

    def _broken(self) -> BrokenSettings | None:
        try:
            self._load()
        except BrokenSettings as error:
            return error
        except ConfigError:
            pass  # a flag or a variable, which no file mends
        return None


_YES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_ONE_KEY = {"keys", "limits", "injected", "extra_body"}  # tables whose names may hold dots
_NUMBERS = ("context_window", "max_tokens", "temperature")  # of a provider's table


def parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of a setting's name, as in `max_steps`, `limits.files` or `providers.local.base_url`. Raises
    UsageError for one that doesn't exist."""
    first, _, rest = name.partition(".")
    if first not in Settings.model_fields:
        import difflib  # only needed to word an error

        close = difflib.get_close_matches(first.lower(), Settings.model_fields, 1, 0.7)
        hint = f"Did you mean {close[0]}?" if close else "`fanout config list` shows them all."
        raise UsageError(f"there is no setting {one_line(first, 60)}.", hint)
    kind = _shape_of(first)[0]
    if bool(rest) != (kind == "table"):
        what = "is a table: name a key of it" if kind == "table" else "is no table"
        raise UsageError(f"{first} {what}.", f"As in {first}.NAME." if kind == "table" else "")
    if not rest:
        return (first,)
    return (first, rest) if first in _ONE_KEY else (first, *rest.split("."))


def write_setting(path: Path, name: str, text: str) -> Any:
    """Set `name` to the value that `text` says, and return it. Raises UsageError for a name or value that can't be, and
    ConfigError for a file that is broken or can't be written."""
    parts = parts_of(name)
    value = _read(parts, text)
    change(path, parts, value)
    return value


def remove_setting(path: Path, name: str) -> bool:
    """Take `name` out of the file, also one that is no setting; False when it isn't there. Raises as `write_setting`
    does."""
    try:
        parts = parts_of(name)
    except UsageError:
        parts = tuple(name.split("."))
        if _at(_read_file(path)[1], parts) is None:
            raise
    return change(path, parts, None)


def _read(parts: Sequence[str], text: str) -> Any:
    """Read a text as the value of a setting; the model judges whether it may be that."""
    kind = _shape_of(".".join(parts) if parts[0] == "ui" else parts[0])[0]
    text = text.strip()
    if kind == "bool":
        return _YES.get(text.lower(), text)
    if kind == "list":
        return [part.strip() for part in text.split(",") if part.strip()]
    if kind == "number" or parts[0] in ("limits", "injected", "extra_body") or parts[-1] in _NUMBERS:
        return _number(text)
    return text


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text.replace("_", ""))
        except ValueError:
            pass
    return text


def _read_file(path: Path) -> tuple[str, dict[str, Any]]:
    with settings_file(path):
        text = disk.read_text(path) if path.exists() else ""
        return text, parse_toml(text, path)


def change(path: Path, parts: Sequence[str], value: Any) -> bool:
    """Set what is named by its parts, a whole table say, or take it away for None; False where it isn't there. Raises
    as `write_setting` does."""
    import tomlkit  # 30 ms, and only when something is changed
    from tomlkit.exceptions import TOMLKitError

    text, before = _read_file(path)
    if value is not None:
        _check(parts, value)  # before the file is touched
    elif _at(before, parts) is None:
        return False
    try:
        document = tomlkit.parse(text)
        table = cast("dict[str, Any]", document)
        for part in parts[:-1]:
            table = cast("dict[str, Any]", table.setdefault(part, tomlkit.table(is_super_table=part != parts[-2])))
        if value is None:
            del table[parts[-1]]
        else:
            table[parts[-1]] = value
        new = tomlkit.dumps(document)
    except TOMLKitError as error:
        why = f"{path}: {'.'.join(parts)} can't be changed from here: {error}"
        raise ConfigError(why, "Change it there.") from None
    if _at(parse_toml(new, path), parts) != value:
        raise ConfigError(f"{path}: {'.'.join(parts)} can't be changed from here", "Change it there by hand.")
    _replace_file(path, new)
    return True


def _replace_file(path: Path, text: str) -> None:
    """Put another text in place of a settings file's. Raises ConfigError, also for a file that its owner has protected:
    the folder alone would let it be replaced."""
    if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
        raise ConfigError(f"{path} is write-protected", "Nothing was changed. `chmod u+w` on it lets it be.")
    disk.write_private(path, text)


def _check(parts: Sequence[str], value: Any) -> None:
    """Raise UsageError where the setting can't be that; faults of other settings in the file are not told of here."""
    nested: Any = value
    for part in reversed(parts[1:]):
        nested = {part: nested}
    try:
        Settings.model_validate({parts[0]: nested})
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        if problem["type"] == "extra_forbidden":
            raise UsageError(f"there is no setting {one_line('.'.join(parts), 80)}.") from None
        shown = one_line(value if isinstance(value, str) else str(value), 60)
        raise UsageError(f"{'.'.join(parts)} {in_words(problem)}; not {shown}.") from None


def _at(values: Any, parts: Sequence[str]) -> Any:
    for part in parts:
        values = cast("dict[str, Any]", values).get(part) if isinstance(values, dict) else None
    return values

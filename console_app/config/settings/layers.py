"""Gathers settings from flags, environment, project file, user file and defaults, and words what is wrong in them.

Each layer is a plain table; they are merged, then validated once, and an error is traced back to the layer that said
the value. Of a project's `.fanout/config.toml`, which anyone may have written, only what tightens counts at once, the
rest once you trusted it. So does a limit of time, money or size, for one that is tiny ends every turn at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from console_app.config.files import PROJECT_FOLDER, Paths, disk, lines_of, parse_toml, position, trusted
from console_app.config.files.trusted import is_trusted
from console_app.config.settings.model import Rules, Settings, ToolRule
from console_app.domain import ApprovalMode, CallPolicy, ConfigError, UsageError, one_line
from console_app.domain import schema as json_schema
from console_app.records import dataclass, field, replace

_PREFIX = "FANOUT_"
_TABLES = {"agents", "extra_body", "hooks", "keys", "limits", "providers", "ui"}
_OLD_NAMES = {"agents": "send_agents"}  # of settings, where the value is a text
_MOST_FAULTS = 8  # of a project's file that are named
_OTHER_VARIABLES = {
    *("FANOUT_HOME", "FANOUT_FILES", "FANOUT_ORDERS", "FANOUT_PAGE", "FANOUT_SEARCH_URL", "FANOUT_SERVE_TOKEN"),
    *("FANOUT_SHELL_NETWORK", "FANOUT_SHELL_READS", "FANOUT_SHELL_SANDBOX"),
}
_NEVER_FROM_A_PROJECT = {
    "hooks": "it could take yours away; those of a project stand in .claude/settings.json",
    "keys": "it could put an approval under a key that you press for something else",
}
_TAKES = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false"),
    **dict.fromkeys(("dict_type", "model_type"), "a table"),
    "tuple_type": "a list",
}


class BrokenSettings(ConfigError):
    """The settings file `path` can't be used as it is."""

    def __init__(self, detail: str, hint: str, path: Path) -> None:
        super().__init__(detail, hint)
        self.path = path


@contextmanager
def settings_file(path: Path) -> Generator[None]:
    """Raise BrokenSettings for a ConfigError of the block, with the command that opens the file."""
    try:
        yield
    except ConfigError as error:
        option = " --project" if path.parent.name == PROJECT_FOLDER else ""
        opens = f"`fanout config edit{option}` opens it."
        raise BrokenSettings(error.detail, f"{error.hint} {opens}".lstrip(), path) from None


@dataclass(frozen=True, slots=True)
class _Layer:
    """A source of settings. `text` is that of the file, to find keys in."""

    name: str
    values: Mapping[str, Any]
    kind: Literal["flag", "environment", "project", "user"]
    text: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])  # new names by the old ones that it has


@dataclass(frozen=True, slots=True)
class LayeredSettings:
    """The settings, the rules of all layers, and for each setting that isn't a default the layer that said it."""

    settings: Settings
    rules: tuple[ToolRule, ...]
    sources: Mapping[str, str]
    project: ProjectFile | None = None
    renamed: tuple[str, ...] = ()  # lines on settings that were said by an older name

    @classmethod
    def load(
        cls,
        paths: Paths,
        *,
        cwd: Path,
        flags: Mapping[str, Any],
        environ: Mapping[str, str],
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        forgiving: bool = False,
    ) -> LayeredSettings:
        """Read every layer; `allow` and `deny` are the rules of the command line. Raises ConfigError for the first
        thing wrong.

        With `forgiving`, what is wrong in a project's file that nobody trusted is left out instead.
        """
        try:
            own = Rules(allow=tuple(allow), deny=tuple(deny))
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            raise UsageError(f"--{problem['loc'][0]}-tool: {problem['msg'].removeprefix('Value error, ')}") from None
        rules = _tool_rules(own, "the command line")
        said = {name: value for name in _names_of_variables() if (value := environ.get(_PREFIX + name.upper()))}
        layers = [
            _Layer("the command line", {name: value for name, value in flags.items() if value is not None}, "flag"),
            _with_new_names(_Layer("the environment", said, "environment")),
        ]
        files, project = _files(paths, cwd, forgiving=forgiving)
        layers += files
        renamed = [
            f"{layer.name}: the setting {old} is called {new} now, and was read as that"
            for layer in layers
            for old, new in layer.renamed.items()
        ]
        sources: dict[str, str] = {}
        merged: dict[str, Any] = {}
        for layer in layers:  # strongest first
            values = dict(layer.values)
            if "rules" in values:
                rules += _tool_rules(_rules_of(layer, values.pop("rules")), layer.name)
            for name, value in values.items():
                sources.setdefault(name, layer.name)
                if isinstance(value, dict):
                    for key in cast("dict[str, Any]", value):
                        sources.setdefault(f"{name}.{key}", layer.name)
            merged = _merge(values, merged)
        settings = _valid(merged, layers)
        settings.check_fallbacks()
        user = next((layer for layer in layers if layer.kind == "user"), None)
        if user and sources.get("base_url") == user.name and sources.get("model") not in (None, user.name):
            # The base URL of the user's file is for the provider of its model, and another model was chosen.
            meant = settings.model_copy(update={"model": user.values.get("model")})
            providers = settings.known_providers()
            if meant.chosen_provider(providers) != settings.chosen_provider(providers):
                del sources["base_url"]
                settings = settings.model_copy(update={"base_url": None})
        return cls(settings, tuple(rules), sources, project, tuple(renamed))

    @property
    def notes(self) -> tuple[str, ...]:
        return (self.project.note,) if self.project is not None and self.project.note else ()

    @property
    def wrong(self) -> tuple[str, ...]:
        """Lines that name settings by an older name, and what in a project's untrusted file can't be used."""
        return (*self.renamed, *([self.project.wrong] if self.project is not None and self.project.wrong else []))


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Return the variables that begin like ours and name no setting: most likely typos."""
    known = {_PREFIX + name.upper() for name in _names_of_variables()} | _OTHER_VARIABLES
    return sorted(name for name in environ if name.startswith(_PREFIX) and name not in known)


def _names_of_variables() -> list[str]:
    return [*(name for name in Settings.model_fields if name not in _TABLES), *_OLD_NAMES]


def _files(paths: Paths, cwd: Path, *, forgiving: bool) -> tuple[list[_Layer], ProjectFile | None]:
    """Read the project's layer as far as it counts, then the user's."""
    user = list[_Layer]()
    if paths.settings.exists():
        with settings_file(paths.settings):
            user.append(_read(paths.settings, "user"))
            # What is wrong in it is told also where a stronger layer stands in its place.
            _rules_of(user[0], user[0].values.get("rules", {}))
            _valid(_without(user[0].values, "rules"), user)
    path = Paths.project_settings(cwd)
    if disk.nothing_at(path) or os.path.realpath(path) == os.path.realpath(paths.settings):
        return user, None
    with settings_file(path):
        try:
            layer, faults = _usable(_read(path, "project"))
        except ConfigError as error:
            if not forgiving:
                raise
            return user, ProjectFile(str(path), False, (), f"{error.detail}; nothing in it counts.")
        trusted = is_trusted(paths, path, layer.text)
        if faults and (trusted or not forgiving):
            raise faults[0]
    wrong = f"{path}: {_named(path, faults)}; none of that counts." if faults else ""
    at_once, by_trust = divided(layer.values, _valid(_without(user[0].values, "rules") if user else {}, user))
    counts = replace(layer, values=_merge(by_trust, at_once) if trusted else at_once)
    return [counts, *user], ProjectFile(str(path), trusted, tuple(lines_of(by_trust)), wrong)


def project_faults(path: Path) -> str:
    """Say what is wrong in a project's settings; "" for nothing. Raises ConfigError where they can't be read."""
    return _named(path, _usable(_read(path, "project"))[1])


def _named(path: Path, faults: Sequence[ConfigError]) -> str:
    named = "; ".join(f"line {fault.detail.removeprefix(f'{path}:')}" for fault in faults[:_MOST_FAULTS])
    return named + (f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else "")


def _read(path: Path, kind: Literal["project", "user"]) -> _Layer:
    text = disk.read_text(path)
    return _with_new_names(_Layer(str(path), parse_toml(text, path), kind, text))


def _with_new_names(layer: _Layer) -> _Layer:
    """Return a layer with the present names of settings in place of older ones."""
    old = {name: new for name, new in _OLD_NAMES.items() if isinstance(layer.values.get(name), str)}
    values = {old.get(name, name): value for name, value in layer.values.items()}
    return replace(layer, values=values, renamed=old) if old else layer


def _usable(layer: _Layer) -> tuple[_Layer, list[ConfigError]]:
    """Return a project's layer without the parts that are wrong, and a fault in words for each of them.

    A rule that can be read counts beside one that can't. Faults of rules that deny come first: what they name is not
    forbidden.
    """
    values, faults = deepcopy(dict(layer.values)), list[ConfigError]()
    for name, why in _NEVER_FROM_A_PROJECT.items():
        if values.pop(name, None) is not None:
            what = f"{_place(layer, (name,))}: a project file can't set {name}, {why}"
            faults.append(ConfigError(what, "Put it into your own config.toml (`fanout config path` says where)."))
    models: tuple[tuple[type[BaseModel], tuple[str, ...]], ...] = ((Rules, ("rules",)), (Settings, ()))
    for model, above in models:
        while True:
            try:
                model.model_validate(values.get("rules", {}) if above else _without(values, "rules"))
                break
            except ValidationError as error:
                left = replace(layer, values=deepcopy(values))
                found = {_written_key((*above, *one["loc"]), [left]): one for one in error.errors()}
                for key in sorted(found, key=lambda key: key[:2] != ("rules", "deny")):
                    named = len(faults) < _MOST_FAULTS  # the others are only counted: thousands would take minutes
                    faults.append(_worded(found[key], model, [left], above) if named else faults[0])
                # The last of a list goes first: what stands behind it would move.
                for key in sorted(found, key=lambda key: [f"{part:>9}" for part in key], reverse=True):
                    _leave_out(values, key)
    return replace(layer, values=values), faults


def _without(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def _leave_out(values: dict[str, Any], key: Sequence[str | int]) -> None:
    if not _has(values, key):
        key = key[:1] if _has(values, key[:1]) else ()
    if not key:  # the settings as a whole
        rules = values.pop("rules", {})
        values.clear()
        values["rules"] = rules
        return
    holder: Any = values
    for part in key[:-1]:
        holder = holder[part]
    del holder[key[-1]]


def _valid(values: Mapping[str, Any], layers: Sequence[_Layer]) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise _worded(error.errors()[0], Settings, layers) from None


def _rules_of(layer: _Layer, table: Any) -> Rules:
    try:
        return Rules.model_validate(table)
    except ValidationError as error:
        raise _worded(error.errors()[0], Rules, [layer], ("rules",)) from None


def _tool_rules(rules: Rules, source: str) -> list[ToolRule]:
    actions: tuple[Literal["deny", "ask", "allow"], ...] = ("deny", "ask", "allow")
    return [ToolRule(action=one, pattern=text, source=source) for one in actions for text in getattr(rules, one)]


def _merge(weaker: Mapping[str, Any], stronger: Mapping[str, Any]) -> dict[str, Any]:
    """Return both together; tables are merged key by key."""
    result = dict(weaker)
    for name, value in stronger.items():
        below = result.get(name)
        if isinstance(value, dict) and isinstance(below, dict):
            result[name] = _merge(cast("dict[str, Any]", below), cast("dict[str, Any]", value))
        else:
            result[name] = value
    return result


def _worded(
    problem: ErrorDetails, model: type[BaseModel], layers: Sequence[_Layer], above: tuple[str, ...] = ()
) -> ConfigError:
    """Return a problem as one line: its place, what is wrong, and what was perhaps meant."""
    key = _written_key((*above, *problem["loc"]), layers)
    layer = next((layer for layer in layers if _has(layer.values, key)), layers[0])
    name = ".".join(str(part) for part in key)
    if problem["type"] == "extra_forbidden":
        unknown = f'{_place(layer, key)}: unknown key "{one_line(name, 80)}"'
        return ConfigError(unknown, _nearest(key, above, model))
    if problem["type"] == "missing":
        name = ".".join(map(str, (*above, *problem["loc"])))
    return ConfigError(f"{_place(layer, key)}: {one_line(name, 80)} {in_words(problem)}")


def in_words(problem: ErrorDetails) -> str:
    """Return what is wrong with a value, to follow its name: "takes a whole number", "should be 'parallel'"."""
    if problem["type"] == "missing":
        return "is missing"
    if takes := _TAKES.get(problem["type"]):
        return f"takes {takes}"
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return message[:1].lower() + message[1:]


def _written_key(key: tuple[str | int, ...], layers: Sequence[_Layer]) -> tuple[str | int, ...]:
    """Return the longest part of `key` that a layer has: pydantic adds to it, as the branch of a union."""
    for length in range(len(key), 0, -1):
        if any(_has(layer.values, key[:length]) for layer in layers):
            return key[:length]
    return key


def _has(values: Any, key: Sequence[str | int]) -> bool:
    for part in key:
        if isinstance(values, dict) and part in values:
            values = cast("dict[Any, Any]", values)[part]
        elif isinstance(values, list) and isinstance(part, int):
            values = cast("list[Any]", values)[part]
        else:
            return False
    return True


def _place(layer: _Layer, key: Sequence[str | int]) -> str:
    match layer.kind:
        case "flag":
            return f"--{str(key[0]).replace('_', '-')}"
        case "environment":
            return _PREFIX + str(key[0]).upper()
        case "project" | "user":
            line, column = position(layer.text, key)
            return f"{layer.name}:{line}:{column}"


def _nearest(key: tuple[str | int, ...], above: tuple[str, ...], model: type[BaseModel]) -> str:
    import difflib  # only needed to word an error

    # The keys of the table are found by walking the schema (`providers.NAME.models.NAME`).
    table = schema = model.model_json_schema()
    for name in key[len(above) : -1]:
        there = json_schema.properties(table)
        by_pattern = [one for word, _, one in json_schema.parts(table) if word == "patternProperties"]
        named = there.get(str(name)) or json_schema.others(table) or next(iter([*by_pattern, *there.values()]), table)
        table = json_schema.followed(json_schema.as_schema(named), schema)
    known = [*json_schema.properties(table), *(["rules"] if not above and len(key) == 1 else [])]
    close = difflib.get_close_matches(str(key[-1]).lower(), known, 1, 0.7)
    return f'Did you mean "{close[0]}"?' if close else f"Known here: {', '.join(sorted(known))}."


_POLICIES = (CallPolicy.PARALLEL, CallPolicy.SEQUENTIAL, CallPolicy.SINGLE)  # the loosest first


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A project's settings. `lines` are those that take trust, as `name = value`; `wrong` tells of those that can't be
    used."""

    path: str
    trusted: bool
    lines: tuple[str, ...]
    wrong: str = ""

    @property
    def note(self) -> str:
        """A line for the user at the start; "" where nothing takes trust."""
        if not self.lines:
            return ""
        if self.trusted:
            return f"{self.path}, which you trusted, sets: {one_line(' · '.join(self.lines), 600)}"
        names = ", ".join(dict.fromkeys(line.partition(" = ")[0] for line in self.lines))
        return (
            f"{self.path} is in force only where it tightens: you have not trusted it as it is now, and it sets "
            f"{one_line(names, 300)}. To see that and say yes: {trusted.IN_A_SHELL}."
        )


_HARMLESS: Mapping[str, Callable[[Any, Any], bool]] = {
    "theme": lambda value, below: True,
    "never_parallel": lambda value, below: True,  # added to yours
    "dispatch": lambda value, below: value == "batch",
    # Without a policy a protocol may have a reason for the strictest one.
    "policy": lambda value, below: (
        value is CallPolicy.SINGLE or (below is not None and _POLICIES.index(value) >= _POLICIES.index(below))
    ),
    # Beside `plan`, which denies what may change anything, asking is looser.
    "approval_mode": lambda value, below: value is ApprovalMode.ASK and below is not ApprovalMode.PLAN,
}


def divided(values: Mapping[str, Any], below: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide a project's valid table into what counts at once and what takes trust. `below` are the settings without
    it."""
    said = Settings.model_validate({name: value for name, value in values.items() if name != "rules"})
    at_once: dict[str, Any] = {}
    by_trust: dict[str, Any] = {}
    for name, value in values.items():
        if name == "rules":
            for key, patterns in value.items():
                (by_trust if key == "allow" else at_once).setdefault(name, {})[key] = patterns
        else:
            now = getattr(said, name)
            harmless = now == getattr(below, name) or (name in _HARMLESS and _HARMLESS[name](now, getattr(below, name)))
            (at_once if harmless else by_trust)[name] = value
    if "never_parallel" in at_once:
        at_once["never_parallel"] = [*below.never_parallel, *said.never_parallel]
    return at_once, by_trust

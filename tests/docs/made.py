"""The pages that are made from the code: keys, settings, commands, outputs and dialects. `make docs` writes them."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from console_app.command_line import COMMANDS, CONSOLE
from console_app.command_line.commands import EXIT_CODES
from console_app.command_line.help_text import help_of, program
from console_app.command_line.json_outputs import OUTPUTS, schema
from console_app.config.settings import MEANINGS, AgentSettings, ModelSettings, ProviderSettings, Settings
from console_app.config.settings.layers import _TABLES  # pyright: ignore[reportPrivateUsage]
from console_app.config.settings.model import Rules, UiSettings
from console_app.config.settings.own_settings import plain
from console_app.domain.events import BaseEvent
from console_app.domain.settings import Sampling
from console_app.tui.main_screen.over.help import HelpScreen, KeySection
from tests.docs import dialects
from tests.tui import parts

FOLDER = Path(__file__).parents[2] / "docs"
_MADE = "<!-- Made from the code: `make docs` writes this page. -->"


def pages() -> dict[str, str]:
    """Every page and schema that is made, by its file in `docs/`."""
    makers = {"keys.md": _keys, "configuration.md": _configuration, "commands.md": _commands, "outputs.md": _outputs}
    schemas = {_schema_file(name): "".join(_folded(schema(name))) + "\n" for name in OUTPUTS}
    written = {name: "\n".join(make()) + "\n" for name, make in makers.items()}
    return written | schemas | {"dialects.md": dialects.page()}


def _schema_file(name: str) -> str:
    """That of a version stays when the next one comes."""
    return f"schemas/{name}-{OUTPUTS[name].version}.json"


def _folded(value: Any, indent: str = "") -> Iterator[str]:
    """JSON of which each value that fits stands on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict) or len(indent + flat) <= 118:
        yield flat
        return
    deeper = indent + "  "
    for at, (name, inner) in enumerate(value.items()):
        yield f"{',' if at else '{'}\n{deeper}{json.dumps(name)}: "
        yield from _folded(inner, deeper)
    yield f"\n{indent}}}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _code(text: str) -> str:
    """Code in a cell of a table."""
    return f"`{text}`".replace("|", "\\|")


# --------------------------------------------------------------------- keys


async def live_help() -> list[KeySection]:
    """Return the help of a console that was just opened: the keys by place, and the commands as the last section."""
    with tempfile.TemporaryDirectory() as folder:
        app = parts.app(Path(folder))
        async with app.run_test() as pilot:
            await pilot.press("f1")
            await parts.until(pilot, lambda: isinstance(app.screen, HelpScreen))
            screen = app.screen
            assert isinstance(screen, HelpScreen)
            return list(screen._sections)  # pyright: ignore[reportPrivateUsage]


def _keys() -> Iterator[str]:
    *sections, commands = asyncio.run(live_help())
    yield from ("# Keys and slash commands", "", _MADE, "")
    yield "The keys of the console by place, as F1 shows them. The last column names them in your settings:"
    yield from (
        "",
        "```toml",
        "[keys]",
        '"panel.cancel" = "x,delete"      # keys by their names, commas between',
        "```",
    )
    for section in sections:
        yield from ("", f"## {section.title}", "", "| key | does | in `[keys]` |", "|---|---|---|")
        for keys, what, ids in _joined(section):
            shown = [ids[0], ids[-1]] if len(ids) > 4 else ids
            named = (" … " if len(ids) > 4 else " · ").join(map(_code, shown))
            yield f"| {' · '.join(_code(key) for key in keys.split(' · '))} | {_cell(what)} | {named} |"
    yield from (
        "",
        "## Slash commands",
        "",
        "Type `/` in the prompt; Tab completes.",
        "",
        "| type | does |",
        "|---|---|",
    )
    yield from (f"| {_code(name)} | {_cell(about)} |" for name, about in commands.keys)


def _joined(section: KeySection) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Each key with what it does and its names. Keys whose names differ in a digit are one row, as are equal names."""
    rows = [(keys, what, ids) for (keys, what), ids in zip(section.keys, section.ids, strict=True)]
    for _, group in groupby(rows, lambda row: (re.sub(r"\d", "", row[2][0]), len(row[2]))):
        numbered = list(group)
        keys, what, ids = numbered[0]
        if len(numbered) == 1:
            yield keys, what, ids
        elif numbered[-1][2] == ids:
            yield keys, ", or ".join(does for _, does, _ in numbered), ids
        else:
            names = [one for _, _, names in numbered for one in names]
            yield f"{keys} … {numbered[-1][0]}", f"{what} to {numbered[-1][1]}", names


# ---------------------------------------------------------- configuration


def _configuration() -> Iterator[str]:
    yield from ("# Configuration reference", "", _MADE, "")
    yield (
        "The first of these counts: the command line, `FANOUT_<SETTING>` of the environment, the project's\n"
        "`.fanout/config.toml` ([within bounds](security.md#what-a-rule-an-approval-and-a-trusted-file-stand-for)),\n"
        "your own `config.toml`. `fanout config show` lists settings with their sources, `fanout config path`\n"
        "the files, `fanout config validate` faults. Times are seconds, and 0 is no limit."
    )
    yield from ("", "## Settings", "")
    yield from _table("setting", Settings, Sampling)
    yield from ("", "## `[ui]`", "")
    yield from _table("setting", UiSettings, BaseModel)
    yield from ("", "## What requests say", "", "At the top for all models, in the tables below for some.", "")
    yield from _table("setting", Sampling, BaseModel)
    yield from (
        "",
        "## `[providers.NAME]`",
        "",
        "An endpoint; all that requests say can stand here too. A table of `openai`, `openai-responses`,",
        "`anthropic` or `ollama` changes only the keys that it names.",
        "",
    )
    yield from _table("key", ProviderSettings, Sampling)
    yield from (
        "",
        '## `[providers.NAME.models."MODEL"]`',
        "",
        f"One model of it: all that requests say, and {', '.join(map(_code, _of_a_model()))} as above.",
    )
    yield from ("", "## `[agents.NAME]`", "", "[An agent of others](agents.md#agents-of-others).", "")
    yield from _table("key", AgentSettings, BaseModel)
    yield from (
        "",
        "## `[rules]`",
        "",
        f"{', '.join(map(_code, Rules.model_fields))}: lists of [rules](permissions.md#rules).",
    )
    tables = ", ".join(_code(name) for name in sorted(_TABLES))
    yield from (
        "",
        "## In the environment",
        "",
        f"Every setting but the tables ({tables}) is `FANOUT_` and its name in",
    )
    yield "capitals: `FANOUT_MODEL=ollama/qwen3`. Lists have commas between. `FANOUT_HOME` is one folder for all"
    yield "files of Fanout."


def _of_a_model() -> list[str]:
    """The keys that a model's table has beside what requests say."""
    return [name for name in ModelSettings.model_fields if name not in Sampling.model_fields]


def _table(what: str, model: type[BaseModel], base: type[BaseModel]) -> Iterator[str]:
    yield from (f"| {what} | values | default | means |", "|---|---|---|---|")
    yield from _rows(model, base)


def _rows(model: type[BaseModel], base: type[BaseModel]) -> Iterator[str]:
    shape = TypeAdapter[Any](model).json_schema(mode="validation")
    for name, field in model.model_fields.items():
        if name in base.model_fields:
            continue
        said = shape["properties"][name]
        default = None if field.is_required() else field.get_default(call_default_factory=True, validated_data={})
        shown = "" if plain(default) in (None, [], {}) else _code(json.dumps(plain(default)))
        means = field.description or MEANINGS.get(name, "")
        yield f"| {_code(name)} | {_type(said, shape)} | {shown} | {_cell(means)} |"


def _type(said: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    """A type of a JSON schema in words."""
    if ref := said.get("$ref"):
        name = ref.rpartition("/")[2]
        target = whole["$defs"][name]
        return _type(target, whole) if "enum" in target or "properties" not in target else name
    if "const" in said:
        return _code(json.dumps(said["const"]))
    if "enum" in said:
        return " ".join(_code(json.dumps(value)) for value in said["enum"])
    for key in ("anyOf", "oneOf"):
        if key in said:
            kinds = dict.fromkeys(_type(one, whole) for one in said[key] if one.get("type") != "null")
            null = any(one.get("type") == "null" for one in said[key]) and whole.get("$comment")
            return " or ".join([*kinds, *(["null"] if null else [])])
    kind = said.get("type", "anything")
    if kind == "array":
        items = said.get("items")
        return f"list of {_type(items, whole)}" if items else "list"
    if kind == "object":
        inner = said.get("additionalProperties")
        return f"table of {_type(inner, whole)}" if isinstance(inner, dict) and inner else "table"
    return {"string": "text", "boolean": "true or false", "integer": "whole number"}.get(kind, str(kind))


# --------------------------------------------------------------- commands


SHARED = 2  # helps that say an option, from which on it stands in one place
USUAL = ("--cwd", "--debug", "--log-file")


def _commands() -> Iterator[str]:
    yield from ("# Commands", "", _MADE, "")
    yield "What `--help` says, in short; `fanout man` is the whole as a manual. A prompt is quoted, or stands behind"
    yield "`--`: any other word that is no command is an error, and never sent to a model."
    yield from (
        "",
        "## Exit codes",
        "",
        "| code | means |",
        "|---|---|",
        *(f"| {code} | {means} |" for code, means in EXIT_CODES),
    )
    helps: dict[str, str] = {"## fanout": help_of(CONSOLE)}
    for command in COMMANDS.values():
        helps[f"## {program(command)}"] = help_of(command)
        helps |= {f"### {program(command, action)}": help_of(command, action) for action in command.actions}
    told = Counter(line for text in helps.values() for line in text.splitlines() if _OPTION.match(line))
    shared: dict[str, str] = {}
    for line, count in told.most_common():  # an option in the words that most helps have for it
        if count >= SHARED and (match := _OPTION.match(line)) and match[1] not in shared.values():
            shared[line] = match[1]
    shared = {line: shared[line] for line in told if line in shared}
    usual = {line for line, option in shared.items() if option in USUAL}
    without = [
        program(one)
        for one in COMMANDS.values()
        if not one.actions and not usual <= set(helps[f"## {program(one)}"].splitlines())
    ]
    yield from ("", "## Options of many commands", "")
    yield f"`also` names them, but for {', '.join(map(_code, USUAL))}, which every command takes"
    yield f"except {', '.join(map(_code, without))}."
    yield from ("", "```text", *shared, "```")
    told_with: dict[str, str] = {}
    for title, text in helps.items():
        name = title.lstrip("# ")
        lines = _without_parts(text.rstrip().splitlines())
        own = [line for line in lines if line not in shared]
        also = " ".join(shared[line] for line in lines if line in shared and line not in usual)
        as_above = told_with.setdefault(also, name)
        if also:
            said = f"as {as_above}" if as_above != name and len(also) > len(as_above) + 40 else also
            own[_end_of_options(own) : 0] = textwrap.wrap(
                f"also: {said}", 96, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
            )
        text = re.sub(r"^usage: |^options:(?:\n|\Z)", "", "\n".join(own), flags=re.MULTILINE).replace(" [options]", "")
        text = text.removeprefix(f"{name}\n\n")  # its title says so
        yield from ("", title, "", "```text", text.rstrip(), "```")


def _without_parts(lines: list[str]) -> list[str]:
    """A help without its list of commands or actions, and without the exit codes: both stand on the page anyway."""
    parts = "\n".join(lines).split("\n\n")
    return "\n\n".join(
        part for part in parts if not part.startswith(("commands (", "actions (", "exit codes"))
    ).splitlines()


_OPTION = re.compile(r"  (?:-\w, |    )(--[\w-]+)\b.*")


def _end_of_options(lines: list[str]) -> int:
    """The place behind the last option and what goes on below it."""
    start = next(at for at, line in enumerate(lines) if line.startswith("options"))
    return next((at for at in range(start, len(lines)) if not lines[at]), len(lines))


# ---------------------------------------------------------------- outputs


def _outputs() -> Iterator[str]:
    yield from ("# JSON outputs", "", _MADE, "")
    yield "Whatever Fanout prints as JSON has a schema (draft 2020-12) with types and meanings: `fanout schema` lists"
    yield "them, and with a name prints one; each is a file of this folder too. A field may be added at any time; one"
    yield "that goes or means something else raises the version, with which the schema's `$id` ends."
    for name, printed in OUTPUTS.items():
        whole = schema(name)
        yield from ("", f"## {name}", "")
        yield f"[Version {printed.version}]({_schema_file(name)}): {printed.by}."
        if "properties" in whole:
            yield from ("", f"{', '.join(_fields(whole, whole['properties']))}.")
        if name == "event":
            common = BaseEvent.model_fields
            yield from ("", f"In every event: {', '.join(map(_code, common))}.", "", "| event | fields |", "|---|---|")
            for shape in (one for _, one in sorted(whole["$defs"].items()) if "seq" in one.get("properties", ())):
                kind, *fields = _fields(shape, [field for field in shape["properties"] if field not in common])
                yield f"| {kind} | {', '.join(fields)} |"


def _fields(shape: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    """The fields with what the schema says of them, an event's `type` by its value."""
    for name in names:
        said = shape["properties"][name]
        about = _cell(said.get("description", "").rstrip("."))
        what = str(said["const"]) if name == "type" and "const" in said else name
        yield f"{_code(what)} ({about})" if about else _code(what)

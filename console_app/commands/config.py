"""`fanout config`: where the files are, every setting with the layer that said it, and changes one by one."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from console_app import wiring
from console_app.command_line import json_outputs
from console_app.commands.standard_output import write_out
from console_app.config.files import Paths, disk
from console_app.config.secrets import Redactor, child_environment
from console_app.config.settings import MEANINGS, LayeredSettings, own_settings, unknown_variables
from console_app.domain import ConfigError, UsageError, one_line, plural, safe_text, visible
from console_app.headless import Exit
from console_app.search_path import search_path
from console_app.wiring import Setup

_EDITORS = ("nano", "vim", "vi")


def config(arguments: Namespace) -> int:
    match arguments.action:
        case "edit":
            cwd, paths = wiring.working_folder(arguments), Paths.find()
            path = _edit(paths, cwd, project=arguments.project)
            # What is wrong in it now is said; in a project's file that nobody trusted, only where that one was edited.
            wiring.read_settings(paths, cwd, arguments, os.environ, forgiving=not arguments.project)
            _print(str(path))
            return Exit.DONE
        case "set" | "unset":
            return _change_config(arguments)
        case _:
            return _printed(wiring.prepare(arguments))


def _printed(setup: Setup) -> int:
    as_json: bool = getattr(setup.arguments, "json", False)  # what changes something prints none
    match setup.arguments.action:
        case "list":
            lines = _listed(setup.layered, as_json=as_json)
        case "get":
            value = _value(setup.layered, *setup.arguments.words)
            lines = [json.dumps(value, ensure_ascii=False) if as_json else own_settings.shown(value)]
        case "path":
            places = _places(setup.paths, setup.cwd)
            lines = [safe_text.json_line(places.model_dump())] if as_json else _place_lines(places)
        case "show":
            choice = wiring.model_source(setup).choose()
            settings = _settings(setup.layered, choice.name, choice.why, setup.arguments.words)
            lines = [safe_text.json_line(settings.model_dump())] if as_json else _setting_lines(settings)
        case _:
            return _validate(setup)
    for line in lines:
        _print(setup.redactor.clean(line))
    return Exit.DONE


def _change_config(arguments: Namespace) -> int:
    """Set or unset a setting, say so, and what is wrong still: a fault elsewhere keeps nobody from it."""
    cwd, paths, redactor = wiring.working_folder(arguments), Paths.find(), Redactor.of(os.environ)
    path, name = _file(paths, cwd, project=arguments.project), str(arguments.words[0])
    file = path if arguments.project else path.resolve()  # your own link stays one
    if arguments.action == "unset":
        there = own_settings.remove_setting(file, name)
        said = f"{name} is no longer set in {path}" if there else f"{path} does not set {name}"
    else:
        if name == "theme":
            _check_theme(arguments.words[1], paths)
        own_settings.write_setting(file, name, arguments.words[1])
        said = f"{name} is set in {path}"
    try:
        layered = wiring.read_settings(paths, cwd, arguments, os.environ)
    except ConfigError as error:
        _print(redactor.clean(said))
        _complain(redactor.clean(error.line))
    else:
        _print(redactor.clean(said + (_outranked(layered, name, path) if arguments.action == "set" else "")))
    return Exit.DONE


def _check_theme(name: str, paths: Paths) -> None:
    from console_app.tui import load_themes

    there = [entry.theme.name for entry in load_themes(paths.theme_dirs)[0]]
    if name not in there:
        raise UsageError(f"there is no theme {one_line(name, 40)}.", f"There are: {', '.join(there)}.")


def _validate(setup: Setup) -> int:
    choice, chosen = wiring.model_source(setup).choose(), wiring.choose_servers(setup)
    project = setup.layered.project
    untrusted = setup.layered.notes if project is not None and not project.trusted else ()
    waiting = project.lines if untrusted and project is not None else ()
    unknown = (f"{name} is no setting" for name in unknown_variables(setup.environ))
    problems = (*setup.layered.wrong, *untrusted, *chosen.notes, *unknown)
    if setup.arguments.json:
        report = json_outputs.ValidationReport(ok=not problems, problems=problems, waiting=tuple(waiting))
        _print(setup.redactor.clean(safe_text.json_line(report.model_dump())))
        return Exit.USAGE if problems else Exit.DONE
    for problem in problems:
        _complain(setup.redactor.clean(problem))
    for line in waiting:
        _print(setup.redactor.clean(f"waits for trust: {line}"))
    if not problems:
        _print(f"Nothing is wrong. {choice.name} answers; {plural(len(chosen.servers), 'server')} in {chosen.where}.")
    return Exit.USAGE if problems else Exit.DONE


def _places(paths: Paths, cwd: Path) -> json_outputs.PlacesReport:
    projects = Paths.project_mcp(cwd)
    named = {
        "settings": paths.settings,
        "servers": paths.mcp,
        "themes": paths.themes,
        "project settings": Paths.project_settings(cwd),
        "project servers": next((path for path in projects if os.path.exists(path)), projects[0]),
        "trust": paths.trust,
        "files of tools": paths.files,
        "log": paths.log,
        "logs of servers": paths.server_logs,
        "prompt history": paths.history,
        "sessions": paths.sessions,
        "bundled themes": Paths.bundled("themes"),
        "bundled mcp": Paths.bundled("mcp.json"),
    }
    return json_outputs.PlacesReport(
        places=tuple(
            json_outputs.PlaceEntry(name=name, path=safe_text.encodable(str(path)), exists=os.path.exists(path))
            for name, path in named.items()
        )
    )


def _place_lines(report: json_outputs.PlacesReport) -> Iterator[str]:
    for place in report.places:
        yield f"{place.name:<17} {place.path}{'' if place.exists else '  (not there)'}"


def _settings(layered: LayeredSettings, model: str, why: str, only: Sequence[str] = ()) -> json_outputs.SettingsReport:
    """Return each setting (or `only` some) and its source; headers, which may hold keys, are hidden. Raises UsageError
    for unknown names."""
    known = type(layered.settings).model_fields
    for name in only:
        if name not in known:
            near = get_close_matches(name, known, 1, 0.7)
            raise UsageError(f"{name} is no setting", f"Did you mean {near[0]}?" if near else "See fanout config show.")
    entries = (
        json_outputs.SettingEntry(
            name=name,
            value=own_settings.plain(getattr(layered.settings, name)),
            source=layered.sources.get(name, "default"),
        )
        for name in only or known
    )
    every = () if only else layered.rules
    rules = (json_outputs.RuleEntry(action=rule.action, pattern=rule.pattern, source=rule.source) for rule in every)
    return json_outputs.SettingsReport(model=model, why=why, settings=tuple(entries), rules=tuple(rules))


def _setting_lines(report: json_outputs.SettingsReport) -> Iterator[str]:
    for entry in report.settings:
        if entry.value is not None and entry.value != {}:
            yield f"{entry.name} = {_toml(entry.value)}  # {entry.source}"
        elif entry.source != "default" or entry.value is None:
            yield f"# {entry.name} is not set"
    for rule in report.rules:
        yield f"# rule: {rule.action} {rule.pattern}  # {rule.source}"
    yield f"# {report.model} answers ({report.why})"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in cast("Mapping[str, Any]", value).items())
        return f"{{ {inside} }}"
    return json.dumps(value, ensure_ascii=False)


def _edit(paths: Paths, cwd: Path, *, project: bool = False) -> Path:
    path = _file(paths, cwd, project=project)
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    there = (shutil.which(name, path=search_path(os.environ)) for name in _EDITORS)
    command = shlex.split(named) if named else [found for found in there if found][:1]
    if not command:
        raise ConfigError("no editor is installed.", "Set VISUAL or EDITOR to the one you use.")
    if not path.exists():
        disk.write_private(path.resolve(), "")
    try:
        status = subprocess.run(
            [*command, str(path)], check=False, env=child_environment.for_own_programs(os.environ)
        ).returncode
    except OSError as error:
        raise ConfigError(f"{command[0]} can't be started: {error.strerror or error}") from None
    if status:
        raise ConfigError(f"{command[0]} ended with status {status}; {path} is as it left it.")
    return path


def _file(paths: Paths, cwd: Path, *, project: bool) -> Path:
    return Paths.project_settings(cwd) if project else paths.settings


def _listed(layered: LayeredSettings, *, as_json: bool) -> Iterator[str]:
    settings = own_settings.setting_list(layered)
    if as_json:
        entries = tuple(json_outputs.ListedSetting.of(one, waits_for_trust=one.waiting or None) for one in settings)
        yield json_outputs.SettingListReport(settings=entries).model_dump_json()
        return
    for one in settings:
        waits = f" · waits for trust: {one.waiting}" if one.waiting else ""
        yield f"{one.name:<20} {one.shown:<24} {one.source}{waits}"
        yield f"{'':<20} {one.meaning}"


def _value(layered: LayeredSettings, name: str) -> Any:
    if name in MEANINGS:
        return own_settings.plain(attrgetter(name)(layered.settings))
    first, *rest = (name,) if name in type(layered.settings).model_fields else own_settings.parts_of(name)
    value: Any = own_settings.plain(getattr(layered.settings, first))
    for part in rest:
        value = cast("dict[str, Any]", value).get(part) if isinstance(value, dict) else None
    return value


def _outranked(layered: LayeredSettings, name: str, path: Path) -> str:
    source = layered.sources.get(name if name in MEANINGS else name.partition(".")[0], "default")
    return f"; {source} outranks it" if source not in ("default", str(path)) and "." not in name else ""


def _print(line: str) -> None:
    write_out(visible(line) + "\n")


def _complain(line: str) -> None:
    sys.stderr.write(f"fanout: {one_line(line)}\n")

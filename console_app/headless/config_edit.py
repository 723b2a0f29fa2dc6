"""`fanout config list|get|set|unset|edit`: settings read and changed one by one, in the file they belong to."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from argparse import Namespace
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from console_app.config.files import Paths, project_settings, write_private
from console_app.config.secrets import for_own_programs
from console_app.config.settings import (
    MEANINGS,
    LayeredSettings,
    Setting,
    parts_of,
    plain,
    remove_setting,
    setting_list,
    shown,
    write_setting,
)
from console_app.domain.errors import ConfigError, UsageError
from console_app.headless.json_outputs import ListedSetting, SettingListReport

EDITORS = ("nano", "vim", "vi")


def lines(layered: LayeredSettings, arguments: Namespace) -> Iterator[str]:
    """What `list` and `get` print. Raises UsageError for a name that can't be."""
    words: list[str] = getattr(arguments, "words", [])
    match arguments.action, words:
        case "list", []:
            yield from _listed(layered, as_json=arguments.json)
        case "get", [name]:
            value = _value(layered, name)
            yield json.dumps(value, ensure_ascii=False) if arguments.json else shown(value)
        case "list", _:
            raise UsageError("config list takes no name.", "One setting: fanout config get NAME.")
        case action, _:
            raise UsageError(f"config {action} needs one NAME.")


def change(paths: Paths, cwd: Path, arguments: Namespace, read: Callable[[], LayeredSettings]) -> tuple[str, str]:
    """Sets or unsets, and what to say of it; and what is wrong still, "" for nothing. `read` reads all settings
    anew: what stands in other files, or is wrong in this one beside it, keeps nobody from changing one of them.
    Raises UsageError for a name or a value that can't be, ConfigError for a file that can't be changed."""
    path = _file(paths, cwd, project=arguments.project)
    file = path if arguments.project else path.resolve()  # your own link stays one
    match arguments.action, arguments.words:
        case "set", [name, value]:
            write_setting(file, name, value)
            said = f"{name} is set in {path}"
        case "unset", [name]:
            there = remove_setting(file, name)
            said = f"{name} is no longer set in {path}" if there else f"{path} does not set {name}"
        case action, _:
            raise UsageError(f"config {action} needs {'NAME and VALUE' if action == 'set' else 'one NAME'}.")
    try:
        layered = read()
    except ConfigError as error:
        return said, error.line
    return said + (_outranked(layered, name, path) if arguments.action == "set" else ""), ""


def edit(paths: Paths, cwd: Path, *, project: bool = False) -> Path:
    """The file in $VISUAL or $EDITOR, made where there is none; which file. Raises ConfigError where that fails."""
    path = _file(paths, cwd, project=project)
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    command = shlex.split(named) if named else [found for name in EDITORS if (found := shutil.which(name))][:1]
    if not command:
        raise ConfigError("no editor is installed.", "Set VISUAL or EDITOR to the one you use.")
    if not path.exists():
        write_private(path.resolve(), "")
    try:
        status = subprocess.run([*command, str(path)], check=False, env=for_own_programs(os.environ)).returncode
    except OSError as error:
        raise ConfigError(f"{command[0]} can't be started: {error.strerror or error}") from None
    if status:
        raise ConfigError(f"{command[0]} ended with status {status}; {path} is as it left it.")
    return path


def _file(paths: Paths, cwd: Path, *, project: bool) -> Path:
    return project_settings(cwd) if project else paths.settings


def _listed(layered: LayeredSettings, *, as_json: bool) -> Iterator[str]:
    settings = setting_list(layered)
    if as_json:
        yield SettingListReport(settings=tuple(map(_entry, settings))).model_dump_json()
        return
    for one in settings:
        waits = f" · waits for trust: {one.waiting}" if one.waiting else ""
        yield f"{one.name:<20} {one.shown:<24} {one.source}{waits}"
        yield f"{'':<20} {one.meaning}"


def _entry(one: Setting) -> ListedSetting:
    return ListedSetting(
        name=one.name,
        value=one.value,
        source=one.source,
        kind=one.kind,
        choices=one.choices,
        meaning=one.meaning,
        waits_for_trust=one.waiting or None,
    )


def _value(layered: LayeredSettings, name: str) -> Any:
    if name in MEANINGS:
        return plain(attrgetter(name)(layered.settings))
    first, *rest = (name,) if name in type(layered.settings).model_fields else parts_of(name)
    value: Any = plain(getattr(layered.settings, first))
    for part in rest:
        value = cast("dict[str, Any]", value).get(part) if isinstance(value, dict) else None
    return value


def _outranked(layered: LayeredSettings, name: str, path: Path) -> str:
    """What says otherwise and is stronger than a file."""
    source = layered.sources.get(name if name in MEANINGS else name.partition(".")[0], "default")
    return f"; {source} outranks it" if source not in ("default", str(path)) and "." not in name else ""

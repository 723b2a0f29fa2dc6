"""What `fanout config` prints: where the files are, and every setting with the layer that said it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from console_app.config.files import Paths, project_mcp, project_settings
from console_app.config.settings import LayeredSettings, plain
from console_app.domain.errors import UsageError
from console_app.domain.safe_text import encodable
from console_app.headless.json_outputs import PlaceEntry, PlacesReport, RuleEntry, SettingEntry, SettingsReport


def places(paths: Paths, cwd: Path, bundled: Sequence[Path]) -> PlacesReport:
    """Every path that Fanout uses, and whether it is there."""
    named = {
        "settings": paths.settings,
        "servers": paths.mcp,
        "themes": paths.themes,
        "project settings": project_settings(cwd),
        "project servers": project_mcp(cwd),
        "trust": paths.trust,
        "files of tools": paths.files,
        "log": paths.log,
        "logs of servers": paths.server_logs,
        "prompt history": paths.history,
        "sessions": paths.sessions,
        **{f"bundled {path.name.removesuffix('.json')}": path for path in bundled},
    }
    return PlacesReport(
        places=tuple(
            PlaceEntry(name=name, path=encodable(str(path)), exists=path.exists()) for name, path in named.items()
        )
    )


def place_lines(report: PlacesReport) -> Iterator[str]:
    """The same for people."""
    for place in report.places:
        yield f"{place.name:<17} {place.path}{'' if place.exists else '  (not there)'}"


def settings(layered: LayeredSettings, model: str, why: str, only: Sequence[str] = ()) -> SettingsReport:
    """Each setting, or `only` some, with where it comes from; headers, which may hold keys, are hidden.

    Raises UsageError for a name that is no setting.
    """
    known = type(layered.settings).model_fields
    for name in only:
        if name not in known:
            near = get_close_matches(name, known, 1)
            raise UsageError(f"{name} is no setting", f"Did you mean {near[0]}?" if near else "See fanout config show.")
    entries = (
        SettingEntry(
            name=name,
            value=plain(getattr(layered.settings, name)),
            source=layered.sources.get(name, "default"),
        )
        for name in only or known
    )
    every = () if only else layered.rules
    rules = (RuleEntry(action=rule.action, pattern=rule.pattern, source=rule.source) for rule in every)
    return SettingsReport(model=model, why=why, settings=tuple(entries), rules=tuple(rules))


def setting_lines(report: SettingsReport) -> Iterator[str]:
    """The same as TOML would have it."""
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

"""What `fanout config` prints: where the files are, and every setting with the layer that said it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from console_app.config.layers import LayeredSettings
from console_app.config.paths import Paths, project_mcp, project_settings

_SECRET = "(hidden)"


def path_lines(paths: Paths, cwd: Path, bundled: Sequence[Path]) -> Iterator[str]:
    """Every path that Fanout uses, and whether it is there."""
    places = {
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
    for name, path in places.items():
        yield f"{name:<17} {path}{'' if path.exists() else '  (not there)'}"


def setting_lines(layered: LayeredSettings) -> Iterator[str]:
    """Each setting as TOML would have it, with where it comes from; headers, which may hold keys, are hidden."""
    for name in type(layered.settings).model_fields:
        value = _plain(getattr(layered.settings, name))
        if value is not None and value != {}:
            yield f"{name} = {_toml(value)}  # {layered.sources.get(name, 'default')}"
        elif name in layered.sources or value is None:
            yield f"# {name} is not set"
    for rule in layered.rules:
        yield f"# rule: {rule.action} {rule.pattern}  # {rule.source}"


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        fields = {name: _plain(getattr(value, name)) for name in value.model_fields_set}
        if "headers" in fields:
            fields["headers"] = dict.fromkeys(fields["headers"], _SECRET)
        return fields
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in cast("Mapping[str, Any]", value).items())
        return f"{{ {inside} }}"
    return json.dumps(value, ensure_ascii=False)

"""The few settings that the first paint needs, read before there are settings: which theme, which keys.

The whole of the settings takes longer to load than the console takes to paint, so they come after it. What is wrong in
a file is told then; here it counts as not said.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from console_app.config.files import Paths, disk, parse_toml
from console_app.domain import ConfigError, safe_text
from console_app.records import dataclass, field

DEFAULT_THEME = "fanout-dark"


@dataclass(frozen=True, slots=True)
class StartupSettings:
    """The look of the console and its keys: binding id to keys, with commas between them."""

    theme: str = DEFAULT_THEME
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    theme_is_set: bool = False  # somebody said it
    screen_reader: bool = False  # of the user's own file alone


def read_startup_settings(paths: Paths, *, cwd: Path, flag: str | None, environ: Mapping[str, str]) -> StartupSettings:
    """Read what the settings will say, unless something is wrong in them. `flag` is --theme."""
    user = _table(paths.settings)
    project = _table(Paths.project_settings(cwd))
    themes = (flag, environ.get("FANOUT_THEME"), project.get("theme"), user.get("theme"))
    theme = next((name for name in themes if isinstance(name, str) and name), "")
    bound = {  # as one text each; they are written as a text, or a list of texts
        name: keys if isinstance(keys, str) else ",".join(map(str, safe_text.as_list(keys)))
        for name, keys in safe_text.as_object(user.get("keys")).items()
        if isinstance(keys, str | list)
    }
    lines = safe_text.as_object(user.get("ui")).get("screen_reader") is True
    return StartupSettings(theme or DEFAULT_THEME, bound, theme_is_set=bool(theme), screen_reader=lines)


def _table(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(disk.read_text(path), path)
    except (ConfigError, ValueError):
        return {}

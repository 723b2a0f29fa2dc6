"""Writes one setting into the user's config.toml and leaves everything else in it, comments too, as it is."""

from __future__ import annotations

import json
import re

from console_app.config.paths import Paths, read_text, write_private
from console_app.config.toml_text import parse_toml


def remember(paths: Paths, name: str, value: str) -> None:
    """Sets the top-level key `name` to a text. Raises ConfigError when the file is broken or can't be written."""
    path = paths.settings
    text = read_text(path) if path.exists() else ""
    parse_toml(text, path)
    line = f"{name} = {json.dumps(value)}"
    # Top-level keys stand above the first table; a value that goes over several lines is not written by `remember`.
    head, table, rest = _parted(text)
    pattern = re.compile(rf"^[ \t]*{re.escape(name)}[ \t]*=.*$", re.MULTILINE)
    head = pattern.sub(lambda _: line, head, count=1) if pattern.search(head) else f"{line}\n{head}"
    new = f"{head}{table}{rest}"
    parse_toml(new, path)
    write_private(path, new)


def _parted(text: str) -> tuple[str, str, str]:
    table = re.search(r"^[ \t]*\[", text, re.MULTILINE)
    return (text, "", "") if table is None else (text[: table.start()], table.group(), text[table.end() :])

"""Writes one setting into the user's config.toml and leaves everything else in it, comments too, as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from console_app.config.paths import Paths, read_text, write_private
from console_app.config.toml_text import parse_toml


def remember(paths: Paths, name: str, value: str) -> None:
    """Sets the top-level key `name` to a text. Raises ConfigError when the file is broken or can't be written."""
    remember_all(paths, {name: value})


def remember_all(paths: Paths, values: Mapping[str, str], table: str = "") -> None:
    """Sets top-level keys to texts and puts `table`, lines of TOML, at the end: all of it or nothing, as `remember`."""
    path = paths.settings
    text = read_text(path) if path.exists() else ""
    parse_toml(text, path)
    for name, value in values.items():
        text = _with(text, name, value)
    if table:
        text = f"{text.rstrip()}\n\n{table}".lstrip()
    parse_toml(text, path)
    write_private(path, text)


def _with(text: str, name: str, value: str) -> str:
    line = f"{name} = {json.dumps(value)}"
    # Top-level keys stand above the first table; a value that goes over several lines is not written by `remember`.
    head, table, rest = _parted(text)
    pattern = re.compile(rf"^[ \t]*{re.escape(name)}[ \t]*=.*$", re.MULTILINE)
    head = pattern.sub(lambda _: line, head, count=1) if pattern.search(head) else f"{line}\n{head}"
    return f"{head}{table}{rest}"


def _parted(text: str) -> tuple[str, str, str]:
    table = re.search(r"^[ \t]*\[", text, re.MULTILINE)
    return (text, "", "") if table is None else (text[: table.start()], table.group(), text[table.end() :])

"""Writes single servers into an mcp.json and takes them out, and leaves everything else in it exactly as it is.

The text is changed where the server stands and nowhere else, so comments, the order and the way the file is laid out
are kept. What comes out is read again before it is written: a change that would break the file is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from console_app.config.files import disk, trusted
from console_app.config.servers import json_positions
from console_app.config.servers.mcp_servers import CONTAINERS, read_mcp_config
from console_app.domain import ConfigError


def put_server(path: Path, name: str, fields: Mapping[str, Any], *, start: str = "") -> trusted.Written:
    """Add the server, or replace the one of that name, in `path`; a file that isn't there begins as `start`.

    Raises ConfigError when the file is broken or can't be written, or the server would not be understood.
    """
    before = _text(path)
    return _write(path, before, with_server(_base(before, start), name, fields, path), name)


def remove_server(path: Path, name: str, *, start: str = "") -> trusted.Written:
    """Take the server out of `path`. Raises ConfigError when it isn't there, or the file can't be read or written."""
    before = _text(path)
    return _write(path, before, without_server(_base(before, start), name, path), "")


def server_fields(text: str, name: str, path: Path) -> dict[str, Any]:
    """Return what is written of a server, `${VAR}` as it stands; empty for one that isn't there. Raises ConfigError."""
    document = _parse(text, path)
    value: Any = _container(document, path)[1].get(name)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def with_server(text: str, name: str, fields: Mapping[str, Any], path: Path) -> str:
    """Return `text` with the server, under the name it has or behind the last one."""
    document = _parse(text, path)
    where, servers = _container(document, path)
    if name in servers:
        begin, end = _value_span(document, (*where, name))
        return text[:begin] + _laid_out(fields, _indent_at(text, document.offsets[(*where, name)])) + text[end:]
    if servers:
        last = (*where, list(servers)[-1])
        _, end = _value_span(document, last)
        indent = _indent_at(text, document.offsets[last])
        entry = f"{json.dumps(name, ensure_ascii=False)}: {_laid_out(fields, indent)}"
        comma = _comma_after(text, end)
        if comma is not None:  # a trailing comma, as JSON with comments allows
            return f"{text[: comma + 1]}\n{indent}{entry},{text[comma + 1 :]}"
        return f"{text[:end]},\n{indent}{entry}{text[end:]}"
    begin, end = _value_span(document, where)
    outer = _indent_at(text, begin)
    indent = f"{outer}  "
    entry = f"{json.dumps(name, ensure_ascii=False)}: {_laid_out(fields, indent)}"
    comments = text[begin + 1 : end - 1].rstrip()  # comments, if any
    return f"{text[: begin + 1]}{comments}\n{indent}{entry}\n{outer}{text[end - 1 :]}"


def without_server(text: str, name: str, path: Path) -> str:
    """Return `text` without the server and the comma that parted it from its neighbours."""
    document = _parse(text, path)
    where, servers = _container(document, path)
    if name not in servers:
        raise ConfigError(f"{path} has no server {name}", f"It has: {', '.join(servers) or 'none'}.")
    begin, (_, end) = document.offsets[(*where, name)], _value_span(document, (*where, name))
    names = list(servers)
    comma = _comma_after(text, end)
    if comma is not None:
        end = comma + 1
    elif names.index(name):
        before = _value_span(document, (*where, names[names.index(name) - 1]))[1]
        parting = _comma_after(text, before)
        if parting is not None:
            text = text[:parting] + " " + text[parting + 1 :]
            begin = parting if not text[parting:begin].strip() else begin
    line = text.rfind("\n", 0, begin)
    if begin > line + 1 and not text[line + 1 : begin].strip():
        begin = max(line, 0)  # the entry had lines of its own
    return text[:begin] + text[end:]


def _text(path: Path) -> str | None:
    return disk.read_text(path) if path.exists() else None


def _base(before: str | None, start: str) -> str:
    return before if before is not None else start or '{\n  "mcpServers": {}\n}\n'


def _write(path: Path, before: str | None, text: str, name: str) -> trusted.Written:
    config = read_mcp_config(text, path, {})
    for problem in config.problems:
        if name and problem.server == name and problem.fatal and "environment variable" not in problem.text:
            raise ConfigError(f"server {name}: {problem.text}")
    if before is not None:
        try:
            path.resolve().write_text(text, encoding="utf-8")  # its mode and links stay as they are
        except OSError as error:
            raise ConfigError(f"can't write {path}: {error.strerror or error}") from None
    else:
        disk.write_private(path, text)
    return trusted.Written(before, text)


def _parse(text: str, path: Path) -> json_positions.Document:
    try:
        return json_positions.parse(text)
    except json_positions.JsonError as error:
        detail = f"{path}:{error.line}:{error.column}: {error}"
        raise ConfigError(detail, "Correct the file at that place first.") from None


def _container(document: json_positions.Document, path: Path) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the path of the servers, and what is there."""
    root = document.value
    if isinstance(root, dict):
        for where in CONTAINERS:
            value: Any = cast("dict[str, Any]", root)
            for key in where:
                value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
            if isinstance(value, dict):
                return where, cast("dict[str, Any]", value)
        values = cast("dict[str, Any]", root)
        if values and all(isinstance(value, dict) for value in values.values()):
            return (), values
    raise ConfigError(f"{path} has no list of servers", 'It looks like {"mcpServers": {NAME: {...}}}.')


def _value_span(document: json_positions.Document, where: tuple[str, ...]) -> tuple[int, int]:
    """Return where the value of a key begins and ends; of the empty path, the whole object."""
    text, decoder = document.text, json.JSONDecoder()
    begin = 0
    if where:
        begin = decoder.raw_decode(text, document.offsets[where])[1]
        begin = text.index(":", begin) + 1
    while text[begin].isspace():
        begin += 1
    return begin, decoder.raw_decode(text, begin)[1]


def _comma_after(text: str, at: int) -> int | None:
    """The comma behind a value, past spaces and comments."""
    match = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*,", re.DOTALL).match(text, at)
    return match.end() - 1 if match else None


def _indent_at(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip())]


def _laid_out(fields: Mapping[str, Any], indent: str) -> str:
    step = "\t" if "\t" in indent else "  "
    return json.dumps(dict(fields), indent=step, ensure_ascii=False).replace("\n", f"\n{indent}")

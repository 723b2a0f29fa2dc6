"""The user's rules in config.toml, and the record of what the allow rules of files are bound to.

A rule is added or removed by changing only its own characters: comments and order stay, which tomlkit doesn't manage
in arrays of several lines. The array is found in the text, an entry is written in or cut out, and the new text is read
again before it is kept: if it doesn't say exactly what was meant, nothing is written.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, cast

from console_app.config.files import Paths, disk, parse_toml, position
from console_app.config.settings.model import Rules
from console_app.domain import ConfigError, safe_text
from console_app.domain.tools import ServerIdentity
from console_app.records import dataclass

Action = Literal["allow", "ask", "deny"]
Bound = tuple[str, str, str, tuple[ServerIdentity, ...]]  # source, rule, server, what it is bound to
log = logging.getLogger(__name__)

_HEADER = re.compile(r"^[ \t]*\[[ \t]*rules[ \t]*\][^\n]*(?:\n|$)", re.MULTILINE)
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\],]|[^\'"#\[\],]+|.', re.DOTALL
)
_HINT = "Change it there by hand."


@dataclass(frozen=True, slots=True)
class UserRules:
    """The rules in the user's config.toml, for a front end to add to and take from."""

    paths: Paths

    @property
    def path(self) -> str:
        return str(self.paths.settings)

    def add(self, action: Action, rule: str) -> None:
        """Write a rule at the end of its array. Raises ConfigError when the file is broken or can't be written."""
        _change(self.paths.settings, action, rule, add=True)

    def remove(self, action: Action, rule: str) -> None:
        """Take a rule out of its array. Raises ConfigError when it isn't there, or as `add` does."""
        _change(self.paths.settings, action, rule, add=False)


def _change(path: Path, action: Action, text: str, *, add: bool) -> None:
    old = disk.read_text(path) if path.exists() else ""
    before = parse_toml(old, path)
    rules = cast("dict[str, Any]", before.setdefault("rules", {}))
    wanted: list[Any] = rules.setdefault(action, [])
    if add == (text in wanted):
        if add:
            return
        raise ConfigError(f"{path}: there is no rule {action} {text}")
    if add:
        wanted.append(text)
        Rules.model_validate({action: (text,)})  # what is written must be readable at the next start
        new = _with(old, action, text)
    else:
        wanted.remove(text)
        new = _without(old, action, text)
    if new is None or _read(new) != before:
        raise ConfigError(f"{path}: [rules] {action} is written in a way that can't be changed from here", _HINT)
    disk.write_private(path, new)


def _read(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _with(text: str, action: Action, rule: str) -> str | None:
    quoted = json.dumps(rule, ensure_ascii=False)
    if (begin := _array_at(text, action)) is None:
        line = f"{action} = [{quoted}]\n"
        if (header := _HEADER.search(text)) is None:
            gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
            return f"{text}{gap}[rules]\n{line}"
        above = text[: header.end()]
        return f"{above}{'' if above.endswith(chr(10)) else chr(10)}{line}{text[header.end() :]}"
    tokens = list(_tokens(text, begin))
    close, last = tokens[-1][0], None
    for start, token in tokens[1:-1]:
        if token[0] in "\"',":
            last = (start, token)
    if last is None:
        return f"{text[: begin + 1]}{quoted}{text[begin + 1 :]}"
    end = last[0] + len(last[1])
    many_lines = "\n" in text[begin:close]
    indent = re.match(r"[ \t]*", text[text.rfind("\n", 0, last[0]) + 1 :])
    alone = "[" not in text[text.rfind("\n", 0, last[0]) + 1 : last[0]]  # not on the line of the opening bracket
    gap = f"\n{indent[0] if indent else ''}" if many_lines and alone else " "
    if last[1] == ",":
        return f"{text[:end]}{gap}{quoted},{text[end:]}"
    return f"{text[:end]},{gap}{quoted}{text[end:]}"


def _without(text: str, action: Action, rule: str) -> str | None:
    if (begin := _array_at(text, action)) is None:
        return None
    tokens = list(_tokens(text, begin))
    for index, (start, token) in enumerate(tokens):
        if token[0] in "\"'" and _read(f"x = {token}") == {"x": rule}:
            end = start + len(token)
            behind = next(((at, mark) for at, mark in tokens[index + 1 :] if mark.strip() and mark[0] != "#"), None)
            if behind is not None and behind[1] == ",":
                end = behind[0] + 1
            else:  # the last entry takes the comma before it along
                before = next((at for at, mark in reversed(tokens[:index]) if mark == ","), None)
                if before is not None and not text[before + 1 : start].strip():
                    start = before
            return _cut(text, start, end)
    return None


def _cut(text: str, start: int, end: int) -> str:
    """Return `text` without a part; a line that held nothing else goes whole."""
    line, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    if line_end >= 0 and not text[line:start].strip() and not text[end:line_end].strip():
        return text[:line] + text[line_end + 1 :]
    if text[start:end].startswith(","):
        return text[:start] + text[end:]
    while text[end : end + 1] == " ":
        end += 1
    return text[:start] + text[end:]


def _array_at(text: str, action: Action) -> int | None:
    """Return where the array of an action opens, or None where it isn't written."""
    values = _read(text) or {}
    if action not in cast("dict[str, Any]", values.get("rules", {})):
        return None
    line, column = position(text, ("rules", action))
    start = sum(len(one) for one in text.splitlines(keepends=True)[: line - 1]) + column - 1
    at = re.compile(r"[^=\n]*=[ \t]*\[").match(text, start)
    return at.end() - 1 if at else None


def _tokens(text: str, begin: int) -> Iterator[tuple[int, str]]:
    """Yield the tokens of the array that opens at `begin`, its brackets included, each with its place."""
    for token in _TOKEN.finditer(text, begin):
        yield token.start(), token[0]
        if token[0] == "]":
            return


class RuleServers:
    """The record of what the allow rules of files are bound to: rule, name of the server, and the program or address.

    It stands beside the rules, so that a file of rules stays as it was written and can be shared. Its methods read and
    write the file, so they are for a thread. A record that can't be read binds nothing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def read(self) -> Iterator[Bound]:
        for key, found in disk.read_record(self._path).items():
            try:
                source, rule, server = map(str, json.loads(key))
                identities = tuple(ServerIdentity.model_validate(one) for one in cast("list[Any]", found))
            except (TypeError, ValueError):
                log.warning("%s: what it says of %.200s can't be read", self._path, key)
                continue
            yield source, rule, server, identities

    def add(self, source: str, rule: str, server: str, identity: ServerIdentity) -> None:
        """Keep one more binding. Rules of no file (a flag, this session) end with the console."""
        if not Path(source).is_absolute():
            return
        key = json.dumps([source, rule, server], ensure_ascii=False)
        with self._lock:
            record = disk.read_record(self._path)
            known = safe_text.as_list(record.get(key))
            if identity.model_dump() not in known:
                disk.keep_record(self._path, record | {key: [*known, identity.model_dump()]})

"""The user's rules in config.toml, and the record of what the allow rules of files are bound to.

A rule is added or removed where its array stands: comments and order stay. The new text is read again before it is
kept: if it doesn't say exactly what was meant, nothing is written.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, cast

from console_app.config.files import Paths, disk, parse_toml
from console_app.config.settings.model import Rules
from console_app.domain import ConfigError, safe_text
from console_app.domain.tools import ServerIdentity
from console_app.records import dataclass

Action = Literal["allow", "ask", "deny"]
Bound = tuple[str, str, str, tuple[ServerIdentity, ...]]  # source, rule, server, what it is bound to
log = logging.getLogger(__name__)

_FIRST_LINE = re.compile(r"\[[^\n]*\n([ \t]*)")  # of an array of several lines, with the indent of its second
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
    import tomlkit  # 30 ms, and only when something is changed
    from tomlkit.exceptions import TOMLKitError

    old = disk.read_text(path) if path.exists() else ""
    before = parse_toml(old, path)
    rules = cast("dict[str, Any]", before.setdefault("rules", {}))
    wanted: list[Any] = rules.setdefault(action, [])
    if add == (text in wanted):
        if add:
            return
        raise ConfigError(f"{path}: there is no rule {action} {text}")
    if add:
        Rules.model_validate({action: (text,)})  # what is written must be readable at the next start
    try:
        document: Any = tomlkit.parse(old)
        array = document.setdefault("rules", tomlkit.table()).setdefault(action, [])
        (wanted.append if add else wanted.remove)(text)
        if add and (line := _FIRST_LINE.match(array.as_string())):
            array.add_line(text, indent=line[1])
        else:
            (array.append if add else array.remove)(text)
        new = tomlkit.dumps(document)
        kept = parse_toml(new, path) == before
    except (TOMLKitError, ConfigError):
        kept, new = False, ""
    if not kept:
        raise ConfigError(f"{path}: [rules] {action} is written in a way that can't be changed from here", _HINT)
    disk.write_private(path, new)


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

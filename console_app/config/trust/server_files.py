"""Compares the files of servers as they were read and as they are now: what changed, and in which."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from console_app.config.files import Paths, disk, project_mcp
from console_app.config.servers import ServerChoice, ServerConfig, read_mcp_config
from console_app.config.trust.trust_report import FileToTrust, starts_by_name
from console_app.domain import ConfigError


@dataclass(frozen=True, slots=True)
class Changes:
    """The names that differ between two lists of servers, in the order of the newer one."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    @classmethod
    def between(cls, before: Sequence[ServerConfig], now: Sequence[ServerConfig]) -> Changes:
        """Compare two lists."""
        old, new = ({server.name: server for server in servers} for servers in (before, now))
        return cls(
            added=tuple(name for name in new if name not in old),
            removed=tuple(name for name in old if name not in new),
            changed=tuple(name for name, server in new.items() if name in old and old[name] != server),
        )


@dataclass(frozen=True, slots=True)
class Untrusted:
    """The project's file counted and is another now, so it counts only once it is trusted as it is, `file`."""

    file: FileToTrust
    servers: tuple[ServerConfig, ...]
    said: Mapping[str, str]  # what each would do, by its name, in lines

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.file.path


class ServerFiles:
    """The files of one console. `choose` reads them as a start does. Methods that read a file are for a thread."""

    def __init__(self, paths: Paths, folder: Path, choice: ServerChoice, choose: Callable[[], ServerChoice]) -> None:
        self._paths = paths
        self._folder = folder
        self._choose = choose
        self.choice = choice
        self.unread: tuple[Path, ...] = ()  # that `news` told of, and that were not taken since
        self._prints = self._fingerprints({})

    def read(self) -> ServerChoice | Untrusted:
        """Read the servers as the files have them now. Raises ConfigError."""
        choice, source = self._choose(), self.choice.path
        if source is not None and source == choice.untrusted:
            file = FileToTrust.read(source, os.environ)
            servers = read_mcp_config(file.text, source, os.environ).servers
            return Untrusted(file, servers, starts_by_name(servers, os.environ))
        return choice

    def trust(self, refused: Untrusted) -> None:
        """Trust the file as it was shown. Raises UsageError where it is another already."""
        refused.file.trust(self._paths, again="/reload")

    def take(self, choice: ServerChoice) -> None:
        """Take these as the servers in force; the files as they are hold no news."""
        self.choice, self.unread = choice, ()
        self._prints = self._fingerprints(self._prints)

    def wrote(self) -> None:
        """Take a file that was written from here as known: it holds no news."""
        try:
            found = self.read()
        except ConfigError:
            return
        if isinstance(found, ServerChoice):
            self.take(found)

    def news(self) -> list[Path]:
        """Return the files that changed since the last call."""
        before, self._prints = self._prints, self._fingerprints(self._prints)
        found = [path for path, now in self._prints.items() if now[1] != before.get(path, ((), ""))[1]]
        self.unread = tuple(dict.fromkeys((*self.unread, *found)))
        return found

    def _fingerprints(
        self, before: Mapping[Path, tuple[tuple[int, ...], str]]
    ) -> dict[Path, tuple[tuple[int, ...], str]]:
        """Return time, size and hash of each file; only one with another time or size is read."""
        found: dict[Path, tuple[tuple[int, ...], str]] = {}
        sources = {self.choice.path, *project_mcp(self._folder), self._paths.mcp} - {None}
        for path in sorted(one for one in sources if one is not None):
            try:
                status = path.stat()
                if not stat.S_ISREG(status.st_mode):
                    continue  # a pipe, say, gives what it has only once
                stamp: tuple[int, ...] = (status.st_mtime_ns, status.st_size)
                known = before.get(path)
                same = known is not None and known[0] == stamp
                hashed = known[1] if known is not None and same else hashlib.sha256(disk.contents(path)).hexdigest()
            except OSError:
                stamp, hashed = (), ""
            found[path] = (stamp, hashed)
        return found

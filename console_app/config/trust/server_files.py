"""The files that say which servers there are, as they were read and as they are now: what changed, and in which."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from console_app.config.files.disk import contents
from console_app.config.files.paths import Paths, project_mcp
from console_app.config.servers.mcp_servers import ServerConfig, read_mcp_config
from console_app.config.servers.server_choice import ServerChoice
from console_app.config.trust.trust_report import FileToTrust, starts_by_name, to_trust, trust_as_shown
from console_app.domain.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Changes:
    """How one list of servers differs from another, by name, in the order of the newer one."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def changes(before: Sequence[ServerConfig], now: Sequence[ServerConfig]) -> Changes:
    """What is different."""
    old, new = ({server.name: server for server in servers} for servers in (before, now))
    return Changes(
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
        """Where it is."""
        return self.file.path


class ServerFiles:
    """Of one console. `choose` reads them as a start does. Whatever reads a file is for a thread."""

    def __init__(self, paths: Paths, folder: Path, choice: ServerChoice, choose: Callable[[], ServerChoice]) -> None:
        self._paths = paths
        self._folder = folder
        self._choose = choose
        self.choice = choice
        self.unread: tuple[Path, ...] = ()  # that `news` told of, and that were not taken since
        self._prints = self._fingerprints({})

    def read(self) -> ServerChoice | Untrusted:
        """The servers as the files have them now. Raises ConfigError."""
        choice, source = self._choose(), self.choice.path
        if source is not None and source == choice.untrusted:
            file = to_trust(source, os.environ)
            servers = read_mcp_config(file.text, source, os.environ).servers
            return Untrusted(file, servers, starts_by_name(servers, os.environ))
        return choice

    def trust(self, refused: Untrusted) -> None:
        """The file is trusted as it was shown. Raises UsageError where it is another already."""
        trust_as_shown(self._paths, refused.file, again="/reload")

    def take(self, choice: ServerChoice) -> None:
        """These are the servers now; the files as they are hold no news."""
        self.choice, self.unread = choice, ()
        self._prints = self._fingerprints(self._prints)

    def wrote(self) -> None:
        """A file was written from here: what it says is known, and no news."""
        try:
            found = self.read()
        except ConfigError:
            return
        if isinstance(found, ServerChoice):
            self.take(found)

    def news(self) -> list[Path]:
        """The files that are others than when this was last asked."""
        before, self._prints = self._prints, self._fingerprints(self._prints)
        found = [path for path, now in self._prints.items() if now[1] != before.get(path, ((), ""))[1]]
        self.unread = tuple(dict.fromkeys((*self.unread, *found)))
        return found

    def _fingerprints(
        self, before: Mapping[Path, tuple[tuple[int, ...], str]]
    ) -> dict[Path, tuple[tuple[int, ...], str]]:
        """Time, size and hash of each; only what has another time or size is read."""
        found: dict[Path, tuple[tuple[int, ...], str]] = {}
        sources = {self.choice.path, project_mcp(self._folder), self._paths.mcp} - {None}
        for path in sorted(one for one in sources if one is not None):
            try:
                status = path.stat()
                if not stat.S_ISREG(status.st_mode):
                    continue  # a pipe, say, gives what it has only once
                stamp: tuple[int, ...] = (status.st_mtime_ns, status.st_size)
                known = before.get(path)
                same = known is not None and known[0] == stamp
                hashed = known[1] if known is not None and same else hashlib.sha256(contents(path)).hexdigest()
            except OSError:
                stamp, hashed = (), ""
            found[path] = (stamp, hashed)
        return found

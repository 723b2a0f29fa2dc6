"""Every path that Fanout reads or writes stands here, so that FANOUT_HOME can move them all together."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from console_app.config.files.disk import keep_record, read_record, texts
from console_app.domain import ConfigError
from console_app.records import dataclass

PROJECT_FOLDER = ".fanout"
_OTHERS = 0o077
_IN_DATA = (
    *("sessions.*", "trust.json*", "credentials.json*", "*keys.json*", "tools.json*", "rules.json*"),
    *("files", "locks", "drafts", "plugins", "replaced", "programs", "worktrees"),
)
_IN_STATE = (
    *("fanout.log*", "crash-*.txt", "*tools.json*", "calls.json*", "history.jsonl*", "repaired.json*"),
    *("dialects.json*", "refusals.json*", "endpoints.json*", "servers", "batches"),
)

log = logging.getLogger(__name__)


class _In:
    """A path in one of the three folders. Asking for it creates nothing."""

    def __init__(self, folder: Literal["config", "data", "state"], name: str) -> None:
        self._folder, self._name = folder, name

    def __get__(self, paths: Paths, of: type[Paths]) -> Path:
        return getattr(paths, self._folder) / self._name


@dataclass(frozen=True, slots=True)
class Paths:
    """The three folders of a user, as platformdirs has them, and their files."""

    config: Path
    data: Path
    state: Path

    settings = _In("config", "config.toml")
    mcp = _In("config", "mcp.json")
    themes = _In("config", "themes")  # they override bundled ones of the same name
    trust = _In("data", "trust.json")  # the project files that the user trusts, by content
    plugins = _In("data", "plugins")  # the folders of what plugins keep, one a plugin
    credentials = _In("data", "credentials.json")  # tokens of sign-ins to servers, where no keyring keeps them
    tool_definitions = _In("data", "tools.json")  # the tools of servers as they looked when the user trusted them
    rule_servers = _In("data", "rules.json")  # the program or address that each allow rule is bound to
    files = _In("data", "files")  # those that tools return
    sessions = _In("data", "sessions.db")  # every conversation, unless it was not to be saved
    session_locks = _In("data", "locks")  # a file for each session that is open in a console now
    replaced = _In("data", "replaced")  # the bytes that calls of the files server replaced, which it keeps itself
    programs = _In("data", "programs")  # programs that wait while their session is closed
    worktrees = _In("data", "worktrees")  # the folders of agents that work in one of their own
    drafts = _In("data", "drafts")  # the prompts that were written and not sent, a file a session
    log = _In("state", "fanout.log")  # of the program itself
    server_logs = _In("state", "servers")  # a log for each server, of its standard error
    tools = _In("state", "tools.json")  # the servers and tools that are on, by working folder
    known_tools = _In("state", "known_tools.json")  # the names of the tools that each server had last, for completion
    calls = _In("state", "calls.json")  # those that were made by hand, by tool
    dialects = _In("state", "dialects.json")  # the dialect that each model is known to write its calls in
    batches = _In("state", "batches")  # the progress of each batch, for other terminals
    refusals = _In("state", "refusals.json")  # the things that each endpoint refused for a model
    endpoints = _In("state", "endpoints.json")  # the fingerprints of endpoints that were tested
    repaired = _In("state", "repaired.json")  # files that others could read before, for `fanout doctor` to say once
    history = _In("state", "history.jsonl")  # the prompts typed before

    @property
    def theme_dirs(self) -> tuple[Path, Path]:
        """The folders of palettes, the bundled ones first: those of the user override them."""
        return self.bundled("themes"), self.themes

    @classmethod
    def find(cls, environ: Mapping[str, str] = os.environ) -> Paths:
        """Find the folders of this user. FANOUT_HOME holds the configuration itself, with `data` and `state` in it."""
        if home := environ.get("FANOUT_HOME"):
            root = Path(home).expanduser().absolute()
            return cls(root, root / "data", root / "state")
        import platformdirs  # 10 ms, not needed with FANOUT_HOME

        dirs = platformdirs.PlatformDirs("fanout", appauthor=False)
        return cls(dirs.user_config_path, dirs.user_data_path, dirs.user_state_path)

    def make_private_again(self) -> None:
        """Take away from others what they can read: after a copied home, a careless chmod, an older version.

        Only what has a name of Fanout's own, belongs to this user and is no link is touched, and a folder only with
        such a file in it: FANOUT_HOME may be any folder, with other things beside. `fanout doctor` tells of it.
        """
        if found := dict(self._tightened()):
            log.warning("could be read by others, and can't any more: %s", ", ".join(found))
            keep_record(self.repaired, {**texts(read_record(self.repaired)), **found})

    def take_repaired(self) -> dict[str, str]:
        """Return what was set right since the last call: each path with the mode that it had."""
        found = texts(read_record(self.repaired))
        try:
            self.repaired.unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s can't be removed: %s", self.repaired, error)
        return found

    def _tightened(self) -> Iterator[tuple[str, str]]:
        """Tighten each file and folder that was wider, and give it with the mode that it had."""
        for path in self._existing():
            try:
                mode = stat.S_IMODE(path.lstat().st_mode)
                if mode & _OTHERS and not path.is_symlink() and path.lstat().st_uid == os.geteuid():
                    path.chmod(mode & ~_OTHERS)
                    yield str(path), f"{mode:04o}"
            except FileNotFoundError:
                pass  # not written yet, or gone meanwhile
            except OSError as error:
                log.warning("%s can be read by others: %s", path, error)

    def _existing(self) -> Iterator[Path]:
        yield from (self.settings, self.mcp)
        yield from self.server_logs.glob("*.log*")
        for folder, names in ((self.data, _IN_DATA), (self.state, _IN_STATE)):
            inside = [path for name in names for path in folder.glob(name)]
            for path in inside:
                try:  # in a folder that others can't open, nothing can be read
                    found = path.lstat().st_mode
                    yield from list(path.iterdir()) if stat.S_ISDIR(found) and found & _OTHERS else []
                except OSError as error:
                    log.warning("%s can't be looked into: %s", path, error)
            yield from inside
            if inside:
                yield folder

    @staticmethod
    def project_settings(cwd: Path) -> Path:
        return cwd / PROJECT_FOLDER / "config.toml"

    @staticmethod
    def project_mcp(cwd: Path) -> tuple[Path, ...]:
        """Return the files in which a project may bring servers along, ours and others': the first trusted counts."""
        return cwd / "mcp.json", cwd / ".mcp.json", cwd / ".vscode" / "mcp.json"

    @staticmethod
    def bundled(name: str) -> Path:
        """Return what ships beside the code, `themes` or `mcp.json`: in the wheel under `_bundled`, in a checkout at
        the root of the repository. Raises ConfigError."""
        package = Path(__file__).parents[2]
        for root in (package / "_bundled", package.parent):
            if (root / name).exists():
                return root / name
        raise ConfigError(f"the installation lacks {name}", "Install Fanout again.")

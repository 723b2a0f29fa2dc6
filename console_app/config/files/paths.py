"""Every path that Fanout reads or writes stands here, so that FANOUT_HOME can move them all together."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from console_app.config.files.disk import keep_record, read_record, texts

PROJECT_FOLDER = ".fanout"
_OTHERS = 0o077
_IN_DATA = (
    *("sessions.*", "trust.json*", "credentials.json*", "*keys.json*", "tools.json*", "rules.json*"),
    *("files", "locks", "drafts", "plugins"),
)
_IN_STATE = (
    *("fanout.log*", "crash-*.txt", "*tools.json*", "calls.json*", "history.jsonl*", "repaired.json*"),
    *("dialects.json*", "refusals.json*", "endpoints.json*", "servers", "batches"),
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Paths:
    """The three folders of a user, as platformdirs has them, and their files. Asking for a path creates nothing."""

    config: Path
    data: Path
    state: Path

    @classmethod
    def find(cls, environ: Mapping[str, str] = os.environ) -> Paths:
        """Find the folders of this user. FANOUT_HOME holds the configuration itself, with `data` and `state` in it."""
        if home := environ.get("FANOUT_HOME"):
            root = Path(home).expanduser().absolute()
            return cls(root, root / "data", root / "state")
        import platformdirs  # 10 ms, not needed with FANOUT_HOME

        dirs = platformdirs.PlatformDirs("fanout", appauthor=False)
        return cls(dirs.user_config_path, dirs.user_data_path, dirs.user_state_path)

    @property
    def settings(self) -> Path:
        """The user's settings."""
        return self.config / "config.toml"

    @property
    def mcp(self) -> Path:
        """The user's MCP servers."""
        return self.config / "mcp.json"

    @property
    def themes(self) -> Path:
        """The user's themes; they override bundled ones of the same name."""
        return self.config / "themes"

    @property
    def trust(self) -> Path:
        """The project files that the user trusts, by content."""
        return self.data / "trust.json"

    @property
    def plugins(self) -> Path:
        """The folders of what plugins keep, one a plugin."""
        return self.data / "plugins"

    @property
    def credentials(self) -> Path:
        """Tokens of servers that the user signed in to, where no keyring keeps them."""
        return self.data / "credentials.json"

    @property
    def tool_definitions(self) -> Path:
        """The tools of servers as they looked when the user trusted them."""
        return self.data / "tools.json"

    @property
    def rule_servers(self) -> Path:
        """The program or address that each allow rule is bound to."""
        return self.data / "rules.json"

    @property
    def files(self) -> Path:
        """The folder of the files that tools return."""
        return self.data / "files"

    @property
    def sessions(self) -> Path:
        """Every conversation, unless it was not to be saved."""
        return self.data / "sessions.db"

    @property
    def session_locks(self) -> Path:
        """One file a session that is open in a console now."""
        return self.data / "locks"

    @property
    def drafts(self) -> Path:
        """The prompts that were written and not sent, a file a session."""
        return self.data / "drafts"

    @property
    def log(self) -> Path:
        """The log of the program itself."""
        return self.state / "fanout.log"

    @property
    def server_logs(self) -> Path:
        """One log a MCP server, of its standard error."""
        return self.state / "servers"

    @property
    def tools(self) -> Path:
        """The servers and tools that are on, by working folder."""
        return self.state / "tools.json"

    @property
    def known_tools(self) -> Path:
        """The names of the tools that each server had last, for completion."""
        return self.state / "known_tools.json"

    @property
    def calls(self) -> Path:
        """The calls that were made by hand, by tool."""
        return self.state / "calls.json"

    @property
    def dialects(self) -> Path:
        """The dialect that each model is known to write its calls in."""
        return self.state / "dialects.json"

    @property
    def batches(self) -> Path:
        """The progress of each batch, for other terminals."""
        return self.state / "batches"

    @property
    def refusals(self) -> Path:
        """The things that each endpoint refused for a model."""
        return self.state / "refusals.json"

    @property
    def endpoints(self) -> Path:
        """The fingerprints of endpoints that were tested."""
        return self.state / "endpoints.json"

    @property
    def repaired(self) -> Path:
        """The files that others could read until Fanout set them right, for `fanout doctor` to say once."""
        return self.state / "repaired.json"

    @property
    def history(self) -> Path:
        """The prompts typed before."""
        return self.state / "history.jsonl"

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
                yield from _within(path)
            yield from inside
            if inside:
                yield folder


def project_settings(cwd: Path) -> Path:
    """The settings that a project brings along."""
    return cwd / PROJECT_FOLDER / "config.toml"


def project_mcp(cwd: Path) -> tuple[Path, ...]:
    """The files in which a project may bring MCP servers along, ours and others'; the first that is trusted counts."""
    return cwd / "mcp.json", cwd / ".mcp.json", cwd / ".vscode" / "mcp.json"


def _within(folder: Path) -> list[Path]:
    """Return what lies in a folder that others can open; in one that they can't, nothing can be read."""
    try:
        found = folder.lstat().st_mode
        return list(folder.iterdir()) if stat.S_ISDIR(found) and found & _OTHERS else []
    except OSError as error:
        log.warning("%s can't be looked into: %s", folder, error)
        return []

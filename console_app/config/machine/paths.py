"""Every path that Fanout reads or writes, in one place, so that FANOUT_HOME can move them all together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from console_app.config.machine.plain_files import MOST_BYTES, NotPlain, contents
from console_app.domain.errors import ConfigError

PROJECT_FOLDER = ".fanout"
PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


@dataclass(frozen=True, slots=True)
class Paths:
    """The three folders, as platformdirs has them, and the files in them. Nothing is created by asking for a path."""

    config: Path
    data: Path
    state: Path

    @classmethod
    def find(cls, environ: Mapping[str, str] = os.environ) -> Paths:
        """The folders of this user. FANOUT_HOME holds the configuration itself, and `data` and `state` inside it."""
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
        """Which project files the user trusts, by content."""
        return self.data / "trust.json"

    @property
    def credentials(self) -> Path:
        """Tokens of servers that the user signed in to, where no keyring keeps them."""
        return self.data / "credentials.json"

    @property
    def tool_definitions(self) -> Path:
        """What the tools of servers looked like when the user trusted them."""
        return self.data / "tools.json"

    @property
    def rule_servers(self) -> Path:
        """Which program or address each allow rule is bound to."""
        return self.data / "rules.json"

    @property
    def files(self) -> Path:
        """Where files that tools return are saved."""
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
        """What was written and not sent, a file a session."""
        return self.data / "drafts"

    @property
    def log(self) -> Path:
        """The log of the program itself."""
        return self.state / "fanout.log"

    @property
    def server_logs(self) -> Path:
        """One log a MCP server: what it wrote to its standard error."""
        return self.state / "servers"

    @property
    def tools(self) -> Path:
        """Which servers and tools are on, by working folder."""
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
        """How far each batch is, for other terminals."""
        return self.state / "batches"

    @property
    def refusals(self) -> Path:
        """What each endpoint refused for a model."""
        return self.state / "refusals.json"

    @property
    def repaired(self) -> Path:
        """What others could read until Fanout set it right, for `fanout doctor` to say once."""
        return self.state / "repaired.json"

    @property
    def history(self) -> Path:
        """The prompts typed before."""
        return self.state / "history.jsonl"


def project_settings(cwd: Path) -> Path:
    """The settings that a project brings along."""
    return cwd / PROJECT_FOLDER / "config.toml"


def project_mcp(cwd: Path) -> Path:
    """The MCP servers that a project brings along; used once trusted."""
    return cwd / "mcp.json"


def private_folder(folder: Path) -> None:
    """Creates `folder`, and what is missing above it, for this user alone. Raises OSError."""
    if not folder.parent.exists():
        private_folder(folder.parent)  # mkdir's own `parents` would leave these to the umask
    folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)


def make_private(folder: Path) -> Path:
    """Creates `folder` with its parents, readable by this user alone; a ConfigError says what stands in the way."""
    try:
        private_folder(folder)
    except OSError as error:
        raise ConfigError(
            f"can't create the folder {folder}: {error.strerror or error}", "Set FANOUT_HOME to a folder you can write."
        ) from None
    return folder


def write_private(path: Path, text: str) -> None:
    """Replaces the file at `path` in one step, readable by this user alone."""
    make_private(path.parent)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise ConfigError(f"can't write {path}: {error.strerror or error}") from None


def read_text(path: Path, *, most: int = MOST_BYTES, piped: bool = False) -> str:
    """The text of a configuration file, or a ConfigError naming it (and the byte that isn't UTF-8). Of a regular file
    of at most `most` bytes, or with `piped` of a pipe."""
    try:
        return contents(path, most=most, piped=piped).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8", "Save the file as UTF-8.") from None
    except NotPlain as error:
        raise ConfigError(f"can't read {path}: it is {error.strerror} and no file") from None
    except OSError as error:
        raise ConfigError(f"can't read {path}: {error.strerror or error}") from None

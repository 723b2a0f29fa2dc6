"""A checkout can put links to devices, pipes, endless and bottomless files where Fanout looks at its start."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from console_app.command_line.completion import names
from console_app.config.files import Paths
from console_app.config.files.disk import MOST_TEXT
from console_app.config.servers import choose_servers
from console_app.config.settings import LayeredSettings, read_startup_settings
from console_app.config.settings.startup_settings import DEFAULT_THEME
from console_app.config.trust import CustomCommands, ProjectTrust
from console_app.domain.errors import ConfigError

HOSTILE: dict[str, Callable[[Path], object]] = {
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a named pipe": os.mkfifo,
    "more than": lambda path: path.write_bytes(b" " * (MOST_TEXT + 1)),
    "nested too deep": lambda path: path.write_text("x = " + "[" * 100_000),
}


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    (tmp_path / "work" / ".fanout" / "commands").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("FANOUT_HOME", str(tmp_path / "home"))
    return Paths.find()


@pytest.mark.parametrize("what", HOSTILE)
def test_a_projects_settings_are_read_within_bounds(paths: Paths, what: str) -> None:
    folder = Path.cwd()
    HOSTILE[what](Paths.project_settings(folder))
    startup = read_startup_settings(paths, cwd=folder, flag=None, environ={})
    assert startup.theme == DEFAULT_THEME
    with pytest.raises(ConfigError, match=what) as raised:
        LayeredSettings.load(paths, cwd=folder, flags={}, environ={})
    assert str(Paths.project_settings(folder)) in raised.value.line
    (line,) = LayeredSettings.load(paths, cwd=folder, flags={}, environ={}, forgiving=True).wrong
    assert str(Paths.project_settings(folder)) in line
    assert what in line


@pytest.mark.parametrize("what", [name for name in HOSTILE if name != "nested too deep"])
def test_a_projects_servers_and_commands_are_read_within_bounds(paths: Paths, what: str) -> None:
    folder = Path.cwd()
    command = folder / ".fanout" / "commands" / "evil.md"
    HOSTILE[what](Paths.project_mcp(folder)[0])
    HOSTILE[what](command)
    choice = choose_servers(paths, folder, mcp_config=None, environ={}, bundled=Paths.bundled("mcp.json"))
    assert choice.bundled
    (note,) = choice.notes
    assert str(Paths.project_mcp(folder)[0]) in note
    assert what in note
    [problem] = CustomCommands.find(paths, folder).problems
    assert str(command) in problem
    assert ("a link leads out of the project" if what == "a device" else what) in problem
    if what != "more than":
        assert ProjectTrust(paths, folder, {}).waiting() == [], "no file, so nothing to trust"


def test_completing_a_servers_name_reads_a_projects_file_within_bounds(paths: Paths) -> None:
    for what, make in HOSTILE.items():
        make(Paths.project_mcp(Path.cwd())[0])
        assert names("server") == [], what
        Paths.project_mcp(Path.cwd())[0].unlink()


def test_a_file_that_was_named_may_be_a_pipe(paths: Paths) -> None:
    reading, writing = os.pipe()
    os.write(writing, b'{"mcpServers": {"mine": {"command": "true"}}}')
    os.close(writing)
    try:
        choice = choose_servers(
            paths, Path.cwd(), mcp_config=Path(f"/dev/fd/{reading}"), environ={}, bundled=Paths.bundled("mcp.json")
        )
    finally:
        os.close(reading)
    assert [server.name for server in choice.servers] == ["mine"]

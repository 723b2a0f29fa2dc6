"""Where files are, who may read them, what is trusted, and what a remembered setting leaves alone."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from console_app.config.files import Paths
from console_app.config.files.disk import write_private
from console_app.config.files.trusted import is_trusted, trust
from console_app.config.machine import log_to
from console_app.config.settings.own_settings import write_setting
from console_app.domain.errors import ConfigError
from console_app.mcp_client.connecting.server_log import ServerLog
from console_app.mcp_client.tools.convert import ResultFiles
from console_app.sessions import SessionLock
from console_app.tui.prompt.prompt import PromptHistory


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.find({"FANOUT_HOME": str(tmp_path / "home")})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_one_variable_puts_everything_under_one_folder(tmp_path: Path, paths: Paths) -> None:
    everything = [paths.settings, paths.mcp, paths.themes, paths.trust, paths.files, paths.log, paths.history]
    assert all(path.is_relative_to(tmp_path / "home") for path in everything)
    assert paths.settings == tmp_path / "home" / "config.toml"


def test_without_it_they_are_where_the_platform_has_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    found = Paths.find({})
    assert found.settings == tmp_path / "c" / "fanout" / "config.toml"
    assert found.log == tmp_path / "s" / "fanout" / "fanout.log"


def test_folders_and_files_are_for_this_user_alone(paths: Paths) -> None:
    write_private(paths.trust, "{}")
    assert mode(paths.data) == 0o700
    assert mode(paths.trust) == 0o600
    assert [path.name for path in paths.data.iterdir()] == ["trust.json"]


def test_what_others_could_read_is_set_right_and_said_once(paths: Paths) -> None:
    named = [getattr(paths, name) for name, kind in vars(Paths).items() if isinstance(kind, type(vars(Paths)["log"]))]
    folders = [path for path in named if not path.suffix and path != paths.themes]  # which may be shared with others
    wide = [*(path for path in named if path.suffix), paths.server_logs / "x.log", paths.data / "keys.json"]
    assert len(folders) >= 4
    assert len(wide) >= 14
    for path in wide:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        path.chmod(0o666)
    for folder in (paths.data, paths.state, *folders):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
    for folder in folders:  # a draft, a saved picture, a batch's state
        wide.append(folder / "inside")
        wide[-1].write_text("")
        wide[-1].chmod(0o644)
    paths.make_private_again()
    assert [path for path in wide if mode(path) != 0o600] == []
    assert [folder for folder in (paths.data, paths.state, *folders) if mode(folder) != 0o700] == []
    assert paths.take_repaired()[str(paths.sessions)] == "0666"
    assert paths.take_repaired() == {}
    paths.make_private_again()
    assert paths.take_repaired() == {}, "nothing is wide any more"


def test_what_is_not_fanouts_own_is_left_as_it_is(tmp_path: Path, paths: Paths) -> None:
    paths.data.mkdir(parents=True)
    other, elsewhere = paths.data / "holiday.jpg", tmp_path / "elsewhere.db"
    for path in (other, elsewhere):
        path.write_text("")
        path.chmod(0o644)
    paths.data.chmod(0o755)
    paths.make_private_again()
    assert mode(paths.data) == 0o755, "a folder named data, with nothing of ours in it"
    paths.sessions.symlink_to(elsewhere)
    paths.make_private_again()
    assert (mode(other), mode(elsewhere), mode(paths.config)) == (0o644, 0o644, mode(tmp_path / "home"))


@pytest.mark.usefixtures("restored_logging")
def test_nothing_depends_on_the_umask(paths: Paths) -> None:
    before = os.umask(0)
    try:
        log_to(paths.log)
        ServerLog(paths.server_logs, "x").write_line("words")
        ResultFiles(paths.files).save("eA==", "text/plain", "a.txt", "file")
        PromptHistory(paths.history).add("a prompt")
        write_setting(paths.settings, "theme", "plum")
        SessionLock(paths.session_locks, "s").take()
    finally:
        os.umask(before)
    everything = [paths.config, *paths.config.rglob("*")]
    assert len(everything) > 10
    assert [path for path in everything if mode(path) != (0o700 if path.is_dir() else 0o600)] == []


def test_a_folder_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="can't create the folder"):
        write_private(tmp_path / "file" / "folder" / "any.json", "")


def test_a_file_is_trusted_as_it_is_where_it_is(tmp_path: Path, paths: Paths) -> None:
    file, copy = tmp_path / "a" / "mcp.json", tmp_path / "b" / "mcp.json"
    for path in (file, copy):
        path.parent.mkdir()
        path.write_text("{}")
    assert not is_trusted(paths, file)
    trust(paths, file)
    assert is_trusted(paths, file)
    assert not is_trusted(paths, copy)
    file.write_text("{ }")
    assert not is_trusted(paths, file)


@pytest.mark.parametrize("name", ["mcp.json", ".fanout/config.toml", ".fanout/commands/go.md"])
@pytest.mark.parametrize("linked", ["the file", "its folder"])
def test_a_link_to_a_trusted_file_of_another_project_is_not_trusted(
    tmp_path: Path, paths: Paths, name: str, linked: str
) -> None:
    mine, theirs = tmp_path / "mine" / name, tmp_path / "theirs" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("relative: ./run")
    trust(paths, mine)
    link = theirs if linked == "the file" else tmp_path / "theirs" / Path(name).parts[0]
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "mine" / link.relative_to(tmp_path / "theirs"))
    assert theirs.read_text() == mine.read_text()
    assert not is_trusted(paths, theirs)
    (tmp_path / "way").symlink_to(tmp_path / "mine")
    assert is_trusted(paths, tmp_path / "way" / name), "the project itself may be reached by a link"


def test_a_broken_record_trusts_nothing_and_can_be_written_again(tmp_path: Path, paths: Paths) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}")
    write_private(paths.trust, "[1]")
    assert not is_trusted(paths, file)
    trust(paths, file)
    assert is_trusted(paths, file)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'theme = "plum"\n'),
        ('# mine\ntheme = "x" # old\nmodel = "a/b"\n', '# mine\ntheme = "plum" # old\nmodel = "a/b"\n'),
        ('[other]\ntheme = "x"\n', 'theme = "plum"\n\n[other]\ntheme = "x"\n'),
    ],
)
def test_a_remembered_setting_leaves_the_rest_of_the_file_alone(paths: Paths, before: str, after: str) -> None:
    if before:
        write_private(paths.settings, before)
    write_setting(paths.settings, "theme", "plum")
    assert paths.settings.read_text() == after


def test_a_broken_file_is_not_written_over(paths: Paths) -> None:
    write_private(paths.settings, "theme = \n")
    with pytest.raises(ConfigError):
        write_setting(paths.settings, "theme", "plum")
    assert paths.settings.read_text() == "theme = \n"


@pytest.fixture
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers[:], root.level = handlers, level
    logging.captureWarnings(False)
    logging.raiseExceptions = True


@pytest.mark.usefixtures("restored_logging")
def test_the_log_is_private_and_debug_shows_control_characters_as_marks(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    log_to(paths.log, debug=True, stderr=True)
    logging.getLogger("somewhere").debug("from a server: \x1b]52;c;x\x07")
    assert mode(paths.log) == 0o600
    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert "␛]52" in shown


@pytest.mark.usefixtures("restored_logging")
def test_a_log_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't write the log"):
        log_to(tmp_path)
